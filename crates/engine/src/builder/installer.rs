//! uv or pip, and how to give each of them the same settings.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use belljar_core::environment::PATH;

use super::run::output;
use super::spec::LayerSpec;
use super::stop::Stop;

/// The program that fills a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Installer {
    /// `uv pip install`. It is preferred, because it is much faster.
    Uv {
        /// Where it is.
        program: PathBuf,
    },
    /// `python -m pip install`.
    Pip,
}

/// Variables that could make Python or the installer write elsewhere, leave something out, or add
/// something.
const NEVER_PASSED: &[&str] = &[
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONOPTIMIZE",
    "PYTHONPATH",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PIP_DRY_RUN",
    "PIP_EDITABLE",
    "PIP_PREFIX",
    "PIP_REQUIREMENT",
    "PIP_ROOT",
    "PIP_TARGET",
    "UV_PREFIX",
    "UV_SYSTEM_PYTHON",
    "UV_TARGET",
    "VIRTUAL_ENV",
];

/// Settings for quiet output, and against what a configuration file may have turned on. Nothing may
/// ask at the terminal: an installer is in the background there, and would be stopped for good.
const ALWAYS_PASSED: &[(&str, &str)] = &[
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
    ("PIP_NO_COLOR", "1"),
    ("PIP_REQUIRE_VIRTUALENV", "0"),
    ("PIP_ROOT_USER_ACTION", "ignore"),
    ("PIP_USER", "0"),
    ("SSH_ASKPASS_REQUIRE", "force"),
    ("UV_NO_PROGRESS", "1"),
];

/// If one of these is set, the user has told uv where packages come from.
const UV_SOURCES: &[&str] =
    &["UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_INDEX", "UV_INDEX_URL"];

/// The host's environment, with the store's own variables over it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Environment<'a>(pub(super) &'a [(OsString, OsString)]);

impl Environment<'_> {
    fn get(self, name: &str) -> Option<OsString> {
        let own = self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        own.or_else(|| env::var_os(name)).filter(|value| !value.is_empty())
    }

    fn apply(self, command: &mut Command) {
        command.envs(self.0.iter().map(|(key, value)| (key, value)));
        for name in NEVER_PASSED {
            command.env_remove(name);
        }
        command.envs(ALWAYS_PASSED.iter().copied());
    }
}

impl Installer {
    /// Chooses uv if it is on `PATH` and runs, else pip.
    pub(super) fn choose(environment: Environment<'_>, stop: &Stop) -> Self {
        let path = environment.get(PATH).unwrap_or_default();
        let programs =
            env::split_paths(&path).filter(|place| place.is_absolute()).map(|place| place.join("uv"));
        let works = |program: &PathBuf| program.is_file() && says_it_is_uv(program, environment, stop);
        programs.into_iter().find(works).map_or(Self::Pip, |program| Self::Uv { program })
    }

    /// The program to execute.
    pub(super) fn program<'a>(&'a self, spec: &'a LayerSpec) -> &'a Path {
        match self {
            Self::Uv { program } => program,
            Self::Pip => &spec.interpreter.executable,
        }
    }

    /// The command for a task. Requirements come from a file, so that none can be read as an option
    /// or seen in a process list.
    pub(super) fn command(&self, task: &Task<'_>, spec: &LayerSpec, environment: Environment<'_>) -> Command {
        let mut command = Command::new(self.program(spec));
        environment.apply(&mut command);
        match self {
            Self::Uv { .. } => {
                match task {
                    Task::Resolve { answer, .. } => {
                        // Without `--quiet` the answer is printed too.
                        command.args(["pip", "compile", "--quiet", "--generate-hashes", "--no-header"]);
                        command.args(["--no-annotate", "--output-file"]).arg(answer);
                    }
                    Task::Install { .. } | Task::Unpack { .. } => {
                        command.args(["pip", "install", "--compile-bytecode", "--link-mode", "copy"]);
                    }
                }
                command.arg("--python").arg(&spec.interpreter.executable);
                pass_pip_settings(&mut command, environment);
            }
            Self::Pip => {
                command.args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check"]);
                command.args(["--no-warn-script-location", "--progress-bar", "off"]);
                match task {
                    Task::Resolve { answer, .. } => {
                        command.args(["--dry-run", "--ignore-installed", "--report"]).arg(answer);
                    }
                    Task::Install { report: Some(report), .. } => {
                        command.args(["--compile", "--report"]).arg(report);
                    }
                    Task::Install { .. } | Task::Unpack { .. } => drop(command.arg("--compile")),
                }
            }
        }
        if !spec.allow_source_builds {
            command.args(["--only-binary", ":all:"]);
        }
        match task {
            Task::Resolve { requirements, .. } => match self {
                Self::Uv { .. } => command.arg(requirements),
                Self::Pip => command.arg("--requirement").arg(requirements),
            },
            Task::Install { requirements, target, report: _ } => {
                command.arg("--target").arg(target).arg("--requirement").arg(requirements)
            }
            Task::Unpack { pins, target } => {
                // What was resolved is in keeping with the constraints. They have no hashes, which
                // pip would ask for.
                command.env_remove("PIP_CONSTRAINT").env_remove("UV_CONSTRAINT").env_remove("UV_OVERRIDE");
                command.args(["--no-deps", "--require-hashes", "--target"]).arg(target);
                command.arg("--requirement").arg(pins)
            }
        };
        command
    }
}

