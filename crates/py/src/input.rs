//! What a run is given: JSON for what is plain, bytes and places of this machine beside it.

use std::io::Read;
use std::path::PathBuf;

use belljar::ExecutionRequest;
use belljar::files::{InputFile, Stdin, stdin_from_reader};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::gate::Gate;
use crate::process;

/// Reads a request: `json` has its plain fields, `extra` the rest.
pub(crate) fn request(json: &str, extra: Option<&Bound<'_, PyDict>>) -> PyResult<ExecutionRequest> {
    let mut request: ExecutionRequest =
        serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let Some(extra) = extra else { return Ok(request) };
    if let Some(files) = extra.get_item("files")? {
        for file in files.try_iter()? {
            let (path, content, is_executable): (String, Bound<'_, PyAny>, bool) = file?.extract()?;
            request.files.push(input_file(path, &content, is_executable)?);
        }
    }
    if let Some(stdin) = extra.get_item("stdin")? {
        request.stdin = match stdin.cast::<PyBytes>() {
            Ok(bytes) => bytes.as_bytes().to_vec().into(),
            Err(_) => reader(process::current(extra.py())?.gate().clone(), stdin.unbind()),
        };
    }
    if let Some(directory) = extra.get_item("collect_into")? {
        request.collect_into = Some(directory.extract::<PathBuf>()?);
    }
    if let Some(keep) = extra.get_item("keep_existing")? {
        request.keep_existing = keep.extract()?;
    }
    Ok(request)
}

/// Reads one option, if it is there.
pub(crate) fn option<'py, T>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py>,
    for<'a> <T as FromPyObject<'a, 'py>>::Error: Into<PyErr>,
{
    match options.get_item(name)? {
        Some(value) if !value.is_none() => Ok(Some(value.extract().map_err(Into::into)?)),
        _ => Ok(None),
    }
}

/// Bytes, or a path of this machine.
pub(crate) fn input_file(
    path: String,
    content: &Bound<'_, PyAny>,
    is_executable: bool,
) -> PyResult<InputFile> {
    let mut file = match content.cast::<PyBytes>() {
        Ok(bytes) => InputFile::new(path, bytes.as_bytes().to_vec()),
        Err(_) => InputFile::new(path, content.extract::<PathBuf>()?),
    };
    file.is_executable = is_executable;
    Ok(file)
}

/// A Python object with `read(n)`, read as fast as the script reads.
fn reader(gate: Gate, object: Py<PyAny>) -> Stdin {
    struct Reader(Gate, Py<PyAny>);
    impl Read for Reader {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let read = |py: Python<'_>| -> PyResult<usize> {
                let piece = self.1.bind(py).call_method1("read", (into.len(),))?;
                let piece: Vec<u8> = match piece.extract::<String>() {
                    Ok(text) => text.into_bytes(),
                    Err(_) => piece.extract()?,
                };
                if piece.len() > into.len() {
                    return Err(PyValueError::new_err("read(n) gave more than n bytes"));
                }
                into[..piece.len()].copy_from_slice(&piece);
                Ok(piece.len())
            };
            self.0.clone().enter(read).unwrap_or(Ok(0)).map_err(std::io::Error::other)
        }
    }
    stdin_from_reader(Reader(gate, object))
}
