//! The stream of a container without a terminal: stdout and stderr, cut into frames.
//!
//! A frame is eight bytes, `[stream][0][0][0][length, big-endian]`, and a payload. The boundaries
//! of frames and reads mean nothing: a line may span many frames, and a frame may hold many lines.

use bytes::{Buf, BytesMut};

const HEADER: usize = 8;

/// Which stream a payload belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// The bytes are not such a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the daemon's stream has a frame of type {kind}, which is neither stdout nor stderr")]
pub(super) struct NotAFrame {
    kind: u8,
}

/// Takes frames apart, wherever reads cut them.
#[derive(Debug, Default)]
pub(super) struct Frames {
    header: [u8; HEADER],
    /// How many bytes of the header have arrived.
    have: usize,
    /// How many bytes of the payload are still to come.
    left: usize,
}

impl Frames {
    /// Takes everything that was read, and appends each payload to its stream.
    pub(super) fn take(
        &mut self,
        mut read: &[u8],
        stdout: &mut BytesMut,
        stderr: &mut BytesMut,
    ) -> Result<(), NotAFrame> {
        while !read.is_empty() {
            if self.left == 0 {
                let taken = read.len().min(HEADER - self.have);
                self.header[self.have..self.have + taken].copy_from_slice(&read[..taken]);
                self.have += taken;
                read.advance(taken);
                if self.have < HEADER {
                    return Ok(());
                }
                let length = self.header[4..].try_into().expect("it has eight bytes");
                self.left = u32::from_be_bytes(length) as usize;
                self.stream()?;
                if self.left == 0 {
                    self.have = 0;
                }
                continue;
            }
            let taken = read.len().min(self.left);
            match self.stream()? {
                Stream::Stdout => stdout.extend_from_slice(&read[..taken]),
                Stream::Stderr => stderr.extend_from_slice(&read[..taken]),
            }
            read.advance(taken);
            self.left -= taken;
            if self.left == 0 {
                self.have = 0;
            }
        }
        Ok(())
    }

    /// Whether the stream may end here.
    pub(super) fn is_between_frames(&self) -> bool {
        self.have == 0
    }

    fn stream(&self) -> Result<Stream, NotAFrame> {
        match self.header[0] {
            // Docker calls stream 0 stdin, but here it is output too. Some daemons send it for
            // empty frames.
            0 | 1 => Ok(Stream::Stdout),
            2 => Ok(Stream::Stderr),
            kind => Err(NotAFrame { kind }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind, 0, 0, 0];
        bytes.extend((payload.len() as u32).to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    fn read(pieces: &[&[u8]]) -> (Vec<u8>, Vec<u8>, bool) {
        let (mut frames, mut out, mut err) = (Frames::default(), BytesMut::new(), BytesMut::new());
        for piece in pieces {
            frames.take(piece, &mut out, &mut err).unwrap();
        }
        (out.to_vec(), err.to_vec(), frames.is_between_frames())
    }

    #[test]
    fn every_split_of_headers_and_payloads_gives_the_same() {
        let stream =
            [frame(1, b"one\ntwo\nth"), frame(2, b"noise"), frame(1, b""), frame(1, b"ree\n")].concat();
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
                let (out, err, whole) = read(&pieces);
                assert_eq!(
                    (out.as_slice(), err.as_slice(), whole),
                    (&b"one\ntwo\nthree\n"[..], &b"noise"[..], true)
                );
            }
        }
    }

    #[test]
    fn the_end_in_the_middle_is_noticed() {
        let stream = frame(1, b"abc");
        for cut in 1..stream.len() {
            let (out, _, whole) = read(&[&stream[..cut]]);
            assert!(!whole, "cut at {cut}");
            assert_eq!(out, stream[8.min(cut)..cut]);
        }
    }

    #[test]
    fn a_line_of_a_megabyte_comes_through_in_any_number_of_frames() {
        let line = vec![b'x'; 1 << 20];
        let stream: Vec<u8> = line.chunks(4096).flat_map(|chunk| frame(1, chunk)).collect();
        let pieces: Vec<&[u8]> = stream.chunks(1000).collect();
        assert_eq!(read(&pieces).0, line);
        assert_eq!(read(&[&frame(1, &line)]).0, line);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let (mut frames, mut out, mut err) = (Frames::default(), BytesMut::new(), BytesMut::new());
        let error = frames.take(b"HTTP/1.1 200 OK", &mut out, &mut err).unwrap_err();
        assert_eq!(error, NotAFrame { kind: b'H' });
    }

    proptest! {
        #[test]
        fn payloads_come_out_in_order_whatever_the_cuts(
            parts in vec((1u8..=2, vec(any::<u8>(), 0..40)), 0..20),
            cut in 1usize..17,
        ) {
            let stream: Vec<u8> = parts.iter().flat_map(|(kind, payload)| frame(*kind, payload)).collect();
            let pieces: Vec<&[u8]> = stream.chunks(cut).collect();
            let (out, err, whole) = read(&pieces);
            let of = |wanted: u8| -> Vec<u8> {
                parts.iter().filter(|(kind, _)| *kind == wanted).flat_map(|(_, payload)| payload.clone()).collect()
            };
            prop_assert_eq!(out, of(1));
            prop_assert_eq!(err, of(2));
            prop_assert!(whole);
        }
    }
}
