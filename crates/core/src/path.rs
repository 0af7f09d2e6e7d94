//! A path inside a workspace, checked once.
//!
//! Code that has a [`GuestPath`] may join it onto a directory. The *text* is sure to stay below
//! that directory and needs no second check. The text says nothing about symbolic links, so code
//! that opens the path still opens it beneath a descriptor.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest path, in bytes. One Linux system call takes no more.
const PATH_BYTES: usize = 4096;
/// The longest component, in bytes. Common Linux file systems take no more.
const COMPONENT_BYTES: usize = 255;

/// A relative path inside a workspace, such as `out/report.csv`.
///
/// It is always normal: no `.`, no `..`, no empty component, no slash at either end.
///
/// ```
/// use belljar_core::GuestPath;
///
/// assert_eq!(GuestPath::new("./out//report.csv").unwrap().as_str(), "out/report.csv");
/// assert!(GuestPath::new("../etc/passwd").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GuestPath(String);

/// Why a string is not a path inside a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuestPathError {
    /// Nothing is left without `.` and slashes. It is the workspace itself, not a path inside it.
    #[error("the path {path:?} names no file inside the workspace")]
    Empty {
        /// The path as given.
        path: String,
    },
    /// It starts with a slash.
    #[error("the path {path:?} is absolute: it must be relative to the workspace")]
    Absolute {
        /// The path as given.
        path: String,
    },
    /// It has a `..` component, even one that would stay inside.
    #[error("the path {path:?} has a `..` component: it must stay inside the workspace")]
    Parent {
        /// The path as given.
        path: String,
    },
    /// It has a NUL byte, which no system call takes.
    #[error("the path {path:?} has a NUL byte")]
    Nul {
        /// The path as given.
        path: String,
    },
    /// It is longer than the kernel takes.
    #[error("the path is {bytes} bytes long: at most {PATH_BYTES} are allowed")]
    TooLong {
        /// Its length in normal form.
        bytes: usize,
    },
    /// A component is longer than a file system takes.
    #[error("the path's component {component:?} is longer than {COMPONENT_BYTES} bytes")]
    ComponentTooLong {
        /// The component.
        component: String,
    },
}

impl GuestPath {
    /// Checks a path, and removes `.` components and repeated slashes.
    pub fn new(path: &str) -> Result<Self, GuestPathError> {
        if path.contains('\0') {
            return Err(GuestPathError::Nul { path: path.to_owned() });
        }
        if path.starts_with('/') {
            return Err(GuestPathError::Absolute { path: path.to_owned() });
        }
        let mut normal = String::new();
        for component in path.split('/').filter(|component| !matches!(*component, "" | ".")) {
            if component == ".." {
                return Err(GuestPathError::Parent { path: path.to_owned() });
            }
            if component.len() > COMPONENT_BYTES {
                return Err(GuestPathError::ComponentTooLong { component: component.to_owned() });
            }
            if !normal.is_empty() {
                normal.push('/');
            }
            normal.push_str(component);
        }
        match normal.len() {
            0 => Err(GuestPathError::Empty { path: path.to_owned() }),
            bytes if bytes > PATH_BYTES => Err(GuestPathError::TooLong { bytes }),
            _ => Ok(Self(normal)),
        }
    }

