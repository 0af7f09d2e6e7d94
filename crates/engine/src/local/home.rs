//! The files of a sandbox and of its cells, in the directory for temporary files.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use belljar_core::{CellId, layout};
use serde_json::{Value, json};

use crate::Blueprint;
use crate::builder::Layer;
use crate::guest::{self, PYTHON, Spawn};

/// Starts the harness, whose command line follows. The channel comes as stdin and moves to its own descriptor,
/// which programs of the script do not inherit. The script's stdin is empty.
const START: &str = "\
import os, sys
sys.argv = sys.argv[1:]
path, _, channel = sys.argv
os.dup2(0, int(channel), inheritable=False)
nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(nothing, 0)
os.close(nothing)
exec(compile(open(path, encoding='utf-8').read(), path, 'exec'), {'__name__': '__main__', '__file__': path})
";

/// What all cells of a sandbox share: the harness and the tools. Removed with the last of them.
pub(super) struct Home {
    path: PathBuf,
    settings: Value,
    env: BTreeMap<String, String>,
    /// Stays open while it is used.
    _layer: Option<Layer>,
}

/// One cell's own directory. Removed when it is dropped.
pub(super) struct Place {
    path: PathBuf,
}

impl Home {
    /// Words of a command line from the harness on: its path, `--channel` and a number.
    const OF_THE_HARNESS: usize = 3;

    pub(super) fn make(blueprint: &Blueprint, layer: Option<Layer>) -> io::Result<Self> {
        let path = new_directory(&std::env::temp_dir())?;
        let mut home = Self { path, settings: Value::Null, env: BTreeMap::new(), _layer: None };
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
        // A place that is not there stands for no packages.
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

    /// Makes a cell's directory, and the command that starts its interpreter there.
    pub(super) fn place(&self, id: CellId, python: &str) -> io::Result<(Place, Command)> {
        let place = Place { path: self.path.join(id.to_string()) };
        let inside = |name: &str| place.path.join(name);
        private().create(&place.path)?;
        for directory in ["workspace", "tmp"] {
            fs::create_dir(inside(directory))?;
        }
        for shared in [layout::HARNESS, layout::HARNESS_PACKAGE] {
            symlink(self.path.join(shared), inside(shared))?;
        }
        let mut settings = self.settings.clone();
        settings["layout"]["workspace"] = json!(inside("workspace"));
        settings["layout"]["scratch"] = json!([inside("workspace"), inside("tmp")]);
        fs::write(inside(layout::TEMPLATE_SETTINGS), settings.to_string())?;
        let mut env = self.env.clone();
        for (name, directory, usual) in
            [("HOME", "workspace", layout::WORKSPACE), ("TMPDIR", "tmp", layout::SCRATCH[1])]
        {
            // One that the config sets is the config's.
            if env.get(name).is_none_or(|value| value == usual) {
                env.insert(name.to_owned(), inside(directory).display().to_string());
            }
        }
        let home = place.path.display().to_string();
        let line = PYTHON.command(python, &home, Spawn::Exec);
        let (options, harness) = line.split_at(line.len() - Self::OF_THE_HARNESS);
        let mut command = Command::new(&options[0]);
        command.args(&options[1..]).args(["-c", START]).args(harness).env_clear().envs(env);
        Ok((place, command))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        remove(&self.path);
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

/// A directory that nobody has had before and nobody else may enter.
fn new_directory(parent: &Path) -> io::Result<PathBuf> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("belljar-local-{}-{number}", std::process::id()));
        match private().create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
