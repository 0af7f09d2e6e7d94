//! Where the command keeps what should stay: workspaces and artifacts.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use belljar::artifacts::{ArtifactStore, StoreOptions};
use belljar::engine::random_hex;

use crate::args::EngineName;
use crate::env;
use crate::error::CliError;

/// The directory for the workspaces of an engine. Engines do not share one, because what their
/// programs write belongs to different users.
pub(crate) fn workspaces(store: Option<&PathBuf>, engine: EngineName) -> Result<PathBuf> {
    let all = match store {
        Some(store) => store.clone(),
        None => of_user("workspaces", env::WORKSPACES, "--store DIR")?,
    };
    Ok(all.join(engine.name()))
}

/// The directory for workspaces that are gone with their command.
pub(crate) struct PassingPlace {
    pub(crate) path: PathBuf,
    /// Gone with this.
    temporary: Option<PathBuf>,
}

/// A user without a home has one among the temporary files, of a name that nobody can take before.
pub(crate) fn passing_workspaces(engine: EngineName) -> Result<PassingPlace> {
    if let Ok(own) = of_user("exec", env::XDG_DATA_HOME, "") {
        return Ok(PassingPlace { path: own.join(engine.name()), temporary: None });
    }
    let place = std::env::temp_dir().join(format!("belljar-exec-{}", random_hex()));
    fs::DirBuilder::new().mode(0o700).create(&place).with_context(|| place.display().to_string())?;
    Ok(PassingPlace { path: place.join(engine.name()), temporary: Some(place) })
}

impl Drop for PassingPlace {
    fn drop(&mut self) {
        if let Some(place) = &self.temporary {
            let _ = fs::remove_dir_all(place);
        }
    }
}

/// The store for artifacts: a directory, or the URL of one.
pub(crate) fn artifacts(store: Option<&str>) -> Result<ArtifactStore, CliError> {
    Ok(match store {
        Some(url) if url.contains("://") => ArtifactStore::from_url(url, StoreOptions::default())?,
        Some(directory) => ArtifactStore::local(directory),
        None => ArtifactStore::local(of_user("artifacts", env::ARTIFACTS, "--store DIR")?),
    })
}

/// The directory for what a server keeps.
pub(crate) fn state(given: Option<&PathBuf>) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(own) = set(env::STATE_DIRECTORY) {
        // For a dynamic user it is a link of systemd's own. Workspaces follow no other link.
        return Ok(own.canonicalize().unwrap_or(own));
    }
    let all = set(env::XDG_STATE_HOME).or_else(|| Some(set(env::HOME)?.join(".local/state")));
    let all = all.ok_or_else(|| {
        anyhow!(
            "this user has no place for a server's state: set {} or {}, or give --state DIR",
            env::STATE,
            env::HOME
        )
    })?;
    Ok(all.join("belljar").join("server"))
}

fn of_user(what: &str, variable: &str, option: &str) -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set(env::XDG_DATA_HOME).or_else(|| Some(set(env::HOME)?.join(".local/share")));
    let data = data.ok_or_else(|| {
        anyhow!("this user has no place for {what}: set {variable} or {}, or give {option}", env::HOME)
    })?;
    Ok(data.join("belljar").join(what))
}
