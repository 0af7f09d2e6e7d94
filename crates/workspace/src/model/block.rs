//! Code blocks, and what came of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{File, RunResult};

/// A piece of code in one language.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeBlock {
    /// The code.
    pub code: String,
    /// The language as it was written, for example after the fence. May be empty.
    pub language: String,
}

/// What stands before and after a code block in a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodeBlockDelimiter {
    /// Stands before the language.
    pub start: String,
    /// Stands after the code.
    pub end: String,
}

impl Default for CodeBlockDelimiter {
    /// The fences of Markdown.
    fn default() -> Self {
        Self { start: "```".to_owned(), end: "```".to_owned() }
    }
}

/// Code blocks to run, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeExecutionInput {
    /// The blocks, in the order in which they run.
    pub code_blocks: Vec<CodeBlock>,
    /// Whose execution that is. Blocks with the same id share a workspace where an executor keeps
    /// one. Any text; empty if nothing is kept.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub execution_id: String,
}

/// What came of running code blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeExecutionResult {
    /// What the blocks printed, and what went wrong, as text for a model.
    pub output: String,
    /// Files that they made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output_files: Vec<File>,
    /// How each block ended, in order. A block that was not reached has no entry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<BlockResult>,
}

/// How one block ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockResult {
    /// Its language, as it was written.
    pub language: String,
    /// Its exit code, as in [`RunResult`](super::RunResult). -1 if it was not run.
    pub exit_code: i32,
    /// Whether its time was over.
    pub timed_out: bool,
    /// What it printed, as text.
    pub stdout: String,
    /// What it printed to standard error, as text.
    pub stderr: String,
    /// Why it could not be run, or what ended it: a compiler that failed, a limit, an exception.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How its compiler ended, if it has one, and what that printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compile: Option<Box<RunResult>>,
}

impl BlockResult {
    /// Whether it ran to its end and said that all is well.
    pub fn is_success(&self) -> bool {
        self.exit_code == 0 && !self.timed_out && self.error.is_none()
    }
}

impl CodeExecutionResult {
    /// Whether every block that was reached succeeded.
    pub fn is_success(&self) -> bool {
        self.blocks.iter().all(BlockResult::is_success)
    }
}

impl fmt::Display for CodeExecutionResult {
    /// Text for a model. If there is output and there are files, it names both.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code execution result:")?;
        if self.output.is_empty() && self.output_files.is_empty() {
            return f.write_str(" No output or errors.");
        }
        f.write_str("\n")?;
        if !self.output.is_empty() {
            writeln!(f, "{}", self.output)?;
        }
        if !self.output_files.is_empty() {
            f.write_str(" Saved output files:")?;
            for file in &self.output_files {
                write!(f, "\n{}", file.name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(output: &str, files: &[&str]) -> CodeExecutionResult {
        let file = |name: &&str| File { name: (*name).to_owned(), ..File::default() };
        let output_files = files.iter().map(file).collect();
        CodeExecutionResult { output: output.to_owned(), output_files, blocks: Vec::new() }
    }

    #[test]
    fn case_9_a_result_reads_as_one_of_three_texts() {
        assert_eq!(result("hi", &[]).to_string(), "Code execution result:\nhi\n");
        assert_eq!(result("hi\n", &[]).to_string(), "Code execution result:\nhi\n\n");
        let files = "Code execution result:\n Saved output files:\na.txt\nb.png";
        assert_eq!(result("", &["a.txt", "b.png"]).to_string(), files);
        assert_eq!(result("", &[]).to_string(), "Code execution result: No output or errors.");
    }

    #[test]
    fn case_10_output_is_shown_beside_files() {
        let both = "Code execution result:\nhi\n Saved output files:\na.txt";
        assert_eq!(result("hi", &["a.txt"]).to_string(), both);
    }

    #[test]
    fn empty_fields_stay_out_of_the_json() {
        let json = serde_json::to_string(&result("hi", &[])).unwrap();
        assert_eq!(json, r#"{"output":"hi"}"#);
        let input: CodeExecutionInput = serde_json::from_str(r#"{"code_blocks":[{"code":"1"}]}"#).unwrap();
        assert_eq!(serde_json::to_string(&input).unwrap(), r#"{"code_blocks":[{"code":"1","language":""}]}"#);
    }

    #[test]
    fn a_failed_block_is_not_hidden() {
        let failed = BlockResult { exit_code: 1, ..BlockResult::default() };
        let blocks = vec![BlockResult::default(), failed];
        assert!(!CodeExecutionResult { blocks, ..CodeExecutionResult::default() }.is_success());
    }
}
