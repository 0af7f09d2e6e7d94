//! What a script displays, for people.

use std::io;

use belljar::Display;

use super::{Printer, Stream};
use crate::pictures::notice;

impl Printer {
    /// Shows what a script displays: its picture, or a line about it, or its text.
    ///
    /// The text is for people. Where stdout leads to a program, it goes to stderr: what a program
    /// reads there is what the script printed.
    pub(super) fn display(&self, display: &Display) -> io::Result<()> {
        if let Some(picture) = self.pictures.and_then(|protocol| protocol.picture(display)) {
            let _screen = self.screen(Stream::Stdout);
            self.make_room(Stream::Stdout)?;
            return self.write(Stream::Stdout, &picture);
        }
        if let Some(notice) = notice(display) {
            // The file's name is told when it is there.
            return if self.saves_displays { Ok(()) } else { self.note(&notice) };
        }
        let Some(text) = display.text() else { return Ok(()) };
        let stream = if self.is_stdout_terminal { Stream::Stdout } else { Stream::Stderr };
        self.make_room(stream)?;
        self.script(stream, &format!("{}\n", text.trim_end_matches('\n')))
    }
}
