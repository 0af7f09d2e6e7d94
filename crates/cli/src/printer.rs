//! The only way to stdout and stderr.
//!
//! A pipe or a file gets what a script prints byte for byte. A terminal gets it through [`shown`](crate::shown), so that a script can neither talk to it
//! nor pass for us. Our own words go to stderr, in colour where a person reads them; each stands on a line of its own, which nobody else's text
//! can break or begin. What a script logs, or an installer says, stands on lines with a mark of their own.

use std::borrow::Cow;
use std::io::{self, IsTerminal, StderrLock, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstream::{AutoStream, ColorChoice};
use belljar::text::json_line;
use belljar::{Event, EventKind, ExecutionResult, LogLevel};
use owo_colors::{OwoColorize, Style};
use serde::Serialize;

use crate::pretty::pretty;
use crate::shown::{MARK, Passage, THEIRS, passage, quoted, without_last_colours};

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

/// Writes for a person or a program.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    output: Output,
    is_stdout_terminal: bool,
    is_stderr_terminal: bool,
    colour: bool,
}

/// What is known about the ends of the two streams, by all printers of the process.
static ENDS: Mutex<[End; 2]> = Mutex::new([End::new(), End::new()]);

#[derive(Debug)]
struct End {
    passage: Passage,
    /// Whether what was last written left its line open.
    is_mid_line: bool,
}

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Stdout,
    Stderr,
}

impl End {
    const fn new() -> Self {
        Self { passage: Passage::new(), is_mid_line: false }
    }
}

impl Printer {
    /// Looks at where stdout and stderr lead.
    pub(crate) fn new(output: Output) -> Self {
        Self {
            output,
            is_stdout_terminal: io::stdout().is_terminal(),
            is_stderr_terminal: io::stderr().is_terminal(),
            colour: AutoStream::choice(&io::stderr()) != ColorChoice::Never,
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
            (Output::Human, EventKind::Stdout { text }) => self.script(Stream::Stdout, text),
            (Output::Human, EventKind::Stderr { text }) => self.script(Stream::Stderr, text),
            (Output::Human, EventKind::Log { level, message }) => {
                let level = if *level == LogLevel::Info { String::new() } else { format!("{level}: ") };
                self.theirs(&format!("log: {level}{message}"))
            }
            (Output::Human, EventKind::Intermediate { label, data }) => {
                self.theirs(&format!("{label}: {data}"))
            }
            (Output::Human, EventKind::Leftover { text, .. }) => {
                self.theirs(&format!("left by an earlier step: {}", text.trim_end()))
            }
            (Output::Human, EventKind::Warning { message }) => self.warning(message),
            (Output::Human, _) => Ok(()),
        }
    }

    /// Shows how a script ended; `advice` says what to do about a failure. The events have told it already.
    pub(crate) fn result(&self, result: &ExecutionResult, advice: Option<&str>) -> io::Result<()> {
        match self.output {
            Output::Human => {}
            Output::Json => return self.json(result),
            Output::Events => return Ok(()),
        }
        if let Some(data) = &result.final_data {
            let _screen = self.screen(Stream::Stdout);
            self.make_room(Stream::Stdout)?;
            let json = json_line(data).map_err(io::Error::other)?;
            let text = if self.is_stdout_terminal { passage(&pretty(&json)) } else { json };
            self.write(Stream::Stdout, &format!("{text}\n"))?;
        }
        if result.success() {
            return Ok(());
        }
        if let Some(traceback) = &result.traceback {
            self.make_room(Stream::Stderr)?;
            self.script(Stream::Stderr, traceback)?;
        }
        let error = result.error.as_deref().unwrap_or("no reason was given");
        self.error(&format!("{}: {}", quoted(&result.verdict.to_string()), quoted(error)))?;
        advice.map_or(Ok(()), |advice| self.labelled("help:", Style::new().cyan().bold(), advice))
    }

    /// Says that something went wrong.
    pub(crate) fn error(&self, message: &str) -> io::Result<()> {
        self.labelled("error:", Style::new().red().bold(), message)
    }

    /// Says that something deserves a look.
    pub(crate) fn warning(&self, message: &str) -> io::Result<()> {
        self.labelled("warning:", Style::new().yellow().bold(), message)
    }

    /// Says something in passing.
    pub(crate) fn note(&self, message: &str) -> io::Result<()> {
        self.ours(message, |line| line.into())
    }

    /// Shows a line of somebody else's: a script's, an installer's.
    pub(crate) fn theirs(&self, text: &str) -> io::Result<()> {
        let _screen = self.screen(Stream::Stderr);
        self.make_room(Stream::Stderr)?;
        let line = format!("{THEIRS} {}", quoted(text));
        self.write(Stream::Stderr, &format!("{}\n", self.paint(&line, Style::new().dimmed())))
    }

