//! The vocabulary: whose an artifact is, what it holds, and what is known about a version of it.

use std::time::SystemTime;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The MIME type of an artifact that was saved without one.
pub const DEFAULT_MIME_TYPE: &str = "application/octet-stream";

/// Whose artifacts are meant. Each part may be any string, also an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionInfo {
    /// The program that keeps artifacts.
    pub app: String,
    /// The user it works for.
    pub user: String,
    /// One conversation, or one task, of that user.
    pub session: String,
}

impl SessionInfo {
    /// A session of a user of an app.
    pub fn new(app: impl Into<String>, user: impl Into<String>, session: impl Into<String>) -> Self {
        Self { app: app.into(), user: user.into(), session: session.into() }
    }
}

/// What is saved under a name. In JSON its bytes are base64.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Artifact {
    /// Its bytes.
    #[serde(with = "base64_bytes")]
    pub data: Bytes,
    /// Its type. An empty one is saved as [`DEFAULT_MIME_TYPE`].
    pub mime_type: String,
    /// Where else it can be found, if its owner says so. It is kept, and never fetched.
    pub url: String,
    /// What to call it when it is shown. It is kept beside the name that it is saved under.
    pub name: String,
}

impl Artifact {
    /// Bytes of a type.
    pub fn new(data: impl Into<Bytes>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }
}

/// What is known about one version of an artifact, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactInfo {
    /// The name it was saved under.
    pub name: String,
    /// Versions count from 0.
    pub version: u64,
    /// Its type.
    pub mime_type: String,
    /// How many bytes it has.
    pub size_bytes: u64,
    /// The SHA-256 of its bytes, in lower-case hexadecimal.
    pub sha256: String,
    /// When it was saved, by the clock of who saved it. In JSON: `2026-10-19T08:30:00.000Z`.
    #[serde(with = "timestamp")]
    pub created_at: SystemTime,
}

/// Bytes as base64.
mod base64_bytes {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        let decoded = BASE64_STANDARD.decode(text);
        decoded.map(Bytes::from).map_err(|error| D::Error::custom(format!("this is no base64: {error}")))
    }
}

/// A moment as RFC 3339 in UTC, to the millisecond.
pub(crate) mod timestamp {
    use std::time::SystemTime;

    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_rfc3339_millis(*time))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text).map_err(|error| D::Error::custom(format!("{text:?}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn what_is_known_of_an_artifact_survives_json() {
        let info = ArtifactInfo {
            name: "a/b.txt".into(),
            version: 3,
            mime_type: "text/plain".into(),
            size_bytes: 5,
            sha256: "ab".repeat(32),
            created_at: UNIX_EPOCH + Duration::from_millis(1_792_398_600_123),
        };
        let text = serde_json::to_string(&info).unwrap();
        assert!(text.contains(r#""size_bytes":5"#) && text.contains(r#""created_at":"2026-10-1"#), "{text}");
        assert_eq!(serde_json::from_str::<ArtifactInfo>(&text).unwrap(), info);
    }

    #[test]
    fn bytes_that_are_no_text_survive_json() {
        let artifact = Artifact { url: "https://x".into(), ..Artifact::new(vec![0, 255, 10], "image/png") };
        let text = serde_json::to_string(&artifact).unwrap();
        assert_eq!(text, r#"{"data":"AP8K","mime_type":"image/png","url":"https://x","name":""}"#);
        assert_eq!(serde_json::from_str::<Artifact>(&text).unwrap(), artifact);
        assert!(serde_json::from_str::<Artifact>(r#"{"data":"?"}"#).is_err());
    }

    #[test]
    fn parts_of_a_session_that_are_not_named_are_empty() {
        let session: SessionInfo = serde_json::from_str(r#"{"app":"x"}"#).unwrap();
        assert_eq!(session, SessionInfo::new("x", "", ""));
        assert_eq!(SessionInfo::default(), SessionInfo::new("", "", ""));
    }
}
