//! The record that a workspace keeps of itself, in [`METADATA`](crate::layout::METADATA).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{InputRecord, OutputRecord};
use crate::Timestamp;

/// What was staged and collected, and when.
///
/// Keys of other programs, or of later versions, are kept as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceMetadata {
    /// The version of this format: [`WorkspaceMetadata::VERSION`], or 0 in a record that says none.
    #[serde(default)]
    pub version: u32,
    /// When the workspace was made.
    #[serde(default)]
    pub created_at: Timestamp,
    /// When this record was last written.
    #[serde(default)]
    pub updated_at: Timestamp,
    /// When the workspace was last used.
    #[serde(default)]
    pub last_access: Timestamp,
    /// Skills that were staged, by name.
    #[serde(default, deserialize_with = "or_null")]
    pub skills: BTreeMap<String, SkillMeta>,
    /// Inputs that were staged, the latest last.
    #[serde(default, deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputRecord>,
    /// Outputs that were collected, the latest last.
    #[serde(default, deserialize_with = "or_null", skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputRecord>,
    /// Everything else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl WorkspaceMetadata {
    /// The version of this format.
    pub const VERSION: u32 = 1;

    /// The record of a workspace that was made at that moment.
    pub fn new(now: Timestamp) -> Self {
        Self {
            version: Self::VERSION,
            created_at: now,
            updated_at: now,
            last_access: now,
            skills: BTreeMap::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            other: Map::new(),
        }
    }
}

/// A skill that was staged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillMeta {
    /// Its name.
    pub name: String,
    /// Where it is, below the workspace.
    pub rel_path: String,
    /// The digest of its tree.
    pub digest: String,
    /// Whether it is mounted, not copied.
    pub mounted: bool,
    /// When.
    pub staged_at: Timestamp,
}

/// Reads `null` as nothing: other programs write that for an empty list or map.
pub(super) fn or_null<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_object_is_a_record_of_version_zero() {
        let record: WorkspaceMetadata = serde_json::from_str("{}").unwrap();
        assert_eq!((record.version, record.created_at.is_set(), record.skills.len()), (0, false, 0));
    }

    #[test]
    fn keys_of_others_are_kept() {
        let json = r#"{"version":1,"skills":null,"prepared":{"k":{"generation":3}}}"#;
        let record: WorkspaceMetadata = serde_json::from_str(json).unwrap();
        let written = serde_json::to_value(&record).unwrap();
        assert_eq!(written["prepared"]["k"]["generation"], 3);
        assert_eq!(written["skills"], serde_json::json!({}));
        assert_eq!(written.get("inputs"), None);
    }
}
