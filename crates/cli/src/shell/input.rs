//! Where entries come from: a terminal with an editor, or plain lines.

use std::io::{self, IsTerminal};

use tokio::sync::mpsc::Receiver;

use super::completion::Question;
use super::editor::Editor;
use super::entry::Entry;
use super::lines::read_lines;
use crate::env;
use crate::error::CliError;
use crate::printer::Printer;

const FIRST: &str = ">>> ";
const NEXT: &str = "... ";

/// What was said at the prompt.
#[derive(Debug)]
pub(crate) enum Said {
    /// A line, or several at once.
    Line(String),
    /// Ctrl-C: forget the entry.
    Cleared,
    /// Ctrl-D, or the end of the file.
    End,
    /// Tab: ask the session. The line goes on.
    Question(Question),
    /// It cannot be read any more.
    Failed(io::Error),
}

/// Where entries come from.
pub(crate) enum Input {
    /// A person at a terminal.
    Editor(Editor),
    /// A pipe or a file. With prompts, a person at a terminal that cannot edit lines.
    Lines { lines: Receiver<Result<String, CliError>>, prompts: bool },
}

impl Input {
    /// Looks at what stdin and stdout are.
    pub(crate) fn open(printer: &Printer) -> Result<Self, CliError> {
        let prompts = io::stdin().is_terminal();
        Ok(match prompts && io::stdout().is_terminal() && terminal_can_edit() {
            true => Self::Editor(Editor::start(printer)?),
            false => Self::Lines { lines: read_lines()?, prompts },
        })
    }

    /// Whether a person types.
    pub(crate) fn is_interactive(&self) -> bool {
        !matches!(self, Self::Lines { prompts: false, .. })
    }

    /// Whether Ctrl-C at the prompt comes as a signal, and not through the editor.
    pub(crate) fn is_signalled(&self) -> bool {
        matches!(self, Self::Lines { .. })
    }

    /// Asks for the next line of an entry.
    pub(crate) fn prompt(&mut self, printer: &Printer, entry: &Entry) -> Result<(), CliError> {
        let prompt = if entry.is_empty() { FIRST } else { NEXT };
        match self {
            Self::Editor(editor) => {
                printer.begin_line()?;
                editor.read(prompt, entry.indentation());
            }
            Self::Lines { prompts: true, .. } => printer.prompt(prompt)?,
            Self::Lines { .. } => {}
        }
        Ok(())
    }

    /// Waits for what is said. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Said, CliError> {
        match self {
            Self::Editor(editor) => editor.next().await,
            Self::Lines { lines, .. } => match lines.recv().await {
                Some(line) => Ok(Said::Line(line?)),
                None => Ok(Said::End),
            },
        }
    }

    /// Keeps an entry in the history.
    pub(crate) fn remember(&mut self, entry: &str) {
        if let Self::Editor(editor) = self {
            editor.remember(entry);
        }
    }
}

/// Whether the terminal can move its cursor.
fn terminal_can_edit() -> bool {
    std::env::var(env::TERM).is_ok_and(|kind| !matches!(kind.as_str(), "" | "dumb" | "cons25" | "emacs"))
}
