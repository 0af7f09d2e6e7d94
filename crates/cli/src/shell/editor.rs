//! The line editor: rustyline on a thread of its own, which waits for the terminal.
//!
//! The thread reads only when it is asked to. In between, the terminal is as the user left it:
//! Ctrl-C is a signal, and a script's output is shown as it comes.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};

use rustyline::completion::Completer;
use rustyline::error::{ReadlineError, Signal};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{
    ColorMode, CompletionType, Config, Context, Event, EventHandler, Helper, KeyCode, KeyEvent, Modifiers,
};
use tokio::sync::mpsc::{Receiver as FromThread, Sender as ToShell, channel};

use super::colours::paint;
use super::completion::Completion;
use super::history;
use super::input::Said;
use super::keys::{Backspace, Pace};
use crate::error::CliError;
use crate::printer::Printer;
use crate::program::terminal::Keeper;
use crate::terminal_text::MARK;

/// The shell's end of the editor.
pub(crate) struct Editor {
    orders: Sender<Order>,
    said: FromThread<Said>,
    is_reading: bool,
    /// Leaves the terminal as it was found.
    _keeper: Keeper,
}

/// What the thread is asked to do.
enum Order {
    Read { prompt: &'static str, begin: String },
    Remember(String),
}

impl Editor {
    /// Starts the thread. A history that cannot be used is a warning.
    pub(crate) fn start(printer: &Printer) -> Result<Self, CliError> {
        let history = history::open().unwrap_or_else(|error| {
            // A shell without a history is still one.
            let _ = printer.warning(&format!("the history is not kept: {error}"));
            None
        });
        // Before the thread changes anything.
        let _keeper = Keeper::of_an_editor();
        let (orders, ordered) = mpsc::channel();
        let (shell, said) = channel(1);
        let colour = printer.has_colours() && io::stdout().is_terminal();
        let thread = move || {
            let failed = shell.clone();
            if let Err(error) = Reader::serve(&ordered, shell, colour, history) {
                // The shell may be gone.
                let _ = failed.blocking_send(Said::Failed(io::Error::other(error)));
            }
        };
        std::thread::Builder::new()
            .name("editor".into())
            .spawn(thread)
            .map_err(CliError::system("start a thread that reads the terminal"))?;
        Ok(Self { orders, said, is_reading: false, _keeper })
    }

    /// Has a line read.
    pub(super) fn read(&mut self, prompt: &'static str, begin: String) {
        self.is_reading = true;
        self.order(Order::Read { prompt, begin });
    }

    /// Keeps an entry in the history.
    pub(super) fn remember(&mut self, entry: &str) {
        if history::is_worth_keeping(entry) {
            self.order(Order::Remember(entry.trim_end().to_owned()));
        }
    }

    /// A thread that has ended has said why.
    fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }

    /// Waits for what is said. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Said, CliError> {
        let gone = || io::Error::other("the thread that reads it is gone");
        match self.said.recv().await.unwrap_or_else(|| Said::Failed(gone())) {
            Said::Failed(error) => Err(CliError::system("read the terminal")(error)),
            said => {
                self.is_reading = matches!(said, Said::Question(_));
                Ok(said)
            }
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if self.is_reading {
            // The thread waits for a key. What is printed next is not to follow its prompt.
            let _ = io::stdout().lock().write_all(b"\r\n");
        }
    }
}

/// The thread's side.
struct Reader {
    editor: rustyline::Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
    pace: Pace,
}

impl Reader {
    /// Does what is ordered until the shell is gone.
    fn serve(
        orders: &Receiver<Order>,
        shell: ToShell<Said>,
        colour: bool,
        history: Option<PathBuf>,
    ) -> rustyline::Result<()> {
        let assistant = Assistant { completion: Completion { shell: shell.clone() } };
        let mut reader = Self::new(assistant, colour, history)?;
        while let Ok(order) = orders.recv() {
            match order {
                Order::Remember(entry) => reader.remember(entry),
                Order::Read { prompt, begin } => {
                    let said = reader.read(prompt, &begin)?;
                    if shell.blocking_send(said).is_err() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn new(assistant: Assistant, colour: bool, history: Option<PathBuf>) -> rustyline::Result<Self> {
        let colour_mode = if colour { ColorMode::Enabled } else { ColorMode::Disabled };
        let config = Config::builder()
            .max_history_size(history::MOST_ENTRIES)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .bell_style(rustyline::config::BellStyle::None)
            .color_mode(colour_mode)
            .build();
        let mut editor = rustyline::Editor::with_config(config)?;
        editor.set_helper(Some(assistant));
        let pace = Pace::default();
        editor.bind_sequence(Event::Any, EventHandler::Conditional(Box::new(pace.clone())));
        for key in [KeyEvent(KeyCode::Backspace, Modifiers::NONE), KeyEvent::ctrl('H')] {
            editor.bind_sequence(key, EventHandler::Conditional(Box::new(Backspace)));
        }
        // What cannot be read is not lost: it stays in the file.
        let history = history.filter(|path| editor.load_history(path).is_ok());
        Ok(Self { editor, history, pace })
    }

    fn read(&mut self, prompt: &str, begin: &str) -> rustyline::Result<Said> {
        let plain = format!("{MARK} {prompt}");
        let styled = format!("\x1b[1;32m{MARK} {}\x1b[0m ", prompt.trim_end());
        let prompt = (plain, styled);
        let begin = if self.pace.is_fast() { "" } else { begin };
        loop {
            self.pace.begin_line();
            let line = self.editor.readline_with_initial(&prompt, (begin, ""));
            self.pace.end_line();
            return match line {
                Ok(line) => Ok(Said::Line(line)),
                Err(ReadlineError::Eof) => Ok(Said::End),
                Err(ReadlineError::Interrupted | ReadlineError::Signal(Signal::Interrupt)) => {
                    Ok(Said::Cleared)
                }
                Err(ReadlineError::Signal(_)) => continue,
                Err(error) => Err(error),
            };
        }
    }

    /// A history that cannot be written is no reason to stop.
    fn remember(&mut self, entry: String) {
        let is_new = self.editor.add_history_entry(entry).unwrap_or(false);
        if let Some(path) = self.history.as_ref().filter(|_| is_new)
            && let Err(error) = self.editor.append_history(path)
        {
            tracing::warn!(%error, "the history could not be written");
        }
    }
}

/// What rustyline asks while a line is typed.
struct Assistant {
    completion: Completion,
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.completion.complete(&line[..pos]))
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        paint(line)
    }

    fn highlight_char(&self, _line: &str, _pos: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

// The shell decides when an entry is complete: it prompts for each of its lines.
impl Validator for Assistant {}

impl Helper for Assistant {}
