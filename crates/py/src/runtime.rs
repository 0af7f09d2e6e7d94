//! An engine, its pool and its secrets.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use belljar::config::HostPathMap;
use belljar::engine::{Docker, Local, Native, ProtectionState, ProtectionStatus};
use belljar::{Blueprint, Progress, RuntimeBuilder, Secret, Secrets};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::call::Call;
use crate::error::Raise as _;
use crate::input::option;
use crate::process::{self, Kept};
use crate::sandbox::{Sandbox, seconds};
use crate::tools::Tools;
use crate::workspace::{Workspaces, options};
use crate::{config, error};

/// An engine, its pool and its secrets.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Runtime {
    kept: Arc<Kept>,
}

impl Runtime {
    pub(crate) fn runtime(&self) -> &belljar::Runtime {
        self.kept.runtime()
    }
}

/// The engine that `options` name.
fn with_engine(engine: &str, options: &Bound<'_, PyDict>) -> PyResult<RuntimeBuilder> {
    let builder = belljar::Runtime::builder();
    let (python, cache): (Option<PathBuf>, Option<PathBuf>) =
        (option(options, "python")?, option(options, "cache_dir")?);
    match engine {
        "native" => {
            let mut native = Native::new();
            if let Some(python) = python {
                native = native.python(python);
            }
            if let Some(cache) = cache {
                native = native.cache_dir(cache);
            }
            if let Some(may) = option(options, "move_processes")? {
                native = native.move_processes(may);
            }
            Ok(builder.engine(native))
        }
        "docker" => {
            let mut docker = Docker::new();
            if let Some(address) = option::<String>(options, "docker_host")? {
                docker = docker.address(address);
            }
            if let Some(map) = option::<BTreeMap<PathBuf, PathBuf>>(options, "host_path_map")? {
                docker = docker.host_path_map(map.into_iter().collect::<HostPathMap>());
            }
            if let Some(uses) = option(options, "max_uses")? {
                docker = docker.max_uses(uses);
            }
            if let Some(program) = option::<PathBuf>(options, "proxy_program")? {
                docker = docker.proxy_program(program);
            }
            Ok(builder.engine(docker))
        }
        "local" => {
            let mut local = Local::new();
            if let Some(python) = python {
                local = local.python(python);
            }
            if let Some(cache) = cache {
                local = local.cache_dir(cache);
            }
            Ok(builder.engine(local))
        }
        other => {
            let message = format!("no engine is called {other:?}: native, docker or local");
            Err(error::of_class(options.py(), "Refused", message))
        }
    }
}

fn secrets(options: &Bound<'_, PyDict>) -> PyResult<Secrets> {
    let mut secrets = match option::<bool>(options, "secrets_from_env")? {
        Some(true) => Secrets::from_env(),
        _ => Secrets::new(),
    };
    for (name, value) in option::<BTreeMap<String, String>>(options, "secrets")?.unwrap_or_default() {
        secrets = secrets.with(name, Secret::new(value));
    }
    Ok(secrets)
}

#[pymethods]
impl Runtime {
    /// Opens an engine. What `options` may have is what `belljar.Runtime` takes.
    #[staticmethod]
    fn open(py: Python<'_>, engine: &str, options: &Bound<'_, PyDict>) -> PyResult<Call> {
        let mut builder = with_engine(engine, options)?.secrets(secrets(options)?);
        if let Some(cells) = option(options, "max_overflow")? {
            builder = builder.max_overflow(cells);
        }
        if let Some(templates) = option(options, "max_templates")? {
            builder = builder.max_templates(templates);
        }
        if let Some(time) = option(options, "keep_warm")? {
            builder = builder.keep_warm(seconds(time)?);
        }
        if let Some(time) = option(options, "checkout_timeout")? {
            builder = builder.checkout_timeout(seconds(time)?);
        }
        let process = process::current(py)?;
        Ok(Call::fallible(builder.build(), move |py, runtime| {
            let kept = Arc::new(process.keep(runtime));
            Ok(Py::new(py, Self { kept })?.into_any())
        }))
    }

