//! Directories that outlive the programs in them.

use std::path::PathBuf;
use std::sync::Arc;

use belljar::SandboxConfig;
use belljar::config::GuestPath;
use belljar::engine::EntryKind;
use belljar::workspace::{
    InteractiveProgramSpec, OpenWorkspace, RunProgramSpec, RunResult, WorkspaceError, WorkspacePolicy,
    WorkspacesOptions,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::call::Call;
use crate::error::of_class;
use crate::input::option;
use crate::output;
use crate::program::Program;

/// How many names a listing has.
const MOST_ENTRIES: usize = 100_000;

/// The workspaces of a directory.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Workspaces {
    workspaces: belljar::workspace::Workspaces,
}

/// Reads what workspaces are made with.
pub(crate) fn options(
    store: PathBuf,
    config: SandboxConfig,
    more: Option<&Bound<'_, PyDict>>,
) -> PyResult<WorkspacesOptions> {
    let mut options = WorkspacesOptions::new(store);
    options.config = config;
    let Some(more) = more else { return Ok(options) };
    options.max_output_bytes = option(more, "max_output_bytes")?.unwrap_or(options.max_output_bytes);
    options.max_disk_bytes = option(more, "max_disk_bytes")?.unwrap_or(options.max_disk_bytes);
    Ok(options)
}

impl Workspaces {
    pub(crate) fn open(
        runtime: &belljar::Runtime,
        options: WorkspacesOptions,
    ) -> Result<Self, WorkspaceError> {
        let workspaces = belljar::workspace::Workspaces::unprepared(runtime, options)?;
        Ok(Self { workspaces })
    }
}

fn opened(py: Python<'_>, workspace: OpenWorkspace) -> PyResult<Py<PyAny>> {
    Ok(Py::new(py, Workspace { workspace })?.into_any())
}

#[pymethods]
impl Workspaces {
    /// The workspace of that id, made if it is not there.
    #[pyo3(signature = (id, max_disk_bytes=0))]
    fn workspace(&self, id: String, max_disk_bytes: u64) -> Call {
        let workspaces = self.workspaces.clone();
        let policy = WorkspacePolicy { max_disk_bytes, ..WorkspacePolicy::default() };
        Call::fallible(async move { workspaces.workspace_with(&id, policy).await }, opened)
    }

    /// One that is there.
    fn find(&self, id: String) -> Call {
        let workspaces = self.workspaces.clone();
        Call::fallible(async move { workspaces.find(&id) }, opened)
    }

    /// The ids of all.
    fn list(&self) -> Call {
        let workspaces = self.workspaces.clone();
        Call::fallible(async move { workspaces.list() }, |py, found| {
            let ids: Vec<String> = found.into_iter().map(|(id, _)| id).collect();
            Ok(ids.into_pyobject(py)?.into_any().unbind())
        })
    }

    /// Removes one. One that is gone is no error.
    fn remove(&self, id: String) -> Call {
        let workspaces = self.workspaces.clone();
        Call::fallible(async move { workspaces.remove(&id).await }, |py, ()| Ok(py.None()))
    }
}

/// One workspace.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Workspace {
    workspace: OpenWorkspace,
}

fn guest_path(py: Python<'_>, path: &str) -> PyResult<GuestPath> {
    GuestPath::new(path).map_err(|error| of_class(py, "FilesError", error.to_string()))
}

/// `(json, stdout, stderr)`.
pub(crate) fn run_result(py: Python<'_>, mut result: RunResult) -> PyResult<Py<PyAny>> {
    let (stdout, stderr) = (std::mem::take(&mut result.stdout), std::mem::take(&mut result.stderr));
    let json = output::json(py, &result)?;
    let streams = (PyBytes::new(py, &stdout), PyBytes::new(py, &stderr));
    Ok((json, streams.0, streams.1).into_pyobject(py)?.into_any().unbind())
}

/// A spec in JSON, and its stdin, which JSON has no word for.
fn spec<T: serde::de::DeserializeOwned>(json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pymethods]
impl Workspace {
    /// Its id.
    #[getter]
    fn id(&self) -> &str {
        self.workspace.id()
    }

    /// Writes bytes, or copies a file or directory of this machine.
    fn put(&self, path: String, content: &Bound<'_, PyAny>) -> PyResult<Call> {
        let workspace = self.workspace.clone();
        let done = |py: Python<'_>, ()| Ok(py.None());
        if let Ok(bytes) = content.cast::<PyBytes>() {
            let bytes = bytes.as_bytes().to_vec();
            return Ok(Call::fallible(async move { workspace.put(&path, bytes).await }, done));
        }
        let source: PathBuf = content.extract()?;
        Ok(Call::fallible(async move { workspace.put_from(&source, &path).await }, done))
    }

