//! Does what a script says about itself: its packages and its Python (PEP 723).
//!
//! The script's packages come on top of the sandbox's own. The Python is chosen among those that
//! there are, unless the sandbox names one.

use anyhow::{Context, Result};
use belljar::ExecutionRequest;
use belljar::ScriptMetadata;
use belljar::config::{PythonRange, PythonVersion};
use belljar::engine::guest::PYTHON;
use belljar::engine::provision::default_cache_dir;
use belljar::engine::python::{self, Search};

use crate::args::EngineName;
use crate::settings::Settings;

/// What a script said, for a look at the sandbox that was made for it.
#[derive(Debug)]
pub(crate) struct Honoured {
    metadata: ScriptMetadata,
    place: String,
}

/// Adds what the script needs to the settings. `None` if it says nothing about itself.
pub(crate) fn honour(request: &ExecutionRequest, settings: &mut Settings) -> Result<Option<Honoured>> {
    let place = request.file_name().map_or_else(|| "the script".into(), |name| format!("script {name}"));
    let Some(metadata) = ScriptMetadata::of(&request.script).with_context(|| place.clone())? else {
        return Ok(None);
    };
    let config = &mut settings.blueprint.config;
    *config = metadata.add_to(config).with_context(|| place.clone())?;
    config.validate().with_context(|| place.clone())?;
    if let (Some(range), None) = (&metadata.requires_python, config.python_version) {
        let chosen = match settings.engine {
            EngineName::Docker => in_an_image(range),
            EngineName::Native | EngineName::Local => on_this_machine(range),
        };
        config.python_version = chosen.ok_or_else(|| {
            let line = metadata.python_line;
            anyhow::anyhow!(
                "{place}: line {line}: requires-python is \"{range}\", and there is no such Python here; install one, or \
                 name one with BELLJAR_PYTHON"
            )
        })?;
    }
    Ok(Some(Honoured { metadata, place }))
}

impl Honoured {
    /// Compares with the Python that the sandbox has got. An image may bring any.
    pub(crate) fn check(&self, version: &str) -> Result<()> {
        let Some(range) = &self.metadata.requires_python else { return Ok(()) };
        let found = version.parse::<PythonVersion>().ok();
        match found.is_none_or(|found| range.admits_some(found)) {
            true => Ok(()),
            false => Err(self.metadata.other_python(version)).with_context(|| self.place.clone()),
        }
    }
}

/// The versions of a range, from the one that is used if nobody asks for one.
fn versions(range: &PythonRange) -> Vec<PythonVersion> {
    let usual = PYTHON.provision.version.parse();
    range.versions_near(usual.expect("what is used if nobody asks is a version"))
}

/// The version to ask an image for. `Some(None)`: none need be asked for. `None`: there is none.
fn in_an_image(range: &PythonRange) -> Option<Option<PythonVersion>> {
    let first = *versions(range).first()?;
    Some(Some(first).filter(|first| first.to_string() != PYTHON.provision.version))
}

/// The same for this machine: the Python that is used anyway, or the first that is installed.
/// Another patch release than the newest is not looked for.
fn on_this_machine(range: &PythonRange) -> Option<Option<PythonVersion>> {
    let search = Search::from_env(default_cache_dir());
    let fits = |wanted: Option<&PythonVersion>| {
        let found = python::find(wanted, &search).map(|interpreter| interpreter.version);
        found.is_ok_and(|(major, minor, micro)| range.admits(major.into(), minor.into(), micro.into()))
    };
    if fits(None) {
        return Some(None);
    }
    versions(range).into_iter().find(|version| fits(Some(version))).map(Some)
}
