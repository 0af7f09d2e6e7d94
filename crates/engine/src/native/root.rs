//! What a guest sees of the file system: the interpreter, its libraries, its packages, and little
//! else.

use std::path::{Path, PathBuf};

use belljar_core::layout::{self, LAYER};
use belljar_jail::{Expected, FileIdentity, LentPlace, RootEntry};

use super::lending::{self, Granted};
use crate::EngineError;
use crate::builder::Layer;
use crate::engine::Blueprint;
use crate::grants::Grant;
use crate::guest::{self, Guest, PYTHON};
use crate::python::Interpreter;

/// The host name of every cell.
pub(super) const HOST_NAME: &str = "belljar";

/// The guest's file system and how to start Python in it.
pub(super) struct GuestRoot {
    pub(super) entries: Vec<RootEntry>,
    pub(super) python: String,
    pub(super) env: Vec<(String, String)>,
    /// Paths a guest may write to, besides its scratch directories.
    pub(super) writable: Vec<String>,
    /// What is granted inside the workspace: where it is mounted first, where it goes, and whether
    /// it is a directory.
    pub(super) granted_inside: Vec<(String, String, bool)>,
    /// What is lent to each cell, and where it goes.
    pub(super) lent: Vec<LentPlace>,
    pub(super) lent_to: Vec<String>,
    /// Where the kept workspaces are in the zygote, if cells get theirs from there.
    pub(super) store: String,
    /// Where they are on the host, if cells get theirs lent.
    pub(super) lent_store: Option<LentPlace>,
    /// Whether programs can have terminals.
    pub(super) has_terminals: bool,
    /// For each of these, what is to be said if its owner cannot be made the guest.
    pub(super) if_foreign: Vec<String>,
    /// Warnings about grants that the files' own permissions block.
    pub(super) warnings: Vec<String>,
    /// The granted files, held open from the check until they are mounted.
    pub(super) grants: Vec<Grant>,
}

/// Where the packages are, and which of their modules a zygote need not try before it preloads
/// them.
#[derive(Clone, Copy, Default)]
pub(super) struct Packages<'a> {
    pub(super) layer: Option<&'a Layer>,
    pub(super) vouched: Option<&'a [String]>,
}

/// Lays out the file system of a blueprint's cells, with what was found at each of its resources.
pub(super) fn lay_out(
    blueprint: &Blueprint,
    interpreter: &Interpreter,
    Packages { layer, vouched }: Packages<'_>,
    granted: Vec<Granted>,
) -> Result<GuestRoot, EngineError> {
    let mut entries = system(blueprint.has_terminals);
    entries.extend(devices());
    if blueprint.has_terminals {
        entries.push(RootEntry::Directory { path: "/dev/pts".into() });
        entries.push(RootEntry::Symlink { path: "/dev/ptmx".into(), target: "pts/ptmx".into() });
    }
    if layer.is_some() || !blueprint.tools.is_empty() || blueprint.config.preload.is_some() {
        // Many packages write something when they are imported. Cells mount their own places over
        // these.
        entries.extend(layout::SCRATCH.map(|path| RootEntry::Scratch { path: path.into() }));
    }
    entries.extend(belljar_jail::stand_ins(layout::PROC, HOST_NAME));
    entries.extend(identity_files());
    let (python, library_path) = place_python(interpreter, &mut entries);
    let (mut writable, mut warnings, mut granted_inside) = (Vec::new(), Vec::new(), Vec::new());
    let (mut lent, mut lent_to, mut if_foreign) = (Vec::new(), Vec::new(), Vec::new());
    let mut grants = Vec::new();
    for (resource, Granted { grant, is_lent, warning }) in blueprint.config.resources.iter().zip(granted) {
        if !resource.read_only {
            writable.push(resource.container_path.clone());
        }
        warnings.extend(warning);
        if is_lent {
            if_foreign.push(lending::foreign(resource, &grant.metadata, lending::NO_SUCH_MOUNTS));
            lent.push(LentPlace { source: grant.path.clone(), identity: grant.identity });
            lent_to.push(resource.container_path.clone());
        }
        let mut target = resource.container_path.clone();
        if layout::is_in_workspace(&target) {
            let place = format!("{}/{}", layout::GRANTS, granted_inside.len());
            granted_inside.push((place.clone(), target, grant.metadata.is_dir()));
            target = place;
        }
        entries.push(RootEntry::Bind {
            source: grant.path.clone(),
            target: target.into(),
            writable: !resource.read_only,
            expected: Expected::File(grant.identity),
        });
        grants.push(grant);
    }
    match layer {
        Some(layer) => {
            let identity = layer.directory.identity().map_err(EngineError::io("look at the layer"))?;
            entries.push(RootEntry::Bind {
                source: layer.path.clone(),
                target: LAYER.into(),
                writable: false,
                expected: Expected::File(identity),
            });
        }
        None => entries.push(RootEntry::Directory { path: LAYER.into() }),
    }
    entries.push(RootEntry::Directory { path: layout::TOOLS.into() });
    for tool in &blueprint.tools {
        entries.push(file(&format!("{}/{}", layout::TOOLS, tool.file_name), &tool.source));
    }
    let home = |path| Guest::place(layout::BELLJAR, path);
    entries.extend(PYTHON.files.iter().map(|part| file(&home(part.path), part.text)));
    let mut settings = guest::template_settings(blueprint);
    settings["vouched"] = vouched.into();
    entries.push(file(&home(layout::TEMPLATE_SETTINGS), &settings.to_string()));
    let env = environment(blueprint, library_path);
    Ok(GuestRoot {
        entries,
        python,
        env,
        writable,
        granted_inside,
        lent,
        lent_to,
        store: String::new(),
        lent_store: None,
        has_terminals: blueprint.has_terminals,
        if_foreign,
        warnings,
        grants,
    })
}

