//! The files of a sandbox and of its cells, in the system's temporary directory.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use belljar_core::{CellId, layout};
use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};

use crate::Blueprint;
use crate::builder::Layer;
use crate::guest::{self, PYTHON, Spawn};

const PREFIX: &str = "belljar-local-";
const LOCK: &str = "lock";
/// Of a cell: the directory that its script runs in.
const WORKSPACE: &str = "workspace";

/// What all cells of a sandbox share: the harness and the tools. Removed with the last cell.
pub(super) struct Home {
    path: PathBuf,
    settings: Value,
    env: BTreeMap<String, String>,
    /// Held open while it is in use.
    _layer: Option<Layer>,
    /// The kernel releases it when this process is gone, however it ended.
    _lock: File,
}

/// One cell's own directory. Removed when it is dropped.
pub(super) struct Place {
    path: PathBuf,
    /// The directory that its script runs in. A kept one is elsewhere, and stays.
    workspace: PathBuf,
}

impl Home {
    pub(super) fn make(blueprint: &Blueprint, layer: Option<Layer>) -> io::Result<Self> {
        sweep(&std::env::temp_dir());
        let path = new_directory(&std::env::temp_dir())?;
        let lock = hold(&path)?;
        let mut home = Self { path, settings: Value::Null, env: BTreeMap::new(), _layer: None, _lock: lock };
        for file in PYTHON.files {
            let place = home.path.join(file.path);
            fs::create_dir_all(place.parent().unwrap_or(&home.path))?;
            fs::write(place, file.text)?;
        }
        let tools = home.path.join("tools");
        fs::create_dir(&tools)?;
        for tool in &blueprint.tools {
            fs::write(tools.join(&tool.file_name), &tool.source)?;
        }
        // A path that does not exist stands for no packages.
        let packages = layer.as_ref().map_or_else(|| home.path.join("packages"), |layer| layer.path.clone());
        home.settings = guest::template_settings(blueprint);
        home.settings["layout"]["tools"] = json!(tools);
        home.settings["layout"]["layer"] = json!(packages);
        home.env = guest::environment(blueprint);
        for (name, value) in [
            ("PATH", format!("{}/bin:/usr/local/bin:/usr/bin:/bin", packages.display())),
            ("PYTHONPATH", packages.display().to_string()),
        ] {
            let theirs = blueprint.config.env.get(name).cloned();
            home.env.insert(name.to_owned(), theirs.unwrap_or(value));
        }
        home._layer = layer;
        Ok(home)
    }

    /// Makes a cell's directory and the command that starts its interpreter there.
    pub(super) fn place(
        &self,
        id: CellId,
        python: &str,
        vouched: Option<&[String]>,
        kept: Option<&Path>,
    ) -> io::Result<(Place, Command)> {
        let path = self.path.join(id.to_string());
        let workspace = kept.map_or_else(|| path.join(WORKSPACE), Path::to_owned);
        let place = Place { path, workspace: workspace.clone() };
        let inside = |name: &str| place.path.join(name);
        private().create(&place.path)?;
        for directory in [WORKSPACE, "tmp"] {
            fs::create_dir(inside(directory))?;
        }
        for shared in [layout::HARNESS, layout::HARNESS_PACKAGE] {
            symlink(self.path.join(shared), inside(shared))?;
        }
        let mut settings = self.settings.clone();
        settings["layout"]["workspace"] = json!(workspace);
        settings["vouched"] = json!(vouched);
        settings["layout"]["scratch"] = json!([workspace, inside("tmp")]);
        fs::write(inside(layout::TEMPLATE_SETTINGS), settings.to_string())?;
        let mut env = self.env.clone();
        for (name, usual) in guest::PLACES {
            // A value set by the config is kept.
            if env.get(name).is_none_or(|value| value == usual) {
                let here = match usual == layout::WORKSPACE {
                    true => place.workspace.display().to_string(),
                    false => format!("{}{usual}", place.path.display()),
                };
                env.insert(name.to_owned(), here);
            }
        }
        let home = place.path.display().to_string();
        // The channel comes as stdin. The harness moves it, and the script's own stdin is empty.
        let line = PYTHON.command(python, &home, Spawn::Exec { channel: 0 });
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).env_clear().envs(env);
        Ok((place, command))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // The lock goes last. If this process dies before that, the next sweep removes the rest.
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name() != LOCK) {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove(&entry.path());
            }
        }
        remove(&self.path);
    }
}

impl Place {
    /// The directory that its script runs in.
    pub(super) fn open_workspace(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::open(&self.workspace, flags, Mode::empty())?)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_dir_all(path) {
        tracing::warn!(path = %path.display(), %error, "files of a sandbox are left");
    }
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Locks a directory for as long as the file is open.
fn hold(path: &Path) -> io::Result<File> {
    let lock = File::create(path.join("lock.new"))?;
    lock.lock()?;
    // Renamed only once it is locked, so nobody sees it unlocked.
    fs::rename(path.join("lock.new"), path.join(LOCK))?;
    Ok(lock)
}

/// Removes what killed hosts have left.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    for entry in entries.flatten().filter(ours) {
        let is_free = File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if is_free {
            remove(&entry.path());
        }
    }
}

/// Makes a new directory that no other user may enter.
fn new_directory(parent: &Path) -> io::Result<PathBuf> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        match private().create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_host_left_is_swept_and_what_is_held_stays() {
        let parent = tempfile::tempdir().unwrap();
        let [left, held] = ["1-0", "2-0"].map(|name| parent.path().join(format!("{PREFIX}{name}")));
        let other = parent.path().join("another");
        for path in [&left, &held, &other] {
            fs::create_dir(path).unwrap();
        }
        drop(hold(&left).unwrap());
        let _lock = hold(&held).unwrap();
        sweep(parent.path());
        assert!(!left.exists() && held.exists() && other.exists());
    }
}
