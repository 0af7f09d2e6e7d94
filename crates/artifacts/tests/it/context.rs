//! The helpers that take a context, with our store and with services of others.

use std::sync::Arc;

use belljar_artifacts::{
    Artifact, ArtifactContext, ArtifactError, ArtifactInfo, ArtifactService, ArtifactStore, BoxFuture,
    ByteStream, LoadedArtifact, OpenArtifact, SessionInfo, load_artifact, save_artifact,
};

fn context(service: impl ArtifactService) -> ArtifactContext {
    ArtifactContext { service: Some(Arc::new(service)), session: SessionInfo::default() }
}

#[tokio::test]
async fn what_is_saved_twice_is_loaded_by_version() {
    let context = context(ArtifactStore::in_memory());
    assert_eq!(save_artifact(&context, "a.txt", "first", "text/plain").await.unwrap(), 0);
    assert_eq!(save_artifact(&context, "a.txt", "second", "text/plain").await.unwrap(), 1);
    for (version, data, actual) in [(None, "second", 1), (Some(0), "first", 0), (Some(1), "second", 1)] {
        let loaded = load_artifact(&context, "a.txt", version).await.unwrap();
        assert_eq!(loaded, (data.into(), "text/plain".to_owned(), actual));
    }
}

#[tokio::test]
async fn without_a_type_it_is_a_row_of_bytes() {
    let context = context(ArtifactStore::in_memory());
    save_artifact(&context, "a", "x", "").await.unwrap();
    assert_eq!(load_artifact(&context, "a", None).await.unwrap().1, "application/octet-stream");
}

#[tokio::test]
async fn without_a_service_nothing_is_saved_or_loaded() {
    let context = ArtifactContext::default();
    let saved = save_artifact(&context, "a", "x", "").await.unwrap_err().to_string();
    let loaded = load_artifact(&context, "a", None).await.unwrap_err().to_string();
    assert_eq!([saved, loaded], ["artifact service not in context"; 2]);
}

#[tokio::test]
async fn what_is_unknown_is_not_found() {
    let context = context(ArtifactStore::in_memory());
    let error = load_artifact(&context, "no such/thing", None).await.unwrap_err();
    assert_eq!(error.to_string(), "artifact not found: no such/thing");
    assert!(matches!(error, ArtifactError::NotFound { .. }));
}

#[tokio::test]
async fn a_latest_version_that_cannot_be_listed_is_given_as_zero() {
    let silent = context(Somebody { versions: None });
    let loaded = load_artifact(&silent, "a", None).await.unwrap();
    assert_eq!(loaded, ("x".into(), "application/octet-stream".to_owned(), 0));
    let listing = context(Somebody { versions: Some(vec![2, 7, 5]) });
    assert_eq!(load_artifact(&listing, "a", None).await.unwrap().2, 7);
    assert_eq!(load_artifact(&listing, "a", Some(5)).await.unwrap().2, 5);
}

/// A service that always has an artifact without a type, and does not say its version.
struct Somebody {
    versions: Option<Vec<u64>>,
}

impl ArtifactService for Somebody {
    fn load<'a>(
        &'a self,
        _: &'a SessionInfo,
        _: &'a str,
        _: Option<u64>,
    ) -> BoxFuture<'a, Result<Option<LoadedArtifact>, ArtifactError>> {
        let artifact = Artifact::new("x", "");
        Box::pin(async move { Ok(Some(LoadedArtifact { artifact, version: None })) })
    }

    fn versions<'a>(
        &'a self,
        _: &'a SessionInfo,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Vec<u64>, ArtifactError>> {
        Box::pin(async move { self.versions.clone().ok_or(ArtifactError::NotFound { name: name.into() }) })
    }

    fn save<'a>(
        &'a self,
        _: &'a SessionInfo,
        _: &'a str,
        _: Artifact,
    ) -> BoxFuture<'a, Result<u64, ArtifactError>> {
        unreachable!("nothing is saved here")
    }

    fn save_stream<'a>(
        &'a self,
        _: &'a SessionInfo,
        _: &'a str,
        _: &'a str,
        _: ByteStream<'a>,
    ) -> BoxFuture<'a, Result<ArtifactInfo, ArtifactError>> {
        unreachable!("nothing is saved here")
    }

    fn open<'a>(
        &'a self,
        _: &'a SessionInfo,
        _: &'a str,
        _: Option<u64>,
    ) -> BoxFuture<'a, Result<Option<OpenArtifact>, ArtifactError>> {
        unreachable!("nothing is opened here")
    }

    fn list_keys<'a>(&'a self, _: &'a SessionInfo) -> BoxFuture<'a, Result<Vec<String>, ArtifactError>> {
        unreachable!("nothing is listed here")
    }

    fn delete<'a>(&'a self, _: &'a SessionInfo, _: &'a str) -> BoxFuture<'a, Result<(), ArtifactError>> {
        unreachable!("nothing is deleted here")
    }
}