/// Programs and libraries of the host's system, read-only. `/usr/local`, `/usr/src` and most of
/// `/usr/share` are left out: a guest does not see what is not the distribution's own, or not
/// needed to run.
fn system(with_toolchains: bool) -> Vec<RootEntry> {
    let mut entries = vec![
        RootEntry::Proc { path: "/proc".into() },
        RootEntry::Directory { path: layout::WORKSPACE.into() },
        RootEntry::Directory { path: "/tmp".into() },
    ];
    for path in [
        "/usr/bin",
        "/usr/lib",
        "/usr/lib32",
        "/usr/lib64",
        "/usr/libx32",
        "/usr/share/zoneinfo",
        "/usr/share/ca-certificates",
        "/usr/share/terminfo",
        // Charts and pictures have text in them.
        "/usr/share/fonts",
        // Debian keeps the wheels here that `python3 -m venv` puts into a new environment.
        "/usr/share/python-wheels",
    ] {
        if Path::new(path).is_dir() {
            entries.push(bind(path, path));
        }
    }
    if with_toolchains {
        entries.extend(toolchains().into_iter().map(|path| bind(path.clone(), path)));
    }
    for path in ["/bin", "/lib", "/lib32", "/lib64", "/libx32"] {
        match std::fs::read_link(path) {
            Ok(target) => entries.push(RootEntry::Symlink { path: path.into(), target }),
            Err(_) if Path::new(path).is_dir() => entries.push(bind(path, path)),
            Err(_) => {}
        }
    }
    for path in [
        "/etc/ld.so.cache",
        "/etc/ssl/certs",
        "/etc/ssl/openssl.cnf",
        "/etc/alternatives",
        "/etc/localtime",
        "/etc/mime.types",
        // Names of ports and protocols. Programs look them up through the C library.
        "/etc/services",
        "/etc/protocols",
    ] {
        if Path::new(path).exists() {
            entries.push(bind(path, path));
        }
    }
    entries
}

/// What compilers and interpreters of other languages need of the system, as far as it is there:
/// headers, their libraries, and the settings without which Java does not start.
fn toolchains() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = [
        "/usr/include",
        "/usr/libexec",
        "/usr/share/java",
        "/usr/share/lua",
        "/usr/share/nodejs",
        "/usr/share/perl",
        "/usr/share/perl5",
        "/usr/share/php",
        "/usr/share/R",
        "/usr/share/rubygems-integration",
    ]
    .into_iter()
    .map(PathBuf::from)
    .collect();
    for (parent, prefix) in [("/etc", "java-"), ("/usr/share", "go-"), ("/etc", "R")] {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
        places.extend(ours.map(|entry| entry.path()));
    }
    places.retain(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()));
    places.sort();
    places
}

fn devices() -> Vec<RootEntry> {
    let mut entries: Vec<RootEntry> = ["null", "zero", "full", "random", "urandom"]
        .map(|name| RootEntry::Device { path: Path::new("/dev").join(name) })
        .into();
    entries.push(RootEntry::Directory { path: "/dev/shm".into() });
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        entries.push(RootEntry::Symlink { path: Path::new("/dev").join(name), target: target.into() });
    }
    entries
}

fn identity_files() -> Vec<RootEntry> {
    vec![
        file(
            "/etc/passwd",
            &format!(
                "root:x:0:0:root:/:/bin/false\nsandbox:x:1000:1000:sandbox:{}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
                layout::WORKSPACE,
            ),
        ),
        file(guest::FONT_SETTINGS, guest::FONTS),
        file("/etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"),
        file("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n127.0.0.1 belljar\n"),
        file(
            "/etc/nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
        ),
    ]
}

