//! Files that are put into a workspace and collected from it.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bytes;
use crate::layout;

/// A file to write into a workspace.
#[derive(Clone, PartialEq, Eq)]
pub struct PutFile {
    /// Where, below the root of the workspace.
    pub path: String,
    /// What is in it.
    pub content: Vec<u8>,
    /// Its mode, such as `0o644`. 0 is [`layout::SCRIPT_MODE`].
    pub mode: u32,
}

impl PutFile {
    /// A file with the usual mode.
    pub fn new(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into(), mode: 0 }
    }

    /// Its mode, also where none was given.
    pub fn effective_mode(&self) -> u32 {
        if self.mode == 0 { layout::SCRIPT_MODE } else { self.mode }
    }
}

impl fmt::Debug for PutFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PutFile({}, {} bytes, {:o})", self.path, self.content.len(), self.mode)
    }
}

/// A file that was collected.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct File {
    /// Its path below the root of the workspace.
    pub name: String,
    /// What is in it, up to a limit.
    pub content: Vec<u8>,
    /// Its media type.
    pub mime_type: String,
    /// How long it is, also where `content` is shorter.
    pub size_bytes: u64,
    /// Whether `content` is shorter than the file.
    pub truncated: bool,
}

impl File {
    /// Its content as text. What is not UTF-8 becomes replacement characters.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.content)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = if self.truncated { ", truncated" } else { "" };
        write!(f, "File({}, {}, {} bytes{cut})", self.name, self.mime_type, self.size_bytes)
    }
}

/// A file of an [`OutputManifest`](super::OutputManifest).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FileRef {
    /// Its path below the root of the workspace.
    pub name: String,
    /// Its media type.
    pub mime_type: String,
    /// What is in it, if that was asked for.
    pub content: Vec<u8>,
    /// The name of the artifact that it was saved as. Empty if it was not.
    pub saved_as: String,
    /// The version of that artifact.
    pub version: u64,
    /// How long it is, also where `content` is shorter.
    pub size_bytes: u64,
    /// Whether `content` is shorter than the file.
    pub truncated: bool,
}

impl FileRef {
    /// Its content as text. What is not UTF-8 becomes replacement characters.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.content)
    }
}

impl fmt::Debug for FileRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, mime_type, size_bytes, saved_as, version, .. } = self;
        write!(f, "FileRef({name}, {mime_type}, {size_bytes} bytes, {saved_as}@{version})")
    }
}

/// Both kinds of file in JSON. A file has no artifact.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(alias = "Name")]
    name: String,
    #[serde(default, alias = "Content", skip_serializing_if = "String::is_empty")]
    content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_base64: Option<String>,
    #[serde(default, alias = "MIMEType")]
    mime_type: String,
    #[serde(default, alias = "SavedAs", skip_serializing_if = "String::is_empty")]
    saved_as: String,
    #[serde(default, alias = "Version", skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    #[serde(default, alias = "SizeBytes", skip_serializing_if = "super::is_default")]
    size_bytes: u64,
    #[serde(default, alias = "Truncated", skip_serializing_if = "super::is_default")]
    truncated: bool,
}

impl Serialize for File {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (content, content_base64) = bytes::to_json(&self.content);
        let Self { name, content: _, mime_type, size_bytes, truncated } = self.clone();
        let (saved_as, version) = (String::new(), None);
        Written { name, content, content_base64, mime_type, saved_as, version, size_bytes, truncated }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { name, content, content_base64, mime_type, size_bytes, truncated, .. } =
            Written::deserialize(deserializer)?;
        let content = bytes::from_json(content, content_base64)?;
        Ok(Self { name, content, mime_type, size_bytes, truncated })
    }
}

impl Serialize for FileRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (content, content_base64) = bytes::to_json(&self.content);
        let Self { name, mime_type, content: _, saved_as, version, size_bytes, truncated } = self.clone();
        let version = (!saved_as.is_empty()).then_some(version);
        Written { name, content, content_base64, mime_type, saved_as, version, size_bytes, truncated }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FileRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { name, content, content_base64, mime_type, saved_as, version, size_bytes, truncated } =
            Written::deserialize(deserializer)?;
        let content = bytes::from_json(content, content_base64)?;
        let version = version.unwrap_or_default();
        Ok(Self { name, mime_type, content, saved_as, version, size_bytes, truncated })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_11_a_file_without_content_has_no_such_key() {
        let mime_type = "image/png".to_owned();
        let file = File { name: "a.png".to_owned(), mime_type, size_bytes: 9, ..File::default() };
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(json, r#"{"name":"a.png","mime_type":"image/png","size_bytes":9}"#);
    }

    #[test]
    fn content_that_is_not_text_survives_json() {
        let file = File { name: "a".to_owned(), content: vec![0xff, b'x'], ..File::default() };
        let json = serde_json::to_value(&file).unwrap();
        assert_eq!((&json["content"], &json["content_base64"]), (&"\u{fffd}x".into(), &"/3g=".into()));
        assert_eq!(serde_json::from_value::<File>(json).unwrap(), file);
    }

    #[test]
    fn the_first_version_of_an_artifact_is_said() {
        let saved_as = "out/a".to_owned();
        let file = FileRef { name: "a".to_owned(), saved_as, ..FileRef::default() };
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(json, r#"{"name":"a","mime_type":"","saved_as":"out/a","version":0}"#);
        assert_eq!(serde_json::from_str::<FileRef>(&json).unwrap(), file);
        assert_eq!(serde_json::from_str::<FileRef>(r#"{"Name":"a","SavedAs":"out/a"}"#).unwrap(), file);
    }

    #[test]
    fn a_mode_of_zero_is_the_usual_one() {
        assert_eq!(PutFile::new("a", "b").effective_mode(), 0o644);
        assert_eq!(PutFile { mode: 0o755, ..PutFile::new("a", "b") }.effective_mode(), 0o755);
    }
}
