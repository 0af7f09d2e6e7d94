//! Named, versioned files.

use std::sync::Arc;

use belljar::artifacts::{Artifact, ArtifactService, ArtifactStore, SessionInfo, StoreOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::call::Call;
use crate::error::Raise as _;

/// Artifacts of one session.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Artifacts {
    store: Arc<ArtifactStore>,
    session: Arc<SessionInfo>,
}

#[pymethods]
impl Artifacts {
    /// Those in a directory, in a bucket (`s3://…`) or in memory (no place).
    #[new]
    fn new(
        py: Python<'_>,
        place: Option<String>,
        app: String,
        user: String,
        session: String,
    ) -> PyResult<Self> {
        let store = match place {
            None => ArtifactStore::in_memory(),
            Some(url) if url.contains("://") => {
                ArtifactStore::from_url(&url, StoreOptions::default()).map_err(|error| error.raise(py))?
            }
            Some(directory) => ArtifactStore::local(directory),
        };
        Ok(Self { store: Arc::new(store), session: Arc::new(SessionInfo::new(app, user, session)) })
    }

    /// Saves a new version, and gives its number.
    fn save(&self, name: String, data: Vec<u8>, mime_type: String) -> Call {
        let (store, session) = (Arc::clone(&self.store), Arc::clone(&self.session));
        let artifact = Artifact::new(data, mime_type);
        Call::fallible(async move { store.save(&session, &name, artifact).await }, |py, version| {
            Ok(version.into_pyobject(py)?.into_any().unbind())
        })
    }

    /// `None`, or `(bytes, mime type, version)`.
    fn load(&self, name: String, version: Option<u64>) -> Call {
        let (store, session) = (Arc::clone(&self.store), Arc::clone(&self.session));
        Call::fallible(async move { store.load(&session, &name, version).await }, |py, found| {
            let Some(found) = found else { return Ok(py.None()) };
            let data = PyBytes::new(py, &found.artifact.data);
            Ok((data, found.artifact.mime_type, found.version).into_pyobject(py)?.into_any().unbind())
        })
    }

    /// All names.
    fn names(&self) -> Call {
        let (store, session) = (Arc::clone(&self.store), Arc::clone(&self.session));
        Call::fallible(async move { store.list_keys(&session).await }, |py, names| {
            Ok(names.into_pyobject(py)?.into_any().unbind())
        })
    }

    /// The versions of one.
    fn versions(&self, name: String) -> Call {
        let (store, session) = (Arc::clone(&self.store), Arc::clone(&self.session));
        Call::fallible(async move { store.versions(&session, &name).await }, |py, versions| {
            Ok(versions.into_pyobject(py)?.into_any().unbind())
        })
    }

    /// Removes every version of one.
    fn delete(&self, name: String) -> Call {
        let (store, session) = (Arc::clone(&self.store), Arc::clone(&self.session));
        Call::fallible(async move { store.delete(&session, &name).await }, |py, ()| Ok(py.None()))
    }
}