impl GuestRoot {
    /// Lets cells have workspaces of a directory. With ids of their own they get them lent.
    pub(super) fn keep_workspaces(
        &mut self,
        store: Option<&Path>,
        guests_are_others: bool,
    ) -> Result<(), EngineError> {
        let Some(store) = store else { return Ok(()) };
        let found = std::fs::symlink_metadata(store).map_err(EngineError::io("look at the workspaces"))?;
        let identity = FileIdentity::from(&found);
        match guests_are_others {
            true => self.lent_store = Some(LentPlace { source: store.to_owned(), identity }),
            false => {
                self.store = layout::STORE.to_owned();
                self.entries.push(RootEntry::Bind {
                    source: store.to_owned(),
                    target: layout::STORE.into(),
                    writable: true,
                    expected: Expected::File(identity),
                });
            }
        }
        Ok(())
    }

    /// Makes programs in the cells trust this authority, besides those the host trusts.
    pub(super) fn trust(&mut self, authority: &str) {
        let host = guest::host_bundle().unwrap_or_default();
        self.entries.push(file(layout::AUTHORITIES, &format!("{host}\n{authority}")));
        for variable in guest::TRUST_VARIABLES {
            if !self.env.iter().any(|(name, _)| name == variable) {
                self.env.push((variable.to_owned(), layout::AUTHORITIES.to_owned()));
            }
        }
    }
}

/// Adds the interpreter to the root. Returns its path inside, and the library path it needs.
fn place_python(interpreter: &Interpreter, entries: &mut Vec<RootEntry>) -> (String, Option<String>) {
    let prefix = &interpreter.prefix;
    if prefix == Path::new("/usr") {
        return (interpreter.executable.display().to_string(), None);
    }
    let inside = if prefix.starts_with("/usr") { prefix.clone() } else { PathBuf::from(layout::PYTHON) };
    entries.push(bind(prefix, &inside));
    let python = match interpreter.executable.strip_prefix(prefix) {
        Ok(relative) => inside.join(relative),
        Err(_) => {
            // An executable outside its prefix is rare, but allowed.
            entries.push(bind(&interpreter.executable, &interpreter.executable));
            interpreter.executable.clone()
        }
    };
    let library_path = interpreter.shared_library.as_ref().and_then(|library| {
        let directory = library.parent()?;
        let inside =
            directory.strip_prefix(prefix).map_or(directory.to_owned(), |relative| inside.join(relative));
        Some(inside.display().to_string())
    });
    (python.display().to_string(), library_path)
}

fn environment(blueprint: &Blueprint, library_path: Option<String>) -> Vec<(String, String)> {
    let mut env = guest::environment(blueprint);
    if let Some(path) = library_path {
        env.entry("LD_LIBRARY_PATH".to_owned()).or_insert(path);
    }
    env.into_iter().collect()
}

fn bind(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> RootEntry {
    RootEntry::Bind {
        source: source.into(),
        target: target.into(),
        writable: false,
        expected: Expected::Anything,
    }
}

fn file(path: &str, contents: &str) -> RootEntry {
    RootEntry::File { path: path.into(), contents: contents.into() }
}

#[cfg(test)]
mod tests {
    use belljar_core::config::SandboxConfig;
    use belljar_core::layout::{RESERVED, overlap};

    use super::*;
    use crate::engine::ToolSource;
    use crate::python::{self, Search};

    /// A grant could hide what is put into a guest. So all of it must be in reserved places.
    #[test]
    fn everything_that_is_laid_out_is_in_a_reserved_place() {
        let Ok(interpreter) = python::find(None, &Search::from_env(None)) else { return };
        let tools = vec![ToolSource { file_name: "t.py".into(), source: String::new() }];
        let blueprint = Blueprint { tools, ..Blueprint::new(SandboxConfig::default()) };
        let mut guest = lay_out(&blueprint, &interpreter, Packages::default(), Vec::new()).unwrap();
        guest.trust("authority");
        for entry in &guest.entries {
            let (RootEntry::Directory { path }
            | RootEntry::File { path, .. }
            | RootEntry::Symlink { path, .. }
            | RootEntry::Bind { target: path, .. }
            | RootEntry::Device { path }
            | RootEntry::Proc { path }
            | RootEntry::Scratch { path }) = entry;
            let path = path.to_str().unwrap();
            assert!(RESERVED.iter().any(|place| overlap(path, place)), "{path} could be granted");
        }
    }
}