    /// A path below this one. `below` follows the same rules as any path, so `join` cannot climb
    /// out.
    pub fn join(&self, below: &str) -> Result<Self, GuestPathError> {
        let below = Self::new(below)?;
        Self::new(&format!("{self}/{below}"))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its components, outermost first. There is at least one, and none is empty.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for GuestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for GuestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl AsRef<Path> for GuestPath {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl FromStr for GuestPath {
    type Err = GuestPathError;

    fn from_str(path: &str) -> Result<Self, Self::Err> {
        Self::new(path)
    }
}

impl TryFrom<String> for GuestPath {
    type Error = GuestPathError;

    fn try_from(path: String) -> Result<Self, Self::Error> {
        Self::new(&path)
    }
}

impl From<GuestPath> for String {
    fn from(path: GuestPath) -> Self {
        path.0
    }
}

#[cfg(test)]
mod tests {
    use std::path::Component;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dots_and_repeated_slashes_are_taken_out() {
        for (given, normal) in [("a", "a"), ("./a//b/./c/", "a/b/c"), (".hidden", ".hidden"), ("...", "...")]
        {
            assert_eq!(GuestPath::new(given).unwrap().as_str(), normal);
        }
    }

    #[test]
    fn guest_path_refuses_parent_components() {
        for path in ["..", "../a", "a/..", "a/../b", "./.."] {
            assert_eq!(GuestPath::new(path), Err(GuestPathError::Parent { path: path.to_owned() }));
        }
    }

    #[test]
    fn guest_path_refuses_what_names_nothing_inside() {
        for path in ["", ".", "./", ".//."] {
            assert_eq!(GuestPath::new(path), Err(GuestPathError::Empty { path: path.to_owned() }));
        }
        for path in ["/", "/etc/passwd", "//a"] {
            assert_eq!(GuestPath::new(path), Err(GuestPathError::Absolute { path: path.to_owned() }));
        }
        assert_eq!(GuestPath::new("a\0b"), Err(GuestPathError::Nul { path: "a\0b".to_owned() }));
    }

    #[test]
    fn guest_path_refuses_what_the_kernel_would() {
        assert!(GuestPath::new(&"x".repeat(255)).is_ok());
        assert!(matches!(GuestPath::new(&"x".repeat(256)), Err(GuestPathError::ComponentTooLong { .. })));
        assert_eq!(GuestPath::new(&"ab/".repeat(1366)), Err(GuestPathError::TooLong { bytes: 4097 }));
        assert!(GuestPath::new(&"./".repeat(5000)).is_err_and(|e| matches!(e, GuestPathError::Empty { .. })));
    }

    #[test]
    fn join_obeys_the_same_rules() {
        let out = GuestPath::new("out").unwrap();
        assert_eq!(out.join("./a//b").unwrap().as_str(), "out/a/b");
        assert!(out.join("/etc").is_err());
        assert!(out.join("../in").is_err());
        assert!(out.join("").is_err());
        assert_eq!(out.join("a/b").unwrap().components().collect::<Vec<_>>(), ["out", "a", "b"]);
    }

    #[test]
    fn reading_a_guest_path_checks_it() {
        let path: GuestPath = serde_json::from_str(r#""./a/b""#).unwrap();
        assert_eq!(serde_json::to_string(&path).unwrap(), r#""a/b""#);
        let error = serde_json::from_str::<GuestPath>(r#""../b""#).unwrap_err();
        assert!(error.to_string().contains("`..` component"), "{error}");
    }

    /// Mostly the characters that make paths dangerous, sometimes anything.
    fn any_path() -> impl Strategy<Value = String> {
        prop_oneof!["[./a\\x00 \\\\~-]{0,16}", "(\\.|\\.\\.|/|a|b){0,8}", any::<String>()]
    }

    proptest! {
        #[test]
        fn a_guest_path_never_escapes(text in any_path(), below in any_path()) {
            for path in [GuestPath::new(&text), GuestPath::new("a").unwrap().join(&below)].into_iter().flatten() {
                let joined = Path::new("/root").join(&path);
                prop_assert!(joined.starts_with("/root") && joined != Path::new("/root"));
                prop_assert!(joined.components().skip(1).all(|part| matches!(part, Component::Normal(_))));
                prop_assert_eq!(joined.components().count(), 2 + path.components().count());
            }
        }

        #[test]
        fn a_normal_path_stays_as_it_is(text in any_path()) {
            if let Ok(path) = GuestPath::new(&text) {
                prop_assert_eq!(GuestPath::new(path.as_str()), Ok(path.clone()));
            }
        }
    }
}
