//! Runs an installer and reads its output.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::hint::Hint;

/// How many of its last lines the report of a failed installer has.
const TAIL: usize = 20;
/// The longest line in that report. pip can name hundreds of versions on one line.
const TAIL_WIDTH: usize = 500;
/// A longer line is reported in pieces.
const LINE_LIMIT: u64 = 8 * 1024;

/// How an installer ended.
pub(super) struct Outcome {
    pub status: ExitStatus,
    pub tail: Vec<String>,
    pub hint: Option<Hint>,
}

/// Runs `command` to its end. Passes each line of its output and error streams to `line`, in order.
pub(super) fn run(
    mut command: Command,
    wheels_only: bool,
    line: &mut dyn FnMut(&str),
) -> io::Result<Outcome> {
    let (reader, writer) = io::pipe()?;
    let mut child = Running(command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).spawn()?);
    // The command holds the pipe's other end. It must go, or the output never ends.
    drop(command);

    let mut reader = BufReader::new(reader);
    let mut tail: VecDeque<String> = VecDeque::with_capacity(TAIL);
    let mut hint: Option<Hint> = None;
    let mut bytes = Vec::new();
    while reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut bytes)? > 0 {
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end();
        if !text.is_empty() {
            // uv wraps its sentences, so a sign may begin on the line before.
            let before = tail.back().map_or("", String::as_str);
            let sentence = format!("{} {}", before.trim(), text.trim());
            hint = hint.into_iter().chain(Hint::in_text(&sentence, wheels_only)).min();
            if tail.len() == TAIL {
                tail.pop_front();
            }
            tail.push_back(text.chars().take(TAIL_WIDTH).collect());
            line(text);
        }
        bytes.clear();
    }
    Ok(Outcome { status: child.0.wait()?, tail: tail.into(), hint })
}

/// Ends the installer if this side fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}
