//! What a script is given besides its arguments: files, and what it reads from stdin.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A file for one script. In JSON: `{"path": "a.csv", "text": "…"}`, or with `base64` instead.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputFile {
    /// Where it will be, relative to the script's directory.
    pub path: String,
    /// What is in it.
    pub content: FileContent,
    /// Whether the script may run it. For files of this machine: as they are.
    pub is_executable: bool,
}

impl InputFile {
    /// A file that will be at that path.
    pub fn new(path: impl Into<String>, content: impl Into<FileContent>) -> Self {
        Self { path: path.into(), content: content.into(), is_executable: false }
    }
}

/// What is in a file.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileContent {
    /// These bytes.
    Bytes(Bytes),
    /// The same as in a file or directory of this machine. It is read when the script is about to
    /// start. JSON cannot name one: who sends a request does not choose files of this machine.
    Host(PathBuf),
}

impl fmt::Debug for FileContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Host(path) => write!(f, "{}", path.display()),
        }
    }
}

impl From<&Path> for FileContent {
    fn from(path: &Path) -> Self {
        Self::Host(path.to_owned())
    }
}

impl From<PathBuf> for FileContent {
    fn from(path: PathBuf) -> Self {
        Self::Host(path)
    }
}

/// What a script reads from descriptor 0.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub enum Stdin {
    /// It is at its end from the start.
    #[default]
    Empty,
    /// These bytes.
    Bytes(Bytes),
    /// What comes, when it comes. It is read only as fast as the script reads.
    Stream(StdinStream),
}

impl Stdin {
    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Stream(_) => false,
        }
    }

    /// What a function gives when it is polled, until it gives `None`. An error ends the script's
    /// input. The runtime makes this from streams and readers.
    pub fn from_poll(
        poll: impl FnMut(&mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> + Send + 'static,
    ) -> Self {
        Self::Stream(StdinStream(Arc::new(Mutex::new(Some(Box::new(poll))))))
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("empty"),
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Stream(_) => f.write_str("a stream"),
        }
    }
}

type Source = Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> + Send>;

/// Bytes to come. A clone is the same stream: what one run reads of it, another does not.
#[derive(Clone)]
pub struct StdinStream(Arc<Mutex<Option<Source>>>);

impl StdinStream {
    /// The next bytes. `None` at the end.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(poll) = &mut *source else { return Poll::Ready(None) };
        let item = ready!(poll(cx));
        if item.is_none() {
            *source = None;
        }
        Poll::Ready(item)
    }
}

impl PartialEq for StdinStream {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

macro_rules! from_bytes {
    ($($kind:ty),*) => {$(
        impl From<$kind> for FileContent {
            fn from(bytes: $kind) -> Self {
                Self::Bytes(bytes.into())
            }
        }

        impl From<$kind> for Stdin {
            fn from(bytes: $kind) -> Self {
                Self::Bytes(bytes.into())
            }
        }
    )*};
}

from_bytes!(&'static str, String, &'static [u8], Vec<u8>, Bytes);

/// Bytes in JSON: as text if they are text, otherwise in base64.
#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Written {
    Text(String),
    Base64 { base64: String },
}

impl Written {
    fn of(bytes: &Bytes) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64 { base64: BASE64_STANDARD.encode(bytes) },
        }
    }

    fn read(self) -> Result<Bytes, String> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Base64 { base64 } => decoded(&base64),
        }
    }
}

fn decoded(base64: &str) -> Result<Bytes, String> {
    BASE64_STANDARD.decode(base64).map(Bytes::from).map_err(|error| format!("this is no base64: {error}"))
}

impl Serialize for Stdin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Empty => Written::Text(String::new()).serialize(serializer),
            Self::Bytes(bytes) => Written::of(bytes).serialize(serializer),
            Self::Stream(_) => Err(S::Error::custom("a stream cannot be written as JSON")),
        }
    }
}

impl<'de> Deserialize<'de> for Stdin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Written::deserialize(deserializer)?.read().map_err(D::Error::custom)?;
        Ok(if bytes.is_empty() { Self::Empty } else { Self::Bytes(bytes) })
    }
}

/// A file in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_executable: bool,
}

impl Serialize for InputFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FileContent::Bytes(bytes) = &self.content else {
            return Err(S::Error::custom("a file of this machine cannot be written as JSON"));
        };
        let (text, base64) = match Written::of(bytes) {
            Written::Text(text) => (Some(text), None),
            Written::Base64 { base64 } => (None, Some(base64)),
        };
        let (path, is_executable) = (self.path.clone(), self.is_executable);
        WrittenFile { path, text, base64, is_executable }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for InputFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenFile { path, text, base64, is_executable } = WrittenFile::deserialize(deserializer)?;
        let bytes = match (text, base64) {
            (Some(text), None) => Bytes::from(text),
            (None, Some(base64)) => decoded(&base64).map_err(D::Error::custom)?,
            _ => return Err(D::Error::custom(format!("file {path:?} must have either `text` or `base64`"))),
        };
        Ok(Self { path, content: FileContent::Bytes(bytes), is_executable })
    }
}
