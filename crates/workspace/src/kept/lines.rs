//! What a session has printed so far: a ring of bytes, and where its lines begin.
//!
//! Both streams are in it, in the order in which they came. Lines and bytes are counted from the
//! beginning, also where the beginning is no longer kept. A reader by lines and a reader by bytes
//! have a place each.

use std::collections::VecDeque;

/// The output of one session.
#[derive(Debug)]
pub(super) struct Log {
    most_lines: usize,
    most_bytes: usize,
    bytes: VecDeque<u8>,
    /// The number of the first byte that is kept.
    first_byte: u64,
    /// Where each whole line that is kept begins, and where it ends without its newline.
    lines: VecDeque<(u64, u64)>,
    /// The number of the first line that is kept.
    first_line: u64,
    /// Where the line begins that has not ended.
    open: u64,
    line_cursor: u64,
    byte_cursor: u64,
}

/// Some lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) text: String,
    pub(super) offset: u64,
    pub(super) next: u64,
    pub(super) byte_offset: u64,
    pub(super) next_byte: u64,
}

/// A line that is longer is cut in two: nobody waits for its end.
const LONGEST_LINE: u64 = 64 << 10;

impl Log {
    pub(super) fn new(most_lines: usize, most_bytes: usize) -> Self {
        Self {
            most_lines: most_lines.max(1),
            most_bytes: most_bytes.max(1),
            bytes: VecDeque::new(),
            first_byte: 0,
            lines: VecDeque::new(),
            first_line: 0,
            open: 0,
            line_cursor: 0,
            byte_cursor: 0,
        }
    }

    fn end(&self) -> u64 {
        self.first_byte + self.bytes.len() as u64
    }

    fn next_line(&self) -> u64 {
        self.first_line + self.lines.len() as u64
    }

    /// Adds what was printed.
    pub(super) fn add(&mut self, printed: &[u8]) {
        for piece in printed.chunks(self.most_bytes) {
            for &byte in piece {
                let at = self.end();
                self.bytes.push_back(byte);
                if byte == b'\n' {
                    self.lines.push_back((self.open, at));
                    self.open = at + 1;
                } else if at + 1 - self.open >= LONGEST_LINE {
                    self.lines.push_back((self.open, at + 1));
                    self.open = at + 1;
                }
            }
            self.trim();
        }
    }

    /// The program has ended: what it had begun is a line.
    pub(super) fn close(&mut self) {
        if self.open < self.end() {
            self.lines.push_back((self.open, self.end()));
            self.open = self.end();
            self.trim();
        }
    }

    fn trim(&mut self) {
        let surplus = self.bytes.len().saturating_sub(self.most_bytes);
        self.bytes.drain(..surplus);
        self.first_byte += surplus as u64;
        self.open = self.open.max(self.first_byte);
        while self.lines.len() > self.most_lines
            || self.lines.front().is_some_and(|(start, _)| *start < self.first_byte)
        {
            self.lines.pop_front();
            self.first_line += 1;
        }
        // What belongs to no line that is kept is not kept either.
        let needed = self.lines.front().map_or(self.open, |(start, _)| *start);
        let surplus = usize::try_from(needed - self.first_byte).unwrap_or(0);
        self.bytes.drain(..surplus);
        self.first_byte = needed;
    }

    /// Lines from one on, at most so many. The line that has not ended is shown after the last one,
    /// and counts as none.
    pub(super) fn lines(&self, from: u64, limit: Option<usize>) -> Lines {
        let from = from.clamp(self.first_line, self.next_line());
        let skipped = usize::try_from(from - self.first_line).unwrap_or(usize::MAX);
        let limit = limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let shown: Vec<(u64, u64)> = self.lines.iter().skip(skipped).take(limit).copied().collect();
        let next = from + shown.len() as u64;
        let byte_offset = shown.first().map_or(self.open, |(start, _)| *start);
        let next_byte = match next == self.next_line() {
            true => self.open,
            false => self.lines[skipped + shown.len()].0,
        };
        let mut texts: Vec<String> = shown.iter().map(|(start, end)| self.text(*start, *end)).collect();
        if next == self.next_line() && self.open < self.end() {
            texts.push(self.text(self.open, self.end()));
        }
        Lines { text: texts.join("\n"), offset: from, next, byte_offset, next_byte }
    }

