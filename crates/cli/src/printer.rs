//! The only way to stdout and stderr.
//!
//! What a script says is passed on as it is, except that on a terminal its control characters are made visible: a script
//! may print what it likes, but not move the cursor over what others printed, nor talk to the terminal. Our own words go to
//! stderr, in colour where a person reads them.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use belljar::{Event, EventKind, ExecutionResult, LogLevel};
use owo_colors::{OwoColorize, Style};
use serde::Serialize;

use crate::pretty::pretty;

/// What goes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// What the script prints, then its result.
    Human,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line, the result last.
    Events,
}

/// Writes for a person or a program. Clones share what they know about the terminal's line.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    output: Output,
    is_stdout_terminal: bool,
    is_stderr_terminal: bool,
    colour: bool,
    /// Whether what was last written to stdout left its line open.
    is_mid_line: Arc<AtomicBool>,
}

impl Printer {
    /// Looks at where stdout and stderr lead.
    pub(crate) fn new(output: Output) -> Self {
        Self {
            output,
            is_stdout_terminal: io::stdout().is_terminal(),
            is_stderr_terminal: io::stderr().is_terminal(),
            colour: AutoStream::choice(&io::stderr()) != ColorChoice::Never,
            is_mid_line: Arc::default(),
        }
    }

    /// Whether what the user sees besides the result is wanted on stderr.
    pub(crate) fn is_for_people(&self) -> bool {
        self.output == Output::Human
    }

    /// Whether somebody is watching stderr.
    pub(crate) fn has_audience(&self) -> bool {
        self.is_stderr_terminal
    }

    /// Shows an event as it happens. The script's outcome is not shown here: [`result`](Self::result) knows more about it.
    pub(crate) fn event(&self, event: &Event) -> io::Result<()> {
        match (self.output, &event.kind) {
            (Output::Json, _) => Ok(()),
            (Output::Events, _) => self.json(event),
            (Output::Human, EventKind::Stdout { text }) => self.stdout(&plain(text, self.is_stdout_terminal)),
            (Output::Human, EventKind::Stderr { text }) => self.stderr(&plain(text, self.is_stderr_terminal)),
            (Output::Human, EventKind::Log { level, message }) => {
                let label = if *level == LogLevel::Info { String::new() } else { format!("{level}: ") };
                self.dim(&format!("· {label}{}", one_line(message)))
            }
            (Output::Human, EventKind::Intermediate { label, data }) => {
                self.dim(&format!("· {}: {}", one_line(label), one_line(data.as_str())))
            }
            (Output::Human, _) => Ok(()),
        }
    }

    /// Shows how a script ended; `advice` says what to do about a failure.
    pub(crate) fn result(&self, result: &ExecutionResult, advice: Option<&str>) -> io::Result<()> {
        if self.output != Output::Human {
            return self.json(result);
        }
        if let Some(data) = &result.final_data {
            self.end_line()?;
            let text = if self.is_stdout_terminal { pretty(data.as_str()) } else { data.as_str().to_owned() };
            self.stdout(&format!("{}\n", plain(&text, self.is_stdout_terminal)))?;
        }
        if result.success() {
            return Ok(());
        }
        if let Some(traceback) = &result.traceback {
            self.make_room()?;
            self.stderr(&plain(traceback, self.is_stderr_terminal))?;
        }
        let error = result.error.as_deref().unwrap_or("no reason was given");
        self.error(&format!("{}: {}", result.verdict, plain(error, self.is_stderr_terminal)))?;
        advice.map_or(Ok(()), |advice| self.labelled("help:", Style::new().cyan().bold(), advice))
    }

    /// Says that something went wrong.
    pub(crate) fn error(&self, message: &str) -> io::Result<()> {
        self.labelled("error:", Style::new().red().bold(), message)
    }

    /// Says that something deserves a look.
    pub(crate) fn warning(&self, message: &str) -> io::Result<()> {
        self.labelled("warning:", Style::new().yellow().bold(), &plain(message, self.is_stderr_terminal))
    }

    /// Says something in passing.
    pub(crate) fn note(&self, message: &str) -> io::Result<()> {
        self.make_room()?;
        self.stderr(&format!("{message}\n"))
    }

    /// Writes text of ours to stdout: a table, a prompt.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        let mut out = AutoStream::auto(io::stdout());
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Writes one JSON object on one line of stdout.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value).map_err(io::Error::other)?;
        line.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&line)?;
        out.flush()
    }

    fn stdout(&self, text: &str) -> io::Result<()> {
        if let Some(last) = text.bytes().next_back() {
            self.is_mid_line.store(last != b'\n', Ordering::Relaxed);
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn stderr(&self, text: &str) -> io::Result<()> {
        io::stderr().lock().write_all(text.as_bytes())
    }

    /// What comes next on stdout stands on a line of its own.
    fn end_line(&self) -> io::Result<()> {
        if self.is_mid_line.load(Ordering::Relaxed) { self.stdout("\n") } else { Ok(()) }
    }

    /// The same for what comes next on stderr, where the two share a screen.
    fn make_room(&self) -> io::Result<()> {
        if self.is_stdout_terminal { self.end_line() } else { Ok(()) }
    }

    fn dim(&self, line: &str) -> io::Result<()> {
        self.make_room()?;
        self.stderr(&format!("{}\n", self.paint(line, Style::new().dimmed())))
    }

    fn labelled(&self, label: &str, style: Style, message: &str) -> io::Result<()> {
        self.make_room()?;
        self.stderr(&format!("{} {message}\n", self.paint(label, style)))
    }

    fn paint<'a>(&self, text: &'a str, style: Style) -> Cow<'a, str> {
        if self.colour { text.style(style).to_string().into() } else { text.into() }
    }
}

/// A script's text; for a terminal, with control characters as pictures, except those that lay out lines.
fn plain(text: &str, for_terminal: bool) -> Cow<'_, str> {
    let is_harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    if !for_terminal || text.chars().all(is_harmless) {
        return text.into();
    }
    text.chars().map(|c| if is_harmless(c) { c } else { picture(c) }).collect::<String>().into()
}

/// A script's text on one line, whatever is in it.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { picture(c) } else { c }).collect()
}

fn picture(control: char) -> char {
    const PICTURES: u32 = 0x2400;
    match u32::from(control) {
        code @ 0..0x20 => char::from_u32(PICTURES + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '␡',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_cannot_talk_to_the_terminal() {
        assert_eq!(plain("a\x1b]52;c;eA==\x07\n\u{9b}2J", true), "a␛]52;c;eA==␇\n\u{fffd}2J");
        assert_eq!(plain("tabs\tand lines\r\n", true), "tabs\tand lines\r\n");
    }

    #[test]
    fn a_program_gets_every_byte() {
        assert_eq!(plain("\x1b[31mred", false), "\x1b[31mred");
    }

    #[test]
    fn a_log_line_stays_one_line() {
        assert_eq!(one_line("a\nerror: forged\r"), "a␊error: forged␍");
    }
}
