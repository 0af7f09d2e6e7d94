//! What is kept of a workspace.

use serde::{Deserialize, Serialize};

use super::FileRef;
use crate::Timestamp;

/// Which files to keep, how much of them, and how.
///
/// In JSON, keys are in snake case. Keys such as `MaxFiles` are understood too; if both are there,
/// the one in snake case counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct OutputSpec {
    /// Patterns, relative to the workspace. None match nothing.
    pub globs: Vec<String>,
    /// How many files. 0 is [`OutputSpec::DEFAULT_MAX_FILES`].
    pub max_files: usize,
    /// How many bytes of one file. 0 is [`OutputSpec::DEFAULT_MAX_FILE_BYTES`].
    pub max_file_bytes: u64,
    /// How many bytes of all files. 0 is [`OutputSpec::DEFAULT_MAX_TOTAL_BYTES`].
    pub max_total_bytes: u64,
    /// Whether to save them as artifacts.
    pub save: bool,
    /// What an artifact's name begins with. The name of the file follows.
    pub name_template: String,
    /// Whether to put their content into the manifest.
    pub inline: bool,
}

impl OutputSpec {
    /// How many files are kept, if nothing else is said.
    pub const DEFAULT_MAX_FILES: usize = 100;
    /// How many bytes of one file are kept, if nothing else is said.
    pub const DEFAULT_MAX_FILE_BYTES: u64 = 4 << 20;
    /// How many bytes of all files are kept, if nothing else is said.
    pub const DEFAULT_MAX_TOTAL_BYTES: u64 = 64 << 20;

    /// The same spec, with the usual limits where it has none.
    #[must_use]
    pub fn with_defaults(mut self) -> Self {
        fn fill<T: Default + PartialEq>(limit: &mut T, default: T) {
            if *limit == T::default() {
                *limit = default;
            }
        }
        fill(&mut self.max_files, Self::DEFAULT_MAX_FILES);
        fill(&mut self.max_file_bytes, Self::DEFAULT_MAX_FILE_BYTES);
        fill(&mut self.max_total_bytes, Self::DEFAULT_MAX_TOTAL_BYTES);
        self
    }
}

/// A spec as it is read, with both spellings of each key. Limits below zero are as good as zero.
#[derive(Deserialize)]
struct Written {
    globs: Option<Vec<String>>,
    max_files: Option<i64>,
    max_file_bytes: Option<i64>,
    max_total_bytes: Option<i64>,
    save: Option<bool>,
    name_template: Option<String>,
    inline: Option<bool>,
    #[serde(rename = "Globs")]
    go_globs: Option<Vec<String>>,
    #[serde(rename = "MaxFiles")]
    go_max_files: Option<i64>,
    #[serde(rename = "MaxFileBytes")]
    go_max_file_bytes: Option<i64>,
    #[serde(rename = "MaxTotalBytes")]
    go_max_total_bytes: Option<i64>,
    #[serde(rename = "Save")]
    go_save: Option<bool>,
    #[serde(rename = "NameTemplate")]
    go_name_template: Option<String>,
    #[serde(rename = "Inline")]
    go_inline: Option<bool>,
}

impl From<Written> for OutputSpec {
    fn from(written: Written) -> Self {
        let limit = |snake: Option<i64>, go: Option<i64>| snake.or(go).unwrap_or_default().max(0);
        let max_files = limit(written.max_files, written.go_max_files);
        Self {
            globs: written.globs.or(written.go_globs).unwrap_or_default(),
            max_files: usize::try_from(max_files).unwrap_or(usize::MAX),
            max_file_bytes: limit(written.max_file_bytes, written.go_max_file_bytes).unsigned_abs(),
            max_total_bytes: limit(written.max_total_bytes, written.go_max_total_bytes).unsigned_abs(),
            save: written.save.or(written.go_save).unwrap_or_default(),
            name_template: written.name_template.or(written.go_name_template).unwrap_or_default(),
            inline: written.inline.or(written.go_inline).unwrap_or_default(),
        }
    }
}

/// What was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputManifest {
    /// The files.
    #[serde(alias = "Files")]
    pub files: Vec<FileRef>,
    /// Whether a limit kept something out, or cut a file short.
    #[serde(alias = "LimitsHit")]
    pub limits_hit: bool,
}

/// That outputs were collected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputRecord {
    /// The patterns, as they were given.
    #[serde(deserialize_with = "super::metadata::or_null")]
    pub globs: Vec<String>,
    /// Names of the artifacts that were saved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub saved_as: Vec<String>,
    /// Their versions, in the same order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<u64>,
    /// Whether a limit kept something out, or cut a file short.
    pub limits_hit: bool,
    /// When.
    #[serde(rename = "ts")]
    pub timestamp: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<OutputSpec, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn case_18_snake_case_counts_before_the_other_spelling() {
        assert_eq!(read(r#"{"MaxFiles":1,"max_files":2}"#).unwrap().max_files, 2);
        assert_eq!(read(r#"{"max_files":2,"MaxFiles":1}"#).unwrap().max_files, 2);
        assert_eq!(read(r#"{"MaxFiles":1}"#).unwrap().max_files, 1);
        let spec = read(r#"{"Save":true,"save":false,"Globs":["a"],"Inline":true}"#).unwrap();
        assert_eq!((spec.save, spec.inline, spec.globs), (false, true, vec!["a".to_owned()]));
    }

    #[test]
    fn case_18_what_is_no_spec_is_refused() {
        for json in [r#"{"max_files":"bad"}"#, r#"{"MaxFiles":"bad"}"#, "{", r#"{"globs":"a"}"#] {
            assert!(read(json).is_err(), "{json}");
        }
    }

    #[test]
    fn limits_that_are_not_above_zero_are_the_usual_ones() {
        let spec = read(r#"{"max_files":-1,"max_file_bytes":0}"#).unwrap().with_defaults();
        assert_eq!((spec.max_files, spec.max_file_bytes, spec.max_total_bytes), (100, 4 << 20, 64 << 20));
        let spec = OutputSpec { max_files: 7, ..OutputSpec::default() }.with_defaults();
        assert_eq!(spec.max_files, 7);
    }

    #[test]
    fn a_spec_is_written_in_snake_case() {
        let spec = OutputSpec { globs: vec!["out/**".to_owned()], inline: true, ..OutputSpec::default() };
        let json = serde_json::to_string(&spec).unwrap();
        assert!(json.contains("\"max_total_bytes\""), "{json}");
        assert_eq!(read(&json).unwrap(), spec);
    }
}
