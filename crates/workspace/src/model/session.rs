//! What a program says that is talked to while it runs.
//!
//! Output is counted in lines, as models read it, and in bytes, which lose nothing. Both count from
//! the program's start, also where the beginning is no longer kept.

use serde::{Deserialize, Serialize, Serializer};

use super::bytes;

/// Whether a program still runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramStatus {
    /// It runs, and may take more input.
    #[default]
    Running,
    /// It has ended.
    Exited,
}

impl ProgramStatus {
    /// `running` or `exited`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Exited => "exited",
        }
    }
}

/// What a program printed since the last poll.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramPoll {
    /// Whether it still runs.
    pub status: ProgramStatus,
    /// The lines, and the beginning of the next one if there is nothing after it yet.
    pub output: String,
    /// The number of the first line.
    pub offset: u64,
    /// The number of the line after the last whole one.
    pub next_offset: u64,
    /// How it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// What a program printed from some line on. Reading it moves nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramLog {
    /// The lines, and the beginning of the next one if there is nothing after it yet.
    pub output: String,
    /// The number of the first line.
    pub offset: u64,
    /// The number of the line after the last whole one.
    pub next_offset: u64,
    /// The number of the first line's first byte.
    pub byte_offset: u64,
    /// The number of the byte after the last whole line.
    pub next_byte_offset: u64,
}

/// What a program printed, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramBytes {
    /// Whether it still runs.
    pub status: ProgramStatus,
    /// The bytes.
    pub data: Vec<u8>,
    /// The number of the first byte.
    pub offset: u64,
    /// The number of the byte after the last one.
    pub next_offset: u64,
    /// How it ended, if it did.
    pub exit_code: Option<i32>,
}

impl Serialize for ProgramBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written {
            status: ProgramStatus,
            output: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            output_base64: Option<String>,
            offset: u64,
            next_offset: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            exit_code: Option<i32>,
        }
        let (output, output_base64) = bytes::to_json(&self.data);
        let Self { status, data: _, offset, next_offset, exit_code } = *self;
        Written { status, output, output_base64, offset, next_offset, exit_code }.serialize(serializer)
    }
}

/// Whether a program runs, and how it ended. Asking moves nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramState {
    /// Whether it still runs.
    pub status: ProgramStatus,
    /// How it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

impl ProgramState {
    /// Whether it has ended.
    pub fn is_exited(&self) -> bool {
        self.status == ProgramStatus::Exited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_names_that_callers_know() {
        for status in [ProgramStatus::Running, ProgramStatus::Exited] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
        let poll =
            ProgramPoll { status: ProgramStatus::Exited, exit_code: Some(3), ..ProgramPoll::default() };
        let json = r#"{"status":"exited","output":"","offset":0,"next_offset":0,"exit_code":3}"#;
        assert_eq!(serde_json::to_string(&poll).unwrap(), json);
    }
}