    /// Asks for something on stdout.
    pub(crate) fn prompt(&self, prompt: &str) -> io::Result<()> {
        let _screen = self.screen(Stream::Stdout);
        self.make_room(Stream::Stdout)?;
        let mark = if self.is_stdout_terminal { format!("{MARK} ") } else { String::new() };
        self.text(&format!("{mark}{prompt}"))
    }

    /// Writes text of ours to stdout: a table, an empty line.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        let mut out = AutoStream::auto(io::stdout());
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Writes one JSON object on one line of stdout.
    pub(crate) fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let line = json_line(value).map_err(io::Error::other)? + "\n";
        let mut out = io::stdout().lock();
        out.write_all(line.as_bytes())?;
        out.flush()
    }

    /// Makes what comes next on a stream somebody else's: no line is open, no colour on.
    fn make_room(&self, stream: Stream) -> io::Result<()> {
        // Where the two share a screen, what either has left there is in the way.
        let streams = [Stream::Stdout, Stream::Stderr];
        let in_the_way = streams.into_iter().filter(|other| *other == stream || self.share_a_screen());
        for other in in_the_way {
            self.end_colours(other)?;
        }
        let is_mid_line = ends()[stream as usize].is_mid_line;
        if is_mid_line { self.write(stream, "\n") } else { Ok(()) }
    }

    fn share_a_screen(&self) -> bool {
        self.is_stdout_terminal && self.is_stderr_terminal
    }

    /// Keeps other threads from a screen until a line is whole. A thread that may wait for a pipe keeps nobody: only who writes to stderr, or to
    /// the same terminal, has to take turns.
    fn screen(&self, stream: Stream) -> Option<StderrLock<'static>> {
        (stream == Stream::Stderr || self.share_a_screen()).then(|| io::stderr().lock())
    }

    /// Leaves a terminal as it was found, as far as colours go.
    pub(crate) fn leave(&self) -> io::Result<()> {
        self.end_colours(Stream::Stdout)?;
        self.end_colours(Stream::Stderr)
    }

    /// What a script wrote to one of its streams.
    fn script(&self, stream: Stream, text: &str) -> io::Result<()> {
        let _screen = self.screen(stream);
        match self.is_terminal(stream) {
            true => {
                let shown = {
                    let end = &mut ends()[stream as usize];
                    end.passage.push(text, !end.is_mid_line)
                };
                self.write(stream, &shown)
            }
            false => self.write(stream, text),
        }
    }

    /// Shows what was held back of a script's text, and ends its colours.
    fn end_colours(&self, stream: Stream) -> io::Result<()> {
        let held = ends()[stream as usize].passage.pause();
        if held.is_empty() { Ok(()) } else { self.write(stream, &held) }
    }

    fn write(&self, stream: Stream, text: &str) -> io::Result<()> {
        if let Some(last) = without_last_colours(text).bytes().next_back() {
            for (place, end) in ends().iter_mut().enumerate() {
                if self.share_a_screen() || place == stream as usize {
                    end.is_mid_line = last != b'\n';
                }
            }
        }
        match stream {
            Stream::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes())?;
                out.flush()
            }
            Stream::Stderr => io::stderr().lock().write_all(text.as_bytes()),
        }
    }

    fn is_terminal(&self, stream: Stream) -> bool {
        match stream {
            Stream::Stdout => self.is_stdout_terminal,
            Stream::Stderr => self.is_stderr_terminal,
        }
    }

    fn labelled(&self, label: &str, style: Style, message: &str) -> io::Result<()> {
        self.ours(message, |line| format!("{} {line}", self.paint(label, style)))
    }

    /// Writes something of ours to stderr, whoever's words are in it. Our words are on its first line; what follows is what we quote: the last lines
    /// of an installer, or a name with a line break in it.
    fn ours(&self, message: &str, first: impl FnOnce(&str) -> String) -> io::Result<()> {
        let _screen = self.screen(Stream::Stderr);
        self.make_room(Stream::Stderr)?;
        let mark = if self.is_stderr_terminal { format!("{MARK} ") } else { String::new() };
        let mut lines = message.trim_end().split('\n');
        let mut text = format!("{mark}{}\n", first(&quoted(lines.next().unwrap_or_default())));
        for line in lines {
            text.push_str(&format!("{THEIRS} {}\n", quoted(line)));
        }
        self.write(Stream::Stderr, &text)
    }

    fn paint<'a>(&self, text: &'a str, style: Style) -> Cow<'a, str> {
        if self.colour { text.style(style).to_string().into() } else { text.into() }
    }
}

/// Each call holds the lock for one look or one change: nothing is written meanwhile.
fn ends() -> MutexGuard<'static, [End; 2]> {
    ENDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the log goes: stderr, each entry as one line of ours.
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(entry);
        Printer::new(Output::Human).note(&quoted(text.trim_end_matches('\n')))?;
        Ok(entry.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
