//! What Tab does.
//!
//! The editor's thread finds out what is asked, and the shell asks the session: only the shell has
//! it. What a session answers is text of somebody else's. It is shown and inserted only if a
//! terminal can do no harm with it.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use belljar::Completions;
use belljar::text::is_printable;
use tokio::sync::mpsc::Sender as ToShell;

use super::commands::beginning_with;
use super::input::Said;
use crate::terminal_text::MARK;

/// Longer than a session takes to answer or to give up.
const PATIENCE: Duration = Duration::from_secs(4);
const INDENTATION: &str = "    ";

/// What the session is to be asked.
#[derive(Debug)]
pub(crate) struct Question {
    /// A line of Python up to the cursor.
    pub(crate) line: String,
    reply: Sender<Completions>,
}

impl Question {
    /// Answers it. Nobody may be waiting any more.
    pub(crate) fn answer(self, found: Completions) {
        let _ = self.reply.send(found);
    }
}

/// Finds how a line can go on.
pub(super) struct Completion {
    pub(super) shell: ToShell<Said>,
}

impl Completion {
    /// Where the part begins that can be completed, and what can stand in its place.
    pub(super) fn complete(&self, before_cursor: &str) -> (usize, Vec<String>) {
        // A pasted entry may have several lines.
        let from = before_cursor.rfind('\n').map_or(0, |place| place + 1);
        let line = &before_cursor[from..];
        if line.trim().is_empty() {
            return (before_cursor.len(), vec![INDENTATION.to_owned()]);
        }
        if line.starts_with(':') {
            return (from, beginning_with(line).map(str::to_owned).collect());
        }
        let Ok(found) = self.ask(line) else { return (before_cursor.len(), Vec::new()) };
        let matches = found.matches.into_iter().filter(|text| is_harmless(text)).collect();
        (from + found.start, matches)
    }

    fn ask(&self, line: &str) -> Result<Completions, RecvTimeoutError> {
        let (reply, answer) = mpsc::channel();
        let question = Question { line: line.to_owned(), reply };
        // A shell that is gone drops the other end.
        let _ = self.shell.blocking_send(Said::Question(question));
        answer.recv_timeout(PATIENCE)
    }
}

fn is_harmless(text: &str) -> bool {
    const LONGEST: usize = 200;
    text.len() <= LONGEST && text.chars().all(|c| is_printable(c) && c != MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_never_offered() {
        for text in ["\x1b[2J", "a\nb", "a\rb", "a\u{202e}b", "⌂", "\u{9b}31m", &"x".repeat(1000)] {
            assert!(!is_harmless(text), "{text:?}");
        }
        assert!(is_harmless("größe") && is_harmless("a b"));
    }

    #[test]
    fn indentation_and_commands_need_no_session() {
        let (shell, _) = tokio::sync::mpsc::channel(1);
        let completion = Completion { shell };
        assert_eq!(completion.complete("if x:\n  "), (8, vec!["    ".to_owned()]));
        assert_eq!(completion.complete(":ti"), (0, vec![":timeout".to_owned()]));
    }
}
