//! What comes out: JSON for what is plain, bytes beside it.

use belljar::files::{Collected, CollectedFile};
use belljar::{Event, EventKind, ExecutionResult};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// `(json, files)`. A file is `(name, size, sha256, media_type, is_executable, bytes or path)`.
pub(crate) fn result(py: Python<'_>, mut result: ExecutionResult) -> PyResult<Py<PyAny>> {
    // Their bytes would be written in base64.
    let files = std::mem::take(&mut result.files);
    let json = serde_json::to_string(&result).expect("a result is plain data");
    let files = files.into_iter().map(|found| file(py, found)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(py, [json.into_pyobject(py)?.into_any(), PyList::new(py, files)?.into_any()])?.into())
}

fn file(py: Python<'_>, file: CollectedFile) -> PyResult<Py<PyAny>> {
    let content = match &file.content {
        Collected::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Collected::Path(path) => path.into_pyobject(py)?.into_any(),
        _ => py.None().into_bound(py),
    };
    let CollectedFile { name, size, sha256, media_type, is_executable, .. } = file;
    Ok((name, size, sha256, media_type, is_executable, content).into_pyobject(py)?.into_any().unbind())
}

/// `(json array of events, None or the result)`. The last event is the result alone.
pub(crate) fn events(py: Python<'_>, mut events: Vec<Event>) -> PyResult<Py<PyAny>> {
    let ended = match events.last() {
        Some(Event { kind: EventKind::Ended { .. }, .. }) => events.pop(),
        _ => None,
    };
    let json = serde_json::to_string(&events).expect("events are plain data");
    let ended = match ended {
        Some(Event { kind: EventKind::Ended { result: ended }, seq, .. }) => {
            (seq, result(py, ExecutionResult::clone(&ended))?).into_pyobject(py)?.into_any().unbind()
        }
        _ => py.None(),
    };
    Ok((json, ended).into_pyobject(py)?.into_any().unbind())
}

/// Anything that is plain, as JSON text.
pub(crate) fn json(py: Python<'_>, value: &impl serde::Serialize) -> PyResult<Py<PyAny>> {
    let text = serde_json::to_string(value).expect("it is plain data");
    Ok(text.into_pyobject(py)?.into_any().unbind())
}
