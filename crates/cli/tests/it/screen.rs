//! A terminal to run the command on. It records everything that is written to it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::thread::JoinHandle;

use belljar::text::is_printable;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// The mark that begins the command's own lines.
pub(crate) const MARK: char = '⌂';

/// A terminal. Text written to it arrives unchanged.
pub(crate) struct Terminal {
    master: OwnedFd,
    path: PathBuf,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are pseudo-terminals");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("it is ours");
        let path = ptsname(&master, Vec::new()).expect("it has a name").into_string().expect("a path");
        let terminal = Self { master, path: path.into() };
        let other_end = terminal.other_end();
        let mut mode = tcgetattr(&other_end).expect("it is a terminal");
        mode.make_raw();
        tcsetattr(&other_end, OptionalActions::Now, &mode).expect("it can be set");
        terminal
    }

    /// The other end, for a stream of the command.
    pub(crate) fn other_end(&self) -> File {
        OpenOptions::new().read(true).write(true).open(&self.path).expect("its other end can be opened")
    }

    /// Reads until nobody has the other end open any longer.
    fn read_all(self) -> JoinHandle<Vec<u8>> {
        let mut master = File::from(self.master);
        std::thread::spawn(move || {
            let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
            loop {
                match master.read(&mut piece) {
                    Ok(0) => return seen,
                    Ok(read) => seen.extend_from_slice(&piece[..read]),
                    // The kernel's error for the end.
                    Err(error) if error.raw_os_error() == Some(5) => return seen,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => panic!("{error}"),
                }
            }
        })
    }
}

/// Runs the command with a terminal as its stdout and stderr. Returns what it wrote, and its exit
/// code.
pub(crate) fn on_a_terminal(mut command: Command, stdin: &[u8]) -> (Screen, Option<i32>) {
    let terminal = Terminal::new();
    command.stdout(terminal.other_end()).stderr(terminal.other_end());
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    let mut child = command.spawn().expect("the binary was built for this test");
    // Otherwise the other end stays open here.
    drop(command);
    let seen = terminal.read_all();
    let mut input = child.stdin.take().expect("stdin is a pipe");
    // A command that refuses its arguments does not read its stdin.
    drop(input.write_all(stdin));
    drop(input);
    let code = child.wait().expect("it ends").code();
    let seen = seen.join().expect("reading does not panic");
    (Screen(String::from_utf8(seen).expect("it writes UTF-8")), code)
}

/// Everything that was written to a terminal.
#[derive(Debug)]
pub(crate) struct Screen(pub(crate) String);

impl Screen {
    /// Asserts that nothing in it acts on the terminal but line breaks, tabs and colours.
    pub(crate) fn assert_tame(&self) {
        let mut rest = self.0.as_str();
        while let Some(c) = rest.chars().next() {
            let length = match c {
                '\x1b' => {
                    let end = rest.find('m').unwrap_or_else(|| panic!("no colour: {self:#?}"));
                    let parameters = rest[1..end].strip_prefix('[').unwrap_or("no colour");
                    let is_colour = parameters.chars().all(|c| c.is_ascii_digit() || c == ';' || c == ':');
                    assert!(is_colour, "{:?} reached the terminal: {self:#?}", &rest[..=end]);
                    end + 1
                }
                '\n' | '\t' => 1,
                c => {
                    assert!(is_printable(c), "{c:?} reached the terminal: {self:#?}");
                    c.len_utf8()
                }
            };
            rest = &rest[length..];
        }
    }

    /// The lines as they look, without colours.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut text = String::new();
        let mut pieces = self.0.split('\x1b');
        text.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            text.push_str(piece.split_once('m').map_or(piece, |(_, after)| after));
        }
        text.lines().map(str::to_owned).collect()
    }

    /// The lines that are marked as somebody else's.
    pub(crate) fn theirs(&self) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.starts_with("· ")).collect()
    }

    /// The lines that look like the command's own.
    pub(crate) fn ours(&self) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.contains(MARK)).collect()
    }
}

/// Runs the command with a terminal as stdin, stdout and stderr, while somebody types. The terminal
/// cannot move its cursor, so nothing edits lines; `tmux.rs` has one that can. Returns what the
/// command wrote.
pub(crate) fn typed_on(terminal: Terminal, mut command: Command, typed: &str) -> Screen {
    command.stdout(terminal.other_end()).stderr(terminal.other_end());
    command.env_remove("NO_COLOR").env("TERM", "dumb");
    let mut child = command.spawn().expect("the binary was built for this test");
    drop(command);
    let mut keyboard = File::from(terminal.master.try_clone().expect("a descriptor can be copied"));
    keyboard.write_all(typed.as_bytes()).expect("it takes what is typed");
    drop(keyboard);
    let seen = terminal.read_all();
    child.wait().expect("it ends");
    Screen(String::from_utf8(seen.join().expect("reading does not panic")).expect("it writes UTF-8"))
}
