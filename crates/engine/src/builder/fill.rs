//! Fills a layer: from wheels that are kept, and what is missing from an installer.
//!
//! ```text
//!  requirements ──resolve──► pins ──► kept already? ──yes──────────────────────┐
//!       │                              │ no                                    │ hard links
//!       │ not understood               └─ unpack, all at once ─► split ─► keep ┤
//!       │ or two wheels disagree                        │ cannot be told apart │
//!       ▼                                               ▼                      ▼
//!  install, all at once ──────────────────────────► the layer ◄────────────────┘
//! ```
//!
//! So a layer with one package more costs that package. The last resort is always what an installer
//! does by itself: it decides what is right, and its words explain what is wrong.
//!
//! To resolve, pip may have to download whole wheels, which it throws away. So if nothing that is
//! asked for is kept, pip resolves and unpacks at once, and reports what it chose.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::LayerError;
use super::installer::{Environment, Installer, Task};
use super::link::{Linked, link_tree};
use super::permissions::open_to_all_and_seal;
use super::resolution::{self, Pin, name_of};
use super::run::{Outcome, run};
use super::spec::LayerSpec;
use super::split::split;
use super::stage::Stage;
use super::stop::Stop;
use super::store::{flush, write};
use super::wheels::Wheels;
use crate::Progress;

/// One layer that is being filled.
pub(super) struct Filling<'a> {
    pub(super) spec: &'a LayerSpec,
    pub(super) stage: &'a Stage,
    pub(super) installer: &'a Installer,
    pub(super) environment: Environment<'a>,
    pub(super) stop: &'a Stop,
}

