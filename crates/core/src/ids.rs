//! Ids with types of their own, so that they are not mixed up with other strings.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Names one execution. The caller may choose the id. Otherwise the host makes one up.
///
/// It is a label, not a proof. The seal binds a guest's frames to its execution (see
/// [`wire`](crate::wire)). The caller never sees the seal.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutionId(String);

impl ExecutionId {
    /// Takes any string as an id.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as the caller wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names one cell within the process that made it. A number is never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellId(u64);

impl CellId {
    /// The `n`-th cell of this process.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cell-{}", self.0)
    }
}

impl fmt::Debug for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Names a kept workspace, and the directory it is in: letters, digits, `-` and `_`, at most 64.
///
/// ```
/// use belljar_core::WorkspaceName;
///
/// assert_eq!(WorkspaceName::new("job-17").unwrap().as_str(), "job-17");
/// assert!(WorkspaceName::new("../job").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkspaceName(String);

/// A string that is no name of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no name of a workspace: use 1 to 64 letters, digits, `-` and `_`")]
pub struct WorkspaceNameError {
    /// The string.
    pub name: String,
}

impl WorkspaceName {
    /// How many bytes a name may have.
    pub const LONGEST: usize = 64;

    /// Checks a name.
    pub fn new(name: impl Into<String>) -> Result<Self, WorkspaceNameError> {
        let name = name.into();
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match (1..=Self::LONGEST).contains(&name.len()) && name.bytes().all(is_good) {
            true => Ok(Self(name)),
            false => Err(WorkspaceNameError { name }),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for WorkspaceName {
    type Error = WorkspaceNameError;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::new(name)
    }
}

impl std::str::FromStr for WorkspaceName {
    type Err = WorkspaceNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

impl From<WorkspaceName> for String {
    fn from(name: WorkspaceName) -> Self {
        name.0
    }
}

impl fmt::Display for WorkspaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for WorkspaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
