//! Splits a byte stream into lines, and never holds more than its limit.

/// An incremental line splitter.
///
/// Bytes go in as they arrive, and whole lines come out. A part without a newline stays inside, up
/// to the limit.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins. The bytes before it have been handed out.
    start: usize,
    /// The unfinished line has no newline up to here, so no byte is looked at twice.
    scanned: usize,
    limit: usize,
}

/// A line grew past the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than {limit} bytes")]
pub struct LineTooLong {
    /// The limit it passed.
    pub limit: usize,
}

impl Lines {
    /// A splitter that refuses lines over `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, scanned: 0, limit }
    }

    /// Adds bytes that were read.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line, without its newline. `None` if more bytes are needed.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, LineTooLong> {
        let Some(found) = self.buffer[self.scanned..].iter().position(|&byte| byte == b'\n') else {
            self.scanned = self.buffer.len();
            return match self.buffer.len() - self.start > self.limit {
                true => Err(LineTooLong { limit: self.limit }),
                false => Ok(None),
            };
        };
        let (from, to) = (self.start, self.scanned + found);
        self.start = to + 1;
        self.scanned = self.start;
        if to - from > self.limit {
            return Err(LineTooLong { limit: self.limit });
        }
        Ok(Some(&self.buffer[from..to]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_come_out_the_same_however_the_stream_is_cut(
            lines in prop::collection::vec("[a-z\u{e9}]{0,40}", 0..20),
            cuts in prop::collection::vec(1usize..17, 1..60),
        ) {
            let stream: Vec<u8> = lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
            let mut splitter = Lines::with_limit(100);
            let (mut seen, mut rest, mut cuts) = (Vec::new(), stream.as_slice(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (now, later) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                rest = later;
                splitter.push(now);
                while let Some(line) = splitter.next_line().unwrap() {
                    seen.push(String::from_utf8(line.to_vec()).unwrap());
                }
            }
            prop_assert_eq!(seen, lines);
        }
    }

    #[test]
    fn an_endless_line_is_refused_as_soon_as_it_passes_the_limit() {
        let mut splitter = Lines::with_limit(8);
        splitter.push(b"12345678");
        assert_eq!(splitter.next_line(), Ok(None));
        splitter.push(b"9");
        assert_eq!(splitter.next_line(), Err(LineTooLong { limit: 8 }));
    }
}
