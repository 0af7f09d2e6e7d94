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

use std::fs;
use std::path::{Path, PathBuf};

use super::error::LayerError;
use super::installer::{Environment, Installer, Task};
use super::link::{Linked, link_tree};
use super::permissions::open_to_all_and_seal;
use super::resolution::{self, Pin};
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
        // What is built from source may depend on the machine, and is not kept. Hashes that the caller
        // gave are checked by the installer alone: uv does not look at them when it resolves.
        let has_hash = |requirement: &String| requirement.contains(" --hash=");
        let is_plain = !self.spec.allow_source_builds && !self.spec.requirements.iter().any(has_hash);
        if let Some(wheels) = wheels.filter(|_| is_plain) {
            if self.link_wheels(wheels, &file, progress)? {
                return Ok(());
            }
            fs::remove_dir_all(&layer).map_err(LayerError::store("empty", &layer))?;
            make()?;
        }
        let outcome = self.run(&Task::Install { requirements: &file, target: &layer }, progress)?;
        self.accept(outcome)
    }

    /// `false` if the layer cannot be filled in this way, and may be half full.
    fn link_wheels(
        &self,
        wheels: &Path,
        requirements: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<bool, LayerError> {
        let answer = self.stage.directory().join("answer");
        let outcome = self.run(&Task::Resolve { requirements, answer: &answer }, progress)?;
        if lacks_an_option(&outcome) {
            return Ok(false);
        }
        self.accept(outcome)?;
        let Some(pins) = resolution::read(self.installer, &answer) else {
            tracing::debug!(installer = %self.installer, "its resolution is not understood");
            return Ok(false);
        };
        let wheels = Wheels::open(wheels, self.stop)?;
        let (mut kept, mut missing) = (Vec::new(), Vec::new());
        for pin in pins {
            match wheels.find(&pin.key(self.spec))? {
                Some(path) => kept.push(path),
                None => missing.push(pin),
            }
        }
        tracing::debug!(kept = kept.len(), missing = missing.len(), "resolved");
        if !missing.is_empty() {
            match self.unpack(&wheels, &missing, progress)? {
                Some(unpacked) => kept.extend(unpacked),
                None => return Ok(false),
            }
        }
        let layer = self.stage.layer();
        for wheel in kept {
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

    /// Unpacks wheels and keeps them. Returns their places: none if they could not be told apart,
    /// and are in the layer already. `None` if it did not work.
    fn unpack(
        &self,
        wheels: &Wheels,
        pins: &[Pin],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<Vec<PathBuf>>, LayerError> {
        let (file, all) = (self.stage.directory().join("pins.txt"), self.stage.directory().join("unpacked"));
        let lines: String = pins.iter().map(|pin| format!("{}\n", pin.line)).collect();
        write(&file, &lines)?;
        let outcome = self.run(&Task::Unpack { pins: &file, target: &all }, progress)?;
        if !outcome.status.success() {
            tracing::debug!(tail = outcome.tail.join(" / "), "the wheels could not be unpacked");
            return Ok(None);
        }
        // uv makes this file for itself and no longer needs it.
        let _ = fs::remove_file(all.join(".lock"));
        let parts = self.stage.directory().join("parts");
        if !split(&all, pins, &parts).map_err(LayerError::store("sort", &all))? {
            tracing::debug!("the wheels cannot be told apart, and are not kept");
            let layer = self.stage.layer();
            // An empty directory may be replaced.
            fs::rename(&all, &layer).map_err(LayerError::store("fill", &layer))?;
            return Ok(Some(Vec::new()));
        }
        open_to_all_and_seal(&parts).map_err(LayerError::store("open", &parts))?;
        // A wheel that survives a power cut must be whole.
        flush(&parts).map_err(LayerError::store("flush", &parts))?;
        let keep = |(number, pin): (usize, &Pin)| {
            let part = parts.join(number.to_string());
            wheels.keep(&pin.key(self.spec), &part).map_err(LayerError::store("keep", &part))
        };
        pins.iter().enumerate().map(keep).collect::<Result<_, _>>().map(Some)
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
