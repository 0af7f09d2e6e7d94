//! One usable interpreter, as it described itself.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Major, minor, micro.
pub type Version = (u8, u8, u8);

/// The oldest version of Python that the guest harness supports.
pub const OLDEST: (u8, u8) = (3, 9);

/// A CPython on this machine. Every path is real: no component of it is a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Interpreter {
    /// The program to run. For a virtual environment it is the base interpreter.
    pub executable: PathBuf,
    /// Its version.
    pub version: Version,
    /// `sys.base_prefix`: the tree to bind into a guest root.
    pub prefix: PathBuf,
    /// `sys.base_exec_prefix`. It is the same as `prefix` nearly everywhere.
    pub exec_prefix: PathBuf,
    /// Where `os.py` is.
    pub stdlib: PathBuf,
    /// Where `lib-dynload` is.
    pub platstdlib: PathBuf,
    /// The `libpython` that the running interpreter had loaded, if it is not linked in.
    pub shared_library: Option<PathBuf>,
    /// The ABI tag, architecture and C library family: `cpython-311-x86_64-linux-gnu`.
    pub abi: String,
    /// The C library and its version (`glibc 2.36`). Empty if it is unknown.
    pub libc: String,
}

impl Interpreter {
    /// The version as people write it.
    pub fn dotted(&self) -> String {
        dotted(self.version)
    }
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Python {} at {}", self.dotted(), self.executable.display())
    }
}

pub(super) fn dotted((major, minor, micro): Version) -> String {
    format!("{major}.{minor}.{micro}")
}
