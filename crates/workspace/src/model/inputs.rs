//! What is staged into a workspace.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// One input, and where it goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InputSpec {
    /// Where it comes from: `artifact://name[@version]`, `host://absolute/path`,
    /// `workspace://relative/path` or `skill://name/relative/path`.
    #[serde(alias = "From")]
    pub from: String,
    /// Where it goes, below the workspace. Empty is `work/inputs/` and the source's last name.
    #[serde(alias = "To", skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// `link` where a link is good enough, otherwise a copy is made.
    #[serde(alias = "Mode", skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// Whether an artifact without a version stays at the one that was staged first.
    #[serde(alias = "Pin", skip_serializing_if = "super::is_default")]
    pub pin: bool,
}

impl InputSpec {
    /// An input that is copied to the usual place.
    pub fn new(from: impl Into<String>) -> Self {
        Self { from: from.into(), ..Self::default() }
    }

    /// Whether a link is good enough.
    pub fn wants_link(&self) -> bool {
        self.mode.trim().eq_ignore_ascii_case("link")
    }
}

/// That an input was staged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputRecord {
    /// Where it came from, as it was given.
    pub from: String,
    /// Where it went, below the workspace.
    pub to: String,
    /// What the source turned out to be: a path, or the name of an artifact.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resolved: String,
    /// The version of an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// How it was staged: `link` or `copy`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// When.
    #[serde(rename = "ts", default)]
    pub timestamp: Timestamp,
}

/// A directory of the host's whose content is staged, and where it goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectorySpec {
    /// The directory on the host.
    pub source: PathBuf,
    /// Where its content goes, below the workspace. Files that are there already are replaced or
    /// stay.
    pub to: String,
    /// How.
    #[serde(default)]
    pub options: StageOptions,
}

/// How a directory is staged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageOptions {
    /// Whether programs may only read it.
    #[serde(alias = "ReadOnly")]
    pub read_only: bool,
    /// Whether a read-only mount may take the place of a copy.
    #[serde(alias = "AllowMount")]
    pub allow_mount: bool,
}