    /// Makes a config ready, with tools. `progress` is told of slow steps.
    #[pyo3(signature = (json, tools=None, progress=None))]
    fn sandbox(
        &self,
        py: Python<'_>,
        json: &str,
        tools: Option<&Bound<'_, Tools>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Call> {
        let mut blueprint = Blueprint::new(config::parse(py, json)?);
        let equipment = tools.map(|tools| tools.get().equipment()).unwrap_or_default();
        blueprint.tools.extend(equipment.guest);
        let (runtime, gate) = (self.runtime().clone(), process::current(py)?.gate().clone());
        let work = async move {
            let mut registry = equipment.host;
            for server in equipment.mcp {
                let connection = server.connect().await.map_err(Unready::Server)?;
                registry = connection.add_to(registry).map_err(Unready::Tools)?;
            }
            let mut tell = |step: Progress| {
                if let Some(progress) = &progress {
                    gate.enter(|py| {
                        if let Err(error) = progress.call1(py, (in_words(&step),)) {
                            error.write_unraisable(py, None);
                        }
                    });
                }
            };
            runtime.prepare_with(blueprint, registry, &mut tell).await.map_err(Unready::Runtime)
        };
        Ok(Call::fallible(work, |py, sandbox| Ok(Py::new(py, Sandbox { sandbox })?.into_any())))
    }

    /// Opens the workspaces of a directory.
    #[pyo3(signature = (store, json, more=None))]
    fn workspaces(
        &self,
        py: Python<'_>,
        store: PathBuf,
        json: &str,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Workspaces> {
        let options = options(store, config::parse(py, json)?, more)?;
        Workspaces::open(self.runtime(), options).map_err(|error| error.raise(py))
    }

    /// The engine's name.
    fn engine_name(&self) -> &'static str {
        self.runtime().engine_name()
    }

    /// The engine's name, with what is worth knowing about it here.
    fn describe_engine(&self) -> String {
        self.runtime().describe_engine()
    }

    /// `[(name, state, detail, remedy)]`: what the engine can enforce here.
    fn protections(&self) -> Vec<(&'static str, &'static str, String, String)> {
        let told = |protection: &ProtectionStatus| {
            let (state, detail, remedy) = match &protection.state {
                ProtectionState::Active { detail } => ("active", detail.clone(), String::new()),
                ProtectionState::Degraded { reason, remedy, .. } => {
                    ("degraded", reason.clone(), remedy.clone())
                }
                ProtectionState::Missing { reason, remedy } => ("missing", reason.clone(), remedy.clone()),
            };
            (protection.name, state, detail, remedy)
        };
        self.runtime().capabilities().protections.iter().map(told).collect()
    }

    /// Names of what is missing without which no cell can be made.
    fn obstacles(&self) -> Vec<&'static str> {
        self.runtime().capabilities().obstacles.clone()
    }

    /// Ends everything, and waits until it is gone. Runs in progress may finish within `grace`
    /// seconds.
    #[pyo3(signature = (grace=None))]
    fn shutdown(&self, grace: Option<f64>) -> PyResult<Call> {
        let kept = Arc::clone(&self.kept);
        let grace: Option<Duration> = grace.map(seconds).transpose()?;
        let work = async move {
            match grace {
                Some(grace) => kept.runtime().shutdown_within(grace).await,
                None => kept.runtime().shutdown().await,
            }
            kept.forget();
        };
        Ok(Call::new(work, |py, ()| Ok(py.None())))
    }
}

/// A slow step, for a person who waits.
fn in_words(step: &Progress) -> String {
    match step {
        Progress::Waiting => "another process prepares the same: waiting for it".to_owned(),
        Progress::Started { installer, requirements } => {
            format!("{installer} installs {}", requirements.join(" "))
        }
        Progress::Line(line) => line.clone(),
        Progress::Done { packages, seconds } => format!("{packages} packages in {seconds:.1} s"),
        _ => String::new(),
    }
}

/// Why a sandbox could not be made ready.
enum Unready {
    Runtime(belljar::RuntimeError),
    Tools(belljar::tools::RegistryError),
    Server(belljar::tools::McpError),
}

impl error::Raise for Unready {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            Self::Runtime(error) => error.raise(py),
            Self::Tools(error) => error.raise(py),
            Self::Server(error) => error.raise(py),
        }
    }
}
