//! The only way to stdout and stderr.
//!
//! A pipe or a file gets a script's output byte for byte. A terminal gets it through
//! [`terminal_text`](crate::terminal_text), so that a script can neither control the terminal nor
//! imitate this command.
//!
//! The command's own messages go to stderr, in colour if a person reads them. Each is on a line of
//! its own, which no other text can break or begin. A script's log lines and an installer's output
//! are on lines with a mark of their own. `displays` shows what a script displays.

mod displays;

use std::borrow::Cow;
use std::io::{self, IsTerminal, StderrLock, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstream::{AutoStream, ColorChoice};
use belljar::text::json_line;
use belljar::{Event, EventKind, ExecutionResult, LogLevel, OutputStream};
use owo_colors::{OwoColorize, Style};
use serde::Serialize;

use crate::pictures::Protocol;
use crate::pretty::pretty;
use crate::terminal_text::{MARK, ScriptText, THEIRS, quoted, script_text, without_last_colours};

/// What goes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// The script's output, then its result.
    Human,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line. The last one has the result.
    Events,
}

/// Writes for a person or a program.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    output: Output,
    is_stdout_terminal: bool,
    is_stderr_terminal: bool,
    colour: bool,
    /// How the terminal on stdout takes pictures, if it does.
    pictures: Option<Protocol>,
    /// Whether displays are saved as files, and their names told.
    saves_displays: bool,
}

/// The state of both streams. All printers of the process share it.
static ENDS: Mutex<[End; 2]> = Mutex::new([End::new(), End::new()]);

#[derive(Debug)]
struct End {
    script_text: ScriptText,
    /// Whether the last text that was written left its line open.
    is_mid_line: bool,
}

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Stdout,
    Stderr,
}

impl From<OutputStream> for Stream {
    fn from(stream: OutputStream) -> Self {
        match stream {
            OutputStream::Stderr => Self::Stderr,
            _ => Self::Stdout,
        }
    }
}

/// What is said about a failure besides the failure itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// An option can help.
    Help(String),
    Nothing,
    /// Not even the failure: a program that ends by itself has said what it had to say.
    Silence,
}

impl From<Option<String>> for Advice {
    fn from(help: Option<String>) -> Self {
        help.map_or(Self::Nothing, Self::Help)
    }
}

impl End {
    const fn new() -> Self {
        Self { script_text: ScriptText::new(), is_mid_line: false }
    }
}

impl Printer {
    /// Looks at where stdout and stderr lead.
    pub(crate) fn new(output: Output) -> Self {
        let is_stdout_terminal = io::stdout().is_terminal();
        Self {
            output,
            is_stdout_terminal,
            pictures: Protocol::found(|name| std::env::var_os(name)).filter(|_| is_stdout_terminal),
            is_stderr_terminal: io::stderr().is_terminal(),
            colour: AutoStream::choice(&io::stderr()) != ColorChoice::Never,
            saves_displays: false,
        }
    }

    /// Tells it that displays are saved as files.
    pub(crate) fn saving_displays(mut self, saves: bool) -> Self {
        self.saves_displays = saves;
        self
    }

    /// Whether stderr should get text for people, besides the result.
    pub(crate) fn is_for_people(&self) -> bool {
        self.output == Output::Human
    }

    /// Whether a person watches stderr.
    pub(crate) fn has_audience(&self) -> bool {
        self.is_stderr_terminal
    }