    /// The next lines, which are then read.
    pub(super) fn poll(&mut self, limit: Option<usize>) -> Lines {
        let lines = self.lines(self.line_cursor, limit);
        self.line_cursor = lines.next;
        lines
    }

    /// Bytes from one on, at most so many, and the number of the first.
    pub(super) fn bytes(&self, from: u64, limit: Option<usize>) -> (u64, Vec<u8>) {
        let from = from.clamp(self.first_byte, self.end());
        let skipped = usize::try_from(from - self.first_byte).unwrap_or(usize::MAX);
        let limit = limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        (from, self.bytes.iter().skip(skipped).take(limit).copied().collect())
    }

    /// The next bytes, which are then read.
    pub(super) fn poll_bytes(&mut self, limit: Option<usize>) -> (u64, Vec<u8>) {
        let (from, bytes) = self.bytes(self.byte_cursor, limit);
        self.byte_cursor = from + bytes.len() as u64;
        (from, bytes)
    }

    fn text(&self, start: u64, end: u64) -> String {
        let skipped = usize::try_from(start - self.first_byte).unwrap_or(usize::MAX);
        let length = usize::try_from(end - start).unwrap_or(usize::MAX);
        let bytes: Vec<u8> = self.bytes.iter().skip(skipped).take(length).copied().collect();
        // A terminal ends lines with both.
        let line = bytes.strip_suffix(b"\r").unwrap_or(&bytes);
        String::from_utf8_lossy(line).replace("\r\n", "\n")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(lines: &Lines) -> (&str, u64, u64) {
        (&lines.text, lines.offset, lines.next)
    }

    #[test]
    fn case_72_lines_that_are_not_kept_are_skipped() {
        let mut log = Log::new(2, 1 << 20);
        log.add(b"one\ntwo\nthree");
        log.add(b"\nerr\n");
        assert_eq!(read(&log.lines(0, None)), ("three\nerr", 2, 4));
        assert_eq!(read(&log.poll(None)), ("three\nerr", 2, 4));
        assert_eq!(read(&log.poll(None)), ("", 4, 4));
    }

    #[test]
    fn case_73_offsets_are_brought_to_what_is_there() {
        let mut log = Log::new(2, 1 << 20);
        log.add(b"one\ntwo\nthree\nfour\ntail");
        assert_eq!(read(&log.lines(0, Some(1))), ("three", 2, 3));
        assert_eq!(read(&log.lines(10, None)), ("tail", 4, 4));
        assert_eq!(read(&log.poll(Some(1))), ("three", 2, 3));
        assert_eq!(read(&log.poll(None)), ("four\ntail", 3, 4));
        log.close();
        assert_eq!(read(&log.poll(None)), ("tail", 4, 5));
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory_for_ever() {
        let mut log = Log::new(10, 1 << 20);
        for _ in 0..200 {
            log.add(&[b'x'; 100_000]);
        }
        assert!(log.bytes.len() <= 1 << 20);
        assert_eq!(log.end(), 20_000_000);
    }

    proptest! {
        /// Whoever polls by bytes often enough loses nothing, whatever is printed in which pieces.
        #[test]
        fn bytes_are_whole(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..30)) {
            let (mut log, mut read) = (Log::new(1000, 1 << 20), Vec::new());
            for piece in &pieces {
                log.add(piece);
                read.extend(log.poll_bytes(Some(7)).1);
            }
            log.close();
            read.extend(log.poll_bytes(None).1);
            prop_assert_eq!(read, pieces.concat());
        }

        #[test]
        fn no_output_breaks_it(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..30), most_lines in 1usize..4, most_bytes in 1usize..50, from in 0u64..300) {
            let mut log = Log::new(most_lines, most_bytes);
            for piece in &pieces {
                log.add(piece);
                let lines = log.lines(from, Some(2));
                prop_assert!(lines.offset <= lines.next && lines.byte_offset <= lines.next_byte);
                log.poll(Some(1));
                prop_assert!(log.bytes.len() <= most_bytes && log.lines.len() <= most_lines);
            }
        }
    }
}
