//! Files that are part of a result.

use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A file that a script wrote and its caller wanted.
///
/// In JSON, `path` is where it was written on the caller's machine, or `base64` has its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectedFile {
    /// Its path below the script's directory. The script chose it. It leads nowhere else, but may
    /// have any characters.
    pub name: String,
    /// How long it is, in bytes.
    pub size: u64,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// Its media type, by its name: `image/png`.
    pub media_type: String,
    /// Whether its owner could run it.
    pub is_executable: bool,
    /// Its content.
    pub content: Collected,
}

/// Where the content of a collected file is.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Collected {
    /// Here.
    Bytes(Bytes),
    /// In a file of the caller's.
    Path(PathBuf),
}

impl fmt::Debug for Collected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

impl CollectedFile {
    /// A file of that name. Its media type follows from the name.
    pub fn new(name: impl Into<String>, size: u64, sha256: impl Into<String>, content: Collected) -> Self {
        let name = name.into();
        let media_type = media_type(&name).to_owned();
        Self { name, size, sha256: sha256.into(), media_type, is_executable: false, content }
    }

    /// Its bytes, unless they were written to a file.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.content {
            Collected::Bytes(bytes) => Some(bytes),
            Collected::Path(_) => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Written {
    name: String,
    size: u64,
    sha256: String,
    media_type: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_executable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl Serialize for CollectedFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (path, base64) = match &self.content {
            Collected::Bytes(bytes) => (None, Some(BASE64_STANDARD.encode(bytes))),
            Collected::Path(path) => (Some(path.clone()), None),
        };
        let Self { name, size, sha256, media_type, is_executable, content: _ } = self.clone();
        Written { name, size, sha256, media_type, is_executable, path, base64 }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CollectedFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { name, size, sha256, media_type, is_executable, path, base64 } =
            Written::deserialize(deserializer)?;
        let content = match (path, base64) {
            (Some(path), None) => Collected::Path(path),
            (None, Some(text)) => {
                Collected::Bytes(BASE64_STANDARD.decode(text).map_err(D::Error::custom)?.into())
            }
            _ => return Err(D::Error::custom("a file must have either `path` or `base64`")),
        };
        Ok(Self { name, size, sha256, media_type, is_executable, content })
    }
}

/// Media types by the last part of a name.
const MEDIA_TYPES: [(&str, &str); 36] = [
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("db", "application/vnd.sqlite3"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ipynb", "application/x-ipynb+json"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("parquet", "application/vnd.apache.parquet"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("py", "text/x-python"),
    ("sqlite", "application/vnd.sqlite3"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("toml", "application/toml"),
    ("tsv", "text/tab-separated-values"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// The media type of a file, by its name. `application/octet-stream` if the name says nothing.
pub fn media_type(name: &str) -> &'static str {
    let name = name.rsplit('/').next().unwrap_or(name);
    let Some((_, extension)) = name.rsplit_once('.') else { return UNKNOWN };
    let known = MEDIA_TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    known.map_or(UNKNOWN, |(_, media_type)| media_type)
}

const UNKNOWN: &str = "application/octet-stream";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_follows_from_the_name() {
        for (name, expected) in [
            ("out/a.PNG", "image/png"),
            ("a.csv", "text/csv"),
            ("csv", UNKNOWN),
            ("a.png/b", UNKNOWN),
            (".gz", "application/gzip"),
        ] {
            assert_eq!(media_type(name), expected, "{name}");
        }
    }
}
