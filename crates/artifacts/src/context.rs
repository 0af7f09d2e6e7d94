//! A service and a session, handed to whoever may save and load in it.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Artifact, ArtifactError, ArtifactService, DEFAULT_MIME_TYPE, SessionInfo};

/// Where artifacts are kept during some work, and whose they are.
#[derive(Clone, Default)]
pub struct ArtifactContext {
    /// Who keeps them. Without anybody, saving and loading fail.
    pub service: Option<Arc<dyn ArtifactService>>,
    /// Whose they are.
    pub session: SessionInfo,
}

impl fmt::Debug for ArtifactContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ArtifactContext");
        shown.field("service", &self.service.is_some()).field("session", &self.session).finish()
    }
}

impl ArtifactContext {
    fn service(&self) -> Result<&dyn ArtifactService, ArtifactError> {
        self.service.as_deref().ok_or(ArtifactError::NoService)
    }
}

/// Saves bytes under a name. Returns the version they became.
pub async fn save_artifact(
    context: &ArtifactContext,
    name: &str,
    data: impl Into<Bytes>,
    mime_type: &str,
) -> Result<u64, ArtifactError> {
    let artifact = Artifact { name: name.to_owned(), ..Artifact::new(data, typed(mime_type)) };
    context.service()?.save(&context.session, name, artifact).await
}

/// Loads a version, or the latest: bytes, type, and which version they are.
///
/// A service that does not say which version the latest is gets asked for all of them. If that
/// fails, the version is given as 0: the bytes are worth more than their number.
pub async fn load_artifact(
    context: &ArtifactContext,
    name: &str,
    version: Option<u64>,
) -> Result<(Bytes, String, u64), ArtifactError> {
    let service = context.service()?;
    let Some(loaded) = service.load(&context.session, name, version).await? else {
        return Err(ArtifactError::NotFound { name: name.to_owned() });
    };
    let actual = match version.or(loaded.version) {
        Some(version) => version,
        None => match service.versions(&context.session, name).await {
            Ok(versions) => versions.into_iter().max().unwrap_or(0),
            Err(error) => {
                tracing::debug!(name, %error, "the version of an artifact is unknown");
                0
            }
        },
    };
    Ok((loaded.artifact.data, typed(&loaded.artifact.mime_type), actual))
}

/// The type, or the default for none.
pub(crate) fn typed(mime_type: &str) -> String {
    if mime_type.is_empty() { DEFAULT_MIME_TYPE.to_owned() } else { mime_type.to_owned() }
}