    /// The whole content of a file.
    fn read(&self, path: String) -> Call {
        let workspace = self.workspace.clone();
        Call::fallible(async move { workspace.read(&path).await }, |py, bytes| {
            Ok(PyBytes::new(py, &bytes).into_any().unbind())
        })
    }

    /// `None`, or whether it is a directory, and whether it is executable.
    fn look(&self, py: Python<'_>, path: &str) -> PyResult<Call> {
        let path = guest_path(py, path)?;
        let workspace = self.workspace.clone();
        Ok(Call::fallible(async move { workspace.look(&path).await }, |py, found| {
            let found = found.map(|(kind, executable)| (kind == EntryKind::Directory, executable));
            Ok(found.into_pyobject(py)?.into_any().unbind())
        }))
    }

    /// `[(path, size, is_directory)]`.
    fn list(&self) -> Call {
        let workspace = self.workspace.clone();
        let work = async move {
            let failed = WorkspaceError::io("list", workspace.id());
            let mut files = workspace.files()?;
            let listing = files.list(MOST_ENTRIES).await;
            let _ = files.close().await;
            listing.map_err(failed)
        };
        Call::fallible(work, |py, listing| {
            let mut entries: Vec<_> = listing
                .entries
                .into_iter()
                .map(|entry| {
                    let is_directory =
                        matches!(entry.kind, EntryKind::Directory | EntryKind::ClosedDirectory);
                    (entry.path.to_string_lossy().into_owned(), entry.size, is_directory)
                })
                .collect();
            entries.sort();
            Ok(entries.into_pyobject(py)?.into_any().unbind())
        })
    }

    /// Removes a file.
    fn remove_file(&self, py: Python<'_>, path: &str) -> PyResult<Call> {
        let path = guest_path(py, path)?;
        let workspace = self.workspace.clone();
        let work = async move {
            let failed = WorkspaceError::io("remove", path.as_str());
            let mut files = workspace.files()?;
            let removed = files.remove(&path).await;
            let _ = files.close().await;
            removed.map_err(failed)
        };
        Ok(Call::fallible(work, |py, ()| Ok(py.None())))
    }

    /// Runs a program to its end.
    #[pyo3(signature = (json, stdin=None))]
    fn run(&self, json: &str, stdin: Option<Vec<u8>>) -> PyResult<Call> {
        let mut spec: RunProgramSpec = spec(json)?;
        spec.stdin = stdin.unwrap_or_default();
        let workspace = self.workspace.clone();
        Ok(Call::fallible(async move { workspace.run(spec).await }, run_result))
    }

    /// Starts a program that is talked to.
    #[pyo3(signature = (json, stdin=None))]
    fn start(&self, json: &str, stdin: Option<Vec<u8>>) -> PyResult<Call> {
        let mut spec: InteractiveProgramSpec = spec(json)?;
        spec.program.stdin = stdin.unwrap_or_default();
        let workspace = self.workspace.clone();
        Ok(Call::fallible(async move { workspace.start(spec).await }, |py, session| {
            Ok(Py::new(py, Program::new(Arc::from(session)))?.into_any())
        }))
    }

    /// `[(name, media type, size, truncated, bytes)]`: the files that match.
    fn collect(&self, patterns: Vec<String>) -> Call {
        let workspace = self.workspace.clone();
        Call::fallible(async move { workspace.collect(&patterns).await }, |py, files| {
            let files: Vec<_> = files
                .into_iter()
                .map(|file| {
                    let content = PyBytes::new(py, &file.content);
                    (file.name, file.mime_type, file.size_bytes, file.truncated, content)
                })
                .collect();
            Ok(files.into_pyobject(py)?.into_any().unbind())
        })
    }

    /// A second one of the same content.
    fn fork(&self, id: String) -> Call {
        let workspace = self.workspace.clone();
        Call::fallible(async move { workspace.fork(&id).await }, opened)
    }

    /// What is different in another one, as JSON.
    fn diff(&self, other: &Bound<'_, Self>) -> Call {
        let (one, other) = (self.workspace.clone(), other.get().workspace.clone());
        Call::fallible(async move { one.diff(&other).await }, |py, found| output::json(py, &found))
    }

    /// Removes it.
    fn remove(&self) -> Call {
        let workspace = self.workspace.clone();
        Call::fallible(async move { workspace.remove().await }, |py, ()| Ok(py.None()))
    }
}
