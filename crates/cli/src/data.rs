//! Where the command keeps what should stay: workspaces and artifacts.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use belljar::artifacts::{ArtifactStore, StoreOptions};

use crate::args::EngineName;
use crate::env;
use crate::error::CliError;

/// The directory for the workspaces of an engine. Engines do not share one, because what their
/// programs write belongs to different users.
pub(crate) fn workspaces(store: Option<&PathBuf>, engine: EngineName) -> Result<PathBuf> {
    let all = match store {
        Some(store) => store.clone(),
        None => of_user("workspaces", env::WORKSPACES, "--store DIR")?,
    };
    Ok(all.join(engine.name()))
}

/// The directory for workspaces that are gone with their command. A user without a home has one in
/// the directory for temporary files.
pub(crate) fn passing_workspaces(engine: EngineName) -> PathBuf {
    let own = of_user("exec", env::XDG_DATA_HOME, "").unwrap_or_else(|_| {
        std::env::temp_dir().join(format!("belljar-exec-{}", rustix::process::geteuid().as_raw()))
    });
    own.join(engine.name())
}

/// The store for artifacts: a directory, or the URL of one.
pub(crate) fn artifacts(store: Option<&str>) -> Result<ArtifactStore, CliError> {
    Ok(match store {
        Some(url) if url.contains("://") => ArtifactStore::from_url(url, StoreOptions::default())?,
        Some(directory) => ArtifactStore::local(directory),
        None => ArtifactStore::local(of_user("artifacts", env::ARTIFACTS, "--store DIR")?),
    })
}

fn of_user(what: &str, variable: &str, option: &str) -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set(env::XDG_DATA_HOME).or_else(|| Some(set(env::HOME)?.join(".local/share")));
    let data = data.ok_or_else(|| {
        anyhow!("this user has no place for {what}: set {variable} or {}, or give {option}", env::HOME)
    })?;
    Ok(data.join("belljar").join(what))
}
