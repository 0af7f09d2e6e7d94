//! What blocks printed, and what went wrong, as one text for a model.

use std::time::Duration;

use crate::BlockResult;

/// The text so far. Each part begins a line.
#[derive(Debug, Default)]
pub(crate) struct Transcript(String);

impl Transcript {
    /// Adds what a block printed, then why it failed if it did.
    pub(crate) fn add(&mut self, index: usize, block: &BlockResult) {
        self.add_part(&block.stdout);
        self.add_part(&block.stderr);
        self.add_failure(index, block);
    }

    /// Adds why a block failed, if it did.
    pub(crate) fn add_failure(&mut self, index: usize, block: &BlockResult) {
        let why = match &block.error {
            Some(error) => error.clone(),
            None if block.exit_code != 0 => format!("exit code {}", block.exit_code),
            None => return,
        };
        self.add_part(&format!("Error executing code block {index}: {why}\n"));
    }

    /// Says that there are more files than are told.
    pub(crate) fn add_left_out(&mut self, count: usize) {
        if count > 0 {
            self.add_part(&format!("{count} output files were cut or left out: there are limits\n"));
        }
    }

    /// Adds text that begins a line.
    pub(crate) fn add_part(&mut self, part: &str) {
        if !part.is_empty() && !self.0.is_empty() && !self.0.ends_with('\n') {
            self.0.push('\n');
        }
        self.0.push_str(part);
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// Why a block was ended.
pub(crate) fn took_too_long(timeout: Duration) -> String {
    format!("timed out after {} s", timeout.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(blocks: &[BlockResult]) -> String {
        let mut transcript = Transcript::default();
        blocks.iter().enumerate().for_each(|(index, block)| transcript.add(index, block));
        transcript.into_text()
    }

    #[test]
    fn what_is_printed_stays_as_it_is_and_failures_are_lines_of_their_own() {
        let printed = |stdout: &str, stderr: &str| BlockResult {
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            ..BlockResult::default()
        };
        assert_eq!(told(&[printed("no newline", "")]), "no newline");
        assert_eq!(told(&[printed("a", "b\n"), printed("c", "")]), "a\nb\nc");
        let failed = BlockResult { exit_code: 3, ..printed("x", "") };
        assert_eq!(told(&[failed, printed("y\n", "")]), "x\nError executing code block 0: exit code 3\ny\n");
        let error = Some("unsupported language: cobol".to_owned());
        let refused = BlockResult { exit_code: -1, error, ..BlockResult::default() };
        assert_eq!(told(&[refused]), "Error executing code block 0: unsupported language: cobol\n");
    }
}