    /// Shows an event as it happens. It does not show the script's outcome:
    /// [`result`](Self::result) knows more about it.
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
            (Output::Human, EventKind::Display { display }) => self.display(display),
            (Output::Human, EventKind::Leftover { text, .. }) => {
                self.theirs(&format!("left by an earlier step: {}", text.trim_end()))
            }
            (Output::Human, EventKind::Warning { message }) => self.warning(message),
            (Output::Human, _) => Ok(()),
        }
    }

    /// Shows how a script ended. `advice` says what to do about a failure. With `--events`, the
    /// events have shown it already.
    pub(crate) fn result(&self, result: &ExecutionResult, advice: Advice) -> io::Result<()> {
        match self.output {
            Output::Human => {}
            Output::Json => return self.json(result),
            Output::Events => return Ok(()),
        }
        if let Some(data) = &result.final_data {
            let _screen = self.screen(Stream::Stdout);
            self.make_room(Stream::Stdout)?;
            let json = json_line(data).map_err(io::Error::other)?;
            let text = if self.is_stdout_terminal { script_text(&pretty(&json)) } else { json };
            self.write(Stream::Stdout, &format!("{text}\n"))?;
        }
        if result.success() || advice == Advice::Silence {
            return Ok(());
        }
        self.traceback(result)?;
        let error = result.error.as_deref().unwrap_or("no reason was given");
        self.error(&format!("{}: {}", quoted(&result.verdict.to_string()), quoted(error)))?;
        match advice {
            Advice::Help(advice) => self.labelled("help:", Style::new().cyan().bold(), &advice),
            Advice::Nothing | Advice::Silence => Ok(()),
        }
    }

    /// Prints an error.
    pub(crate) fn error(&self, message: &str) -> io::Result<()> {
        self.labelled("error:", Style::new().red().bold(), message)
    }

    /// Prints a warning.
    pub(crate) fn warning(&self, message: &str) -> io::Result<()> {
        self.labelled("warning:", Style::new().yellow().bold(), message)
    }

    /// Prints a note.
    pub(crate) fn note(&self, message: &str) -> io::Result<()> {
        self.ours(message, |line| line.into())
    }

    /// Prints a line of the log that is for programs, as it is.
    pub(crate) fn log_line(&self, line: &str) -> io::Result<()> {
        let _screen = self.screen(Stream::Stderr);
        self.make_room(Stream::Stderr)?;
        self.write(Stream::Stderr, &format!("{line}\n"))
    }

    /// Prints a line from somebody else: a script or an installer.
    pub(crate) fn theirs(&self, text: &str) -> io::Result<()> {
        let _screen = self.screen(Stream::Stderr);
        self.make_room(Stream::Stderr)?;
        let line = format!("{THEIRS} {}", quoted(text));
        self.write(Stream::Stderr, &format!("{}\n", self.paint(&line, Style::new().dimmed())))
    }

    /// Whether the command's own lines are in colour.
    pub(crate) fn has_colours(&self) -> bool {
        self.colour
    }

    /// Writes somebody else's last word to stdout, as a script's output.
    pub(crate) fn answer(&self, text: &str) -> io::Result<()> {
        self.begin_line()?;
        self.script(Stream::Stdout, &format!("{}\n", text.trim_end()))
    }

    /// Ends the line in which a terminal shows `^C`.
    pub(crate) fn end_line(&self) -> io::Result<()> {
        let _screen = self.screen(Stream::Stdout);
        if self.is_stdout_terminal { self.write(Stream::Stdout, "\n") } else { Ok(()) }
    }

    /// Ends a line of stdout that a script left open, and its colours.
    pub(crate) fn begin_line(&self) -> io::Result<()> {
        let _screen = self.screen(Stream::Stdout);
        self.make_room(Stream::Stdout)
    }

    /// Shows where an interrupted step was.
    pub(crate) fn traceback(&self, result: &ExecutionResult) -> io::Result<()> {
        let Some(traceback) = &result.traceback else { return Ok(()) };
        self.make_room(Stream::Stderr)?;
        self.script(Stream::Stderr, traceback)
    }

    /// Prints a prompt on stdout.
    pub(crate) fn prompt(&self, prompt: &str) -> io::Result<()> {
        let _screen = self.screen(Stream::Stdout);
        self.make_room(Stream::Stdout)?;
        let mark = if self.is_stdout_terminal { format!("{MARK} ") } else { String::new() };
        self.text(&format!("{mark}{prompt}"))
    }

    /// Writes the command's own text to stdout: a table, an empty line.
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

    /// Prepares a stream for text from another source: no line is open, no colour is on.
    fn make_room(&self, stream: Stream) -> io::Result<()> {
        // If both streams share a screen, an open line of either one is in the way.
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

    /// Keeps other threads off a screen until a line is whole. A thread that may wait for a pipe
    /// blocks nobody: only writers to stderr, or to the same terminal, take turns.
    fn screen(&self, stream: Stream) -> Option<StderrLock<'static>> {
        (stream == Stream::Stderr || self.share_a_screen()).then(|| io::stderr().lock())
    }

    /// Resets the colours of a terminal.
    pub(crate) fn leave(&self) -> io::Result<()> {
        self.end_colours(Stream::Stdout)?;
        self.end_colours(Stream::Stderr)
    }

    /// Writes what a script wrote to one of its streams.
    fn script(&self, stream: Stream, text: &str) -> io::Result<()> {
        let _screen = self.screen(stream);
        match self.is_terminal(stream) {
            true => {
                let shown = {
                    let end = &mut ends()[stream as usize];
                    end.script_text.push(text, !end.is_mid_line)
                };
                self.write(stream, &shown)
            }
            false => self.write(stream, text),
        }
    }

    /// Whether what a program prints is shown as text, and not handed on as it is.
    pub(crate) fn shows_text(&self, stream: OutputStream) -> bool {
        self.is_terminal(stream.into())
    }

    /// Writes what a program printed, as text.
    pub(crate) fn program(&self, stream: OutputStream, text: &str) -> io::Result<()> {
        self.script(stream.into(), text)
    }

    /// Writes what a program printed, byte for byte.
    pub(crate) fn bytes(&self, stream: OutputStream, bytes: &[u8]) -> io::Result<()> {
        let Some(last) = bytes.last() else { return Ok(()) };
        let stream = Stream::from(stream);
        ends()[stream as usize].is_mid_line = *last != b'\n';
        match stream {
            Stream::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            Stream::Stderr => io::stderr().lock().write_all(bytes),
        }
    }

    /// Shows the part of a script's text that was held back, and ends its colours.
    fn end_colours(&self, stream: Stream) -> io::Result<()> {
        let held = ends()[stream as usize].script_text.pause();
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

    /// Writes a message of the command to stderr, whoever's text is in it. The command's own words
    /// are on the first line. The lines after it are quoted: the last lines of an installer, or a
    /// name with a line break in it.
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

/// Callers hold the lock for one look or one change. Nothing is written meanwhile.
fn ends() -> MutexGuard<'static, [End; 2]> {
    ENDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the log to stderr. Each entry is one line of the command's own.
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
