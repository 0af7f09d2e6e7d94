//! The small object that makes a version exist.

use std::time::SystemTime;

use bytes::Bytes;
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use crate::ArtifactInfo;

/// What a record is that says "everything before this is deleted". It is told by its length, which
/// a listing shows, so that listing names reads nothing.
pub(super) const DELETED: &[u8] = b"deleted\n";

/// One version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// The name, which its key may not tell.
    pub(super) name: String,
    /// The key of its bytes.
    pub(super) data: String,
    pub(super) size_bytes: u64,
    pub(super) sha256: String,
    pub(super) mime_type: String,
    #[serde(with = "crate::artifact::timestamp")]
    pub(super) created_at: SystemTime,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) url: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) shown_as: String,
}

impl Record {
    pub(super) fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self).expect("strings and numbers are always JSON").into()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("its record cannot be read ({error})"))
    }

    /// Where its bytes are.
    pub(super) fn data(&self) -> Result<Path, String> {
        Path::parse(&self.data).map_err(|error| format!("its record names no data ({error})"))
    }

    pub(super) fn info(&self, version: u64) -> ArtifactInfo {
        ArtifactInfo {
            name: self.name.clone(),
            version,
            mime_type: self.mime_type.clone(),
            size_bytes: self.size_bytes,
            sha256: self.sha256.clone(),
            created_at: self.created_at,
        }
    }
}
