//! What is kept of a call of a tool of the host's.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// How many calls a result lists.
pub const MOST_TOOL_CALLS: usize = 10_000;

/// One call of a tool of the host's, once it was answered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ToolCallRecord {
    /// The number of the call in its execution's cell.
    pub call_id: u64,
    /// The name of the tool.
    pub tool: String,
    /// Whether the tool did what it was asked for.
    pub success: bool,
    /// Time from the call read to the answer there, in milliseconds.
    pub duration_ms: f64,
    /// Bytes of its arguments, as JSON.
    pub bytes_in: u64,
    /// Bytes of its answer, as JSON.
    pub bytes_out: u64,
}

impl ToolCallRecord {
    /// A call that has failed so far. The other fields are filled in one by one.
    pub fn new(call_id: u64, tool: impl Into<String>) -> Self {
        Self { call_id, tool: tool.into(), success: false, duration_ms: 0.0, bytes_in: 0, bytes_out: 0 }
    }

    /// Writes all fields into an object that has others beside them.
    pub(crate) fn serialize_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("call_id", &self.call_id)?;
        map.serialize_entry("tool", &self.tool)?;
        map.serialize_entry("success", &self.success)?;
        map.serialize_entry("duration_ms", &self.duration_ms)?;
        map.serialize_entry("bytes_in", &self.bytes_in)?;
        map.serialize_entry("bytes_out", &self.bytes_out)
    }
}

impl Serialize for ToolCallRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(6))?;
        self.serialize_fields(&mut map)?;
        map.end()
    }
}
