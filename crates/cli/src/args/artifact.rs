//! `belljar artifact`.

use std::path::PathBuf;

use belljar::artifacts::SessionInfo;
use clap::{Args, Subcommand};

use crate::env;

/// `belljar artifact`.
#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactCommand {
    /// Keep a file as a new version
    Save(SaveArgs),
    /// Copy a version to a file
    Load(LoadArgs),
    /// List the names that a session sees
    Ls(ListArtifactsArgs),
    /// List the versions of a name
    Versions(VersionsArgs),
    /// Remove every version of a name
    Rm(RemoveArtifactArgs),
}

/// Where artifacts are kept, and whose they are.
#[derive(Debug, Args)]
pub(crate) struct ArtifactStoreArgs {
    /// Where artifacts are kept: a directory, or `s3://BUCKET/PREFIX` [default: belljar/artifacts
    /// in XDG_DATA_HOME, or in ~/.local/share]
    #[arg(long, value_name = "DIR|URL", env = env::ARTIFACTS, hide_env_values = true)]
    pub(crate) store: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Whose artifacts are meant.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// Whose artifacts are meant. A name that starts with `user:` belongs to all sessions of a user
    #[arg(long, value_name = "APP/USER/SESSION", default_value = "belljar/cli/default", value_parser = session)]
    pub(crate) session: SessionInfo,
}

/// `belljar artifact save`.
#[derive(Debug, Args)]
pub(crate) struct SaveArgs {
    /// The file; `-` is stdin
    pub(crate) file: PathBuf,
    /// What to call it [default: the name of the file]
    pub(crate) name: Option<String>,
    /// Its type [default: what its name and its first bytes say]
    #[arg(long, value_name = "TYPE")]
    pub(crate) mime_type: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: ArtifactStoreArgs,
}

/// `belljar artifact load`.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// `NAME` for the latest version, or `NAME@VERSION`
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    /// The file to write, or a directory that is there; `-` is stdout [default: the last part of
    /// the name, in the current directory]
    #[arg(value_name = "DEST")]
    pub(crate) to: Option<PathBuf>,
    /// Replace a file that is there already
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) store: ArtifactStoreArgs,
}

/// `belljar artifact ls`.
#[derive(Debug, Args)]
pub(crate) struct ListArtifactsArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: ArtifactStoreArgs,
}

/// `belljar artifact versions`.
#[derive(Debug, Args)]
pub(crate) struct VersionsArgs {
    /// The name
    pub(crate) name: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: ArtifactStoreArgs,
}

/// `belljar artifact rm`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArtifactArgs {
    /// The name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: ArtifactStoreArgs,
}

fn session(text: &str) -> Result<SessionInfo, String> {
    match text.split('/').collect::<Vec<_>>()[..] {
        [app, user, session] if [app, user, session].iter().all(|part| !part.is_empty()) => {
            Ok(SessionInfo::new(app, user, session))
        }
        _ => Err("must be three names with slashes between them, such as reports/ada/2026-10".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_three_names() {
        assert_eq!(session("a/b/c"), Ok(SessionInfo::new("a", "b", "c")));
        for text in ["", "a", "a/b", "a//c", "a/b/c/d", "/b/c"] {
            assert!(session(text).is_err(), "{text}");
        }
    }
}
