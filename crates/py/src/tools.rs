//! Functions of Python's as tools of the host's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use belljar::tools::{HostTool, Tool, ToolContext, ToolFailure, ToolSet};
use belljar::{Json, McpServer, ToolRegistry, ToolSource};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::ask::{Host, ask};
use crate::error::{Raise as _, of_class};
use crate::input::option;
use crate::process;

/// What a sandbox is given.
#[derive(Clone, Default)]
pub(crate) struct Equipment {
    pub(crate) host: ToolRegistry,
    pub(crate) guest: Vec<ToolSource>,
    pub(crate) mcp: Vec<McpServer>,
}

/// Tools for a sandbox.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Tools {
    equipment: Mutex<Equipment>,
    /// `dispatch(name, execution_id, arguments, reply)` gives a function that gives the call up, or
    /// `None`.
    dispatch: Arc<Py<PyAny>>,
}

impl Tools {
    pub(crate) fn equipment(&self) -> Equipment {
        self.equipment.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Equipment)) {
        change(&mut self.equipment.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

#[pymethods]
impl Tools {
    #[new]
    fn new(dispatch: Py<PyAny>) -> Self {
        Self { equipment: Mutex::default(), dispatch: Arc::new(dispatch) }
    }

    /// Adds a function of this process, as its description says. `bounds` may have `timeout` (in
    /// seconds), `concurrency` and `budget`.
    fn add_host(&self, py: Python<'_>, json: &str, bounds: &Bound<'_, PyDict>) -> PyResult<()> {
        let tool = read_tool(json)?;
        let dispatch = Arc::clone(&self.dispatch);
        let (name, host_of) = (tool.name.clone(), Host::of(&*process::current(py)?));
        let mut host = HostTool::described(tool, move |context, arguments| {
            let asked = Asked { name: name.clone(), arguments };
            Box::pin(call(host_of.clone(), Arc::clone(&dispatch), context, asked))
        });
        if let Some(seconds) = option(bounds, "timeout")? {
            host = host.timeout(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        }
        if let Some(calls) = option(bounds, "concurrency")? {
            host = host.concurrency(calls);
        }
        if let Some(calls) = option(bounds, "budget")? {
            host = host.budget(calls);
        }
        let registry = self.equipment().host.with(host).map_err(|error| error.raise(py))?;
        self.change(|equipment| equipment.host = registry);
        Ok(())
    }

    /// Adds a Python file whose functions run in the cell.
    fn add_guest(&self, file_name: String, source: String) {
        self.change(|equipment| equipment.guest.push(ToolSource { file_name, source }));
    }

    /// Adds the tools of an MCP server: an address, or a command.
    #[pyo3(signature = (text, env=Vec::new()))]
    fn add_mcp(&self, py: Python<'_>, text: &str, env: Vec<(String, String)>) -> PyResult<()> {
        let mut server =
            McpServer::from_text(text).map_err(|error| of_class(py, "ToolError", error.to_string()))?;
        for (name, value) in env {
            server = server.env(name, belljar::Secret::new(value));
        }
        self.change(|equipment| equipment.mcp.push(server));
        Ok(())
    }
}

fn read_tool(json: &str) -> PyResult<Tool> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Which function, and what with.
struct Asked {
    name: String,
    arguments: Json,
}

async fn call(
    host: Host,
    dispatch: Arc<Py<PyAny>>,
    context: ToolContext,
    Asked { name, arguments }: Asked,
) -> Result<Json, ToolFailure> {
    let id = context.execution_id.to_string();
    let answer = ask(&host, dispatch, Some(context), move |dispatch, reply| {
        Ok(dispatch.call1((name, id, arguments.as_str(), reply))?.unbind())
    });
    let json = answer.await.map_err(ToolFailure::new)?;
    let (answer, repairs) = Json::parse_repaired(&json).map_err(ToolFailure::from)?;
    match repairs.is_empty() {
        true => Ok(answer),
        false => Err(ToolFailure::new(
            "its answer has what a script cannot be given: lists below 60 levels, or numbers that are no double",
        )),
    }
}

/// What a model reads of tools, as JSON: prompt, stubs, and the forms of function calling.
pub(crate) fn forms(py: Python<'_>, tools: &ToolSet) -> PyResult<Py<PyAny>> {
    let forms = serde_json::json!({
        "names": tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
        "prompt": tools.prompt(),
        "stubs": tools.stubs(),
        "openai": tools.openai_forms(),
        "anthropic": tools.anthropic_forms(),
        "mcp": tools.mcp_forms(),
    });
    crate::output::json(py, &forms)
}

/// The same for one tool that is only described. A description that breaks a rule is refused.
#[pyfunction]
pub(crate) fn describe_tool(py: Python<'_>, json: &str) -> PyResult<Py<PyAny>> {
    let mut set = ToolSet::new();
    set.add(read_tool(json)?).map_err(|error| of_class(py, "ToolError", error.to_string()))?;
    forms(py, &set)
}
