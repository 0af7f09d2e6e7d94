//! `belljar._belljar`: what the Python package needs of Rust.
//!
//! ```text
//!  python/belljar/*.py    the surface: names, defaults, dataclasses, awaitables
//!        │  JSON and bytes, one class for each noun
//!  src/*.rs               this module: starts futures, hands results over
//!        │
//!  belljar                the facade
//! ```
//!
//! Nothing is decided here. Requests, configs, events and results cross as the JSON that every
//! surface speaks; contents of files cross as bytes. Whatever takes time is a [`call::Call`], which
//! Python awaits or waits for.
//!
//! * `process`: what polls futures in this process, and what ends with it. A forked child gets its own.
//!   `threads`: what may block. `gate`: how they get into the interpreter, and when not any more.
//! * `call`: one future, awaited from any event loop or waited for without one. `own_loop`: where a
//!   thread that waits polls it.
//! * `runtime`, `sandbox`, `execution`, `session`, `workspace`, `artifacts`, `agent`: the nouns.
//! * `tools`: functions of Python's as tools of the host's. `ask`: how such a function is asked.
//! * `command`: this module run as a program, which is the `belljar` command.
//! * `input`, `output`: what goes in and out beside JSON. `error`: which exception is raised.

mod agent;
mod artifacts;
mod ask;
mod call;
#[cfg(target_arch = "x86_64")]
mod command;
mod config;
mod error;
mod execution;
mod gate;
mod input;
mod output;
mod own_loop;
mod process;
mod program;
mod runtime;
mod sandbox;
mod session;
mod threads;
mod tools;
mod workspace;

use pyo3::prelude::*;

#[pymodule]
mod _belljar {
    #[pymodule_export]
    use super::agent::Orchestrator;
    #[pymodule_export]
    use super::artifacts::Artifacts;
    #[pymodule_export]
    use super::ask::Reply;
    #[pymodule_export]
    use super::call::Call;
    #[pymodule_export]
    use super::config::{allowlist, check_config, read_config};
    #[pymodule_export]
    use super::execution::Execution;
    #[pymodule_export]
    use super::process::shutdown_all;
    #[pymodule_export]
    use super::program::Program;
    #[pymodule_export]
    use super::runtime::Runtime;
    #[pymodule_export]
    use super::sandbox::Sandbox;
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::tools::{Tools, describe_tool};
    #[pymodule_export]
    use super::workspace::{Workspace, Workspaces};

    use pyo3::prelude::*;

    /// The version of the package and of the command beside it.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