impl Filling<'_> {
    /// Fills the stage's layer. `wheels` is where unpacked wheels are kept, if they are.
    pub(super) fn fill(
        &self,
        wheels: Option<&Path>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), LayerError> {
        let layer = self.stage.layer();
        let make = || fs::create_dir(&layer).map_err(LayerError::store("create", &layer));
        let file = self.stage.requirements();
        write(&file, &(self.spec.canonical().join("\n") + "\n"))?;
        make()?;
        // What is built from source may depend on the machine, and is not kept. Hashes that the
        // caller gave are checked by the installer alone: uv does not look at them when it
        // resolves.
        let has_hash = |requirement: &String| requirement.contains(" --hash=");
        let is_plain = !self.spec.allow_source_builds && !self.spec.requirements.iter().any(has_hash);
        if let Some(wheels) = wheels.filter(|_| is_plain) {
            if self.link_wheels(wheels, &file, progress)? {
                return Ok(());
            }
            fs::remove_dir_all(&layer).map_err(LayerError::store("empty", &layer))?;
            make()?;
        }
        let outcome =
            self.run(&Task::Install { requirements: &file, target: &layer, report: None }, progress)?;
        self.accept(outcome)
    }

    /// `false` if the layer cannot be filled in this way, and may be half full.
    fn link_wheels(
        &self,
        wheels: &Path,
        requirements: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<bool, LayerError> {
        let wheels = Wheels::open(wheels, self.stop)?;
        let (answer, all) = (self.stage.directory().join("answer"), self.stage.directory().join("unpacked"));
        let at_once = *self.installer == Installer::Pip && !self.are_some_kept(&wheels)?;
        let task = match at_once {
            true => Task::Install { requirements, target: &all, report: Some(&answer) },
            false => Task::Resolve { requirements, answer: &answer },
        };
        let outcome = self.run(&task, progress)?;
        if lacks_an_option(&outcome) {
            return Ok(false);
        }
        self.accept(outcome)?;
        let pins = resolution::read(self.installer, &answer);
        if pins.is_none() {
            tracing::debug!(installer = %self.installer, "its resolution is not understood");
        }
        let places = match (at_once, pins) {
            (true, pins) => self.keep(&wheels, &all, pins.as_deref())?,
            (false, None) => return Ok(false),
            (false, Some(pins)) => {
                let (mut places, mut missing) = (Vec::new(), Vec::new());
                for pin in pins {
                    match wheels.find(&pin.key(self.spec))? {
                        Some(place) => places.push(place),
                        None => missing.push(pin),
                    }
                }
                tracing::debug!(kept = places.len(), missing = missing.len(), "resolved");
                if !missing.is_empty() {
                    if !self.unpack(&missing, &all, progress)? {
                        return Ok(false);
                    }
                    places.extend(self.keep(&wheels, &all, Some(&missing))?);
                }
                places
            }
        };
        let layer = self.stage.layer();
        for wheel in places {
            match link_tree(&wheel, &layer).map_err(LayerError::store("link", &wheel))? {
                Linked::All => {}
                Linked::Conflict(path) => {
                    tracing::debug!(path = %path.display(), "two wheels have this file");
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether a package that is asked for may be there already.
    fn are_some_kept(&self, wheels: &Wheels) -> Result<bool, LayerError> {
        let names =
            wheels.names().map_err(LayerError::store("look at the wheels for", &self.stage.layer()))?;
        Ok(self.spec.requirements.iter().any(|requirement| names.contains(&name_of(requirement.trim()))))
    }

    /// Whether exactly these wheels could be unpacked.
    fn unpack(
        &self,
        pins: &[Pin],
        all: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<bool, LayerError> {
        let file = self.stage.directory().join("pins.txt");
        let lines: String = pins.iter().map(|pin| format!("{}\n", pin.line)).collect();
        write(&file, &lines)?;
        let outcome = self.run(&Task::Unpack { pins: &file, target: all }, progress)?;
        if !outcome.status.success() {
            tracing::debug!(tail = outcome.tail.join(" / "), "the wheels could not be unpacked");
        }
        Ok(outcome.status.success())
    }

    /// Keeps wheels that were unpacked into one directory, and returns their places. Wheels that
    /// cannot be told apart have none: they become the layer.
    fn keep(&self, wheels: &Wheels, all: &Path, pins: Option<&[Pin]>) -> Result<Vec<PathBuf>, LayerError> {
        // uv makes this file for itself and no longer needs it.
        let _ = fs::remove_file(all.join(".lock"));
        let parts = self.stage.directory().join("parts");
        let can_be_told_apart = match pins {
            Some(pins) => split(all, pins, &parts).map_err(LayerError::store("sort", all))?,
            None => false,
        };
        let Some(pins) = pins.filter(|_| can_be_told_apart) else {
            tracing::debug!("the wheels cannot be told apart, and are not kept");
            let layer = self.stage.layer();
            // An empty directory may be replaced.
            fs::rename(all, &layer).map_err(LayerError::store("fill", &layer))?;
            return Ok(Vec::new());
        };
        open_to_all_and_seal(&parts).map_err(LayerError::store("open", &parts))?;
        // A wheel that survives a power cut must be whole.
        flush(&parts).map_err(LayerError::store("flush", &parts))?;
        let keep = |(number, pin): (usize, &Pin)| {
            let part = parts.join(number.to_string());
            wheels.keep(&pin.key(self.spec), &part).map_err(LayerError::store("keep", &part))
        };
        pins.iter().enumerate().map(keep).collect()
    }

    fn run(&self, task: &Task<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Outcome, LayerError> {
        let mut command = self.installer.command(task, self.spec, self.environment);
        // `python -m` looks for modules here first, and uv for settings. So it must be a directory
        // of this store.
        command.current_dir(self.stage.directory());
        let wheels_only = !self.spec.allow_source_builds;
        let ran = run(command, wheels_only, self.stop, &mut |line| progress(Progress::Line(line.to_owned())));
        let ran = ran.map_err(|source| LayerError::Start {
            installer: self.installer.clone(),
            program: self.installer.program(self.spec).to_owned(),
            source,
        });
        ran?.ok_or(LayerError::Stopped)
    }

    fn accept(&self, Outcome { status, tail, hint }: Outcome) -> Result<(), LayerError> {
        if status.success() {
            return Ok(());
        }
        let (installer, requirements) = (self.installer.clone(), self.spec.canonical());
        Err(LayerError::Install { installer, requirements, status, tail, hint })
    }
}

/// Whether the installer is too old for what it was asked.
fn lacks_an_option(outcome: &Outcome) -> bool {
    let is_about_options =
        |line: &String| line.contains("no such option") || line.contains("unexpected argument");
    !outcome.status.success() && outcome.tail.iter().any(is_about_options)
}