/// What an installer is asked to do.
#[derive(Debug)]
pub(super) enum Task<'a> {
    /// Choose a version of everything that the requirements need, and write the answer to a file.
    /// `resolution` reads it.
    Resolve { requirements: &'a Path, answer: &'a Path },
    /// Install exactly these wheels into an empty directory.
    Unpack { pins: &'a Path, target: &'a Path },
    /// Do both at once. pip can also report what it chose, as if it had only resolved.
    Install { requirements: &'a Path, target: &'a Path, report: Option<&'a Path> },
}

impl fmt::Display for Installer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uv { .. } => "uv",
            Self::Pip => "pip",
        })
    }
}

fn says_it_is_uv(program: &Path, environment: Environment<'_>, stop: &Stop) -> bool {
    let mut command = Command::new(program);
    environment.apply(&mut command);
    command.arg("--version");
    output(command, stop).is_some_and(|said| said.starts_with(b"uv "))
}

/// Passes pip's settings on to uv, which does not read pip's variables. A host whose packages must
/// come from its own index usually configures pip. If uv used the public index for the same names,
/// that would be a security hole.
fn pass_pip_settings(command: &mut Command, environment: Environment<'_>) {
    let mut pass = |uv: &str, pip: &str, separator: &str| {
        if let (None, Some(value)) = (environment.get(uv), environment.get(pip)) {
            command.env(uv, separated(&value, separator));
        }
    };
    pass("SSL_CERT_FILE", "PIP_CERT", " ");
    pass("UV_CONSTRAINT", "PIP_CONSTRAINT", " ");
    pass("UV_INSECURE_HOST", "PIP_TRUSTED_HOST", " ");
    if UV_SOURCES.iter().any(|name| environment.get(name).is_some()) {
        return;
    }
    pass("UV_INDEX_URL", "PIP_INDEX_URL", " ");
    pass("UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL", " ");
    pass("UV_FIND_LINKS", "PIP_FIND_LINKS", ",");
    let no_index = environment.get("PIP_NO_INDEX");
    if no_index
        .is_some_and(|value| !["0", "false", "no", "off"].iter().any(|no| value.eq_ignore_ascii_case(no)))
    {
        command.arg("--no-index");
    }
}

fn separated(value: &OsStr, separator: &str) -> OsString {
    match value.to_str() {
        Some(text) => text.split_whitespace().collect::<Vec<_>>().join(separator).into(),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn told(variables: &[(&str, &str)]) -> (Vec<String>, HashMap<String, String>) {
        let unset = UV_SOURCES.iter().chain(&[
            "PIP_INDEX_URL",
            "PIP_EXTRA_INDEX_URL",
            "PIP_FIND_LINKS",
            "PIP_NO_INDEX",
        ]);
        let mut own: Vec<(OsString, OsString)> = unset.map(|name| (name.into(), "".into())).collect();
        own.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
        let mut command = Command::new("uv");
        pass_pip_settings(&mut command, Environment(&own));
        let text = |value: &OsStr| value.to_str().unwrap().to_owned();
        let envs = command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?)))).collect();
        (command.get_args().map(text).collect(), envs)
    }

    #[test]
    fn uv_is_told_what_pip_was_told() {
        let (args, envs) = told(&[
            ("PIP_INDEX_URL", "https://index.example/simple"),
            ("PIP_FIND_LINKS", "/a  /b"),
            ("PIP_NO_INDEX", "1"),
        ]);
        assert_eq!(args, ["--no-index"]);
        assert_eq!(envs["UV_INDEX_URL"], "https://index.example/simple");
        assert_eq!(envs["UV_FIND_LINKS"], "/a,/b");
    }

    #[test]
    fn uv_keeps_its_own_sources_when_it_has_some() {
        let (args, envs) =
            told(&[("UV_INDEX", "https://uv.example"), ("PIP_INDEX_URL", "https://pip.example")]);
        assert!(args.is_empty());
        assert!(!envs.contains_key("UV_INDEX_URL"));
    }
}
