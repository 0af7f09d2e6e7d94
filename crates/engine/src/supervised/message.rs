//! What a supervisor says, and what it is told.
//!
//! A message is a line of JSON. Some are followed by raw bytes, as many as they say. Only the
//! supervisor holds its own stdout, so a script wrote nothing here except the bytes inside an
//! `output`.

use std::path::PathBuf;

use bytes::{Buf, Bytes, BytesMut};
use serde::Deserialize;

use crate::cell::{Burst, CellUsage};
use crate::guest::PROXY_PORT;

/// What the supervisor says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    Ready(Ready),
    NotReady {
        reason: String,
    },
    Output {
        burst: Burst,
        counted: Counted,
    },
    Usage(Counted),
    /// A guest makes its first socket of the Internet families.
    SocketsMade,
    /// The guest lives, but has closed everything it could speak through.
    Closed,
    Ended {
        status: i32,
        counted: Counted,
    },
    /// Everything that was said before the question is told.
    Settled(Counted),
    ResetDone(Counted),
    ResetFailed {
        reason: String,
    },
    /// The answer to one order about files.
    Files(FilesAnswer),
    /// The guest has read so much more from its stdin, or never will.
    StdinTaken {
        size: usize,
    },
}

/// What became of an order about files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilesAnswer {
    /// Why it failed, as the kernel numbers it.
    pub(super) errno: Option<i32>,
    pub(super) number: u64,
    pub(super) payload: Bytes,
}

/// What there is to know about a container that came up.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Ready {
    pub(crate) usage: Usage,
    pub(crate) protocol: u32,
    pub(crate) python: String,
    pub(crate) tools: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// Modules that need not be tried again before they are preloaded.
    #[serde(default)]
    pub(crate) vouched: Option<Vec<String>>,
    pub(crate) surroundings: Surroundings,
}

/// What the supervisor finds around itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Surroundings {
    /// Of the machine it runs on.
    pub(crate) boot_id: String,
    /// Device and inode of each granted path, in the order of the config.
    pub(crate) granted: Vec<(u64, u64)>,
    /// The same paths with every link of the image's replaced by what it says.
    pub(crate) places: Vec<PathBuf>,
}

/// What the kernel had counted when the message was written; absent where nobody looked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) usage: Option<CellUsage>,
    pub(super) scratch_is_full: Option<bool>,
}

/// What came is no such message: the container is not ours any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Garbled {
    #[error("a message is no JSON: {0}")]
    NotJson(String),
    #[error("a message is longer than {LONGEST_LINE} bytes")]
    TooLong,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Ready(Ready),
    NotReady {
        reason: String,
    },
    Output {
        channel: usize,
        stdout: usize,
        stderr: usize,
        #[serde(default)]
        ahead: [usize; 2],
        usage: Option<Usage>,
        scratch_is_full: Option<bool>,
    },
    Usage {
        usage: Usage,
    },
    SocketsMade,
    Closed,
    Ended {
        status: i32,
        usage: Usage,
        scratch_is_full: Option<bool>,
    },
    Settled {
        usage: Usage,
    },
    ResetDone {
        usage: Usage,
    },
    ResetFailed {
        reason: String,
    },
    Files {
        errno: Option<i32>,
        number: u64,
        size: usize,
    },
    StdinTaken {
        size: usize,
    },
}

/// As the supervisor reads it from its control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Usage {
    cpu_micros: Option<u64>,
    peak_memory_bytes: Option<u64>,
    oom_kills: Option<u64>,
    forks_refused: Option<u64>,
}

impl From<Usage> for CellUsage {
    fn from(usage: Usage) -> Self {
        let Usage { cpu_micros, peak_memory_bytes, oom_kills, forks_refused } = usage;
        Self { cpu_micros, peak_memory_bytes, oom_kills, forks_refused }
    }
}

/// A `ready` with many warnings is the longest; output is not in the line.
const LONGEST_LINE: usize = 4 << 20;
/// As much as the supervisor puts into one message, and then some.
const LONGEST_OUTPUT: usize = 16 << 20;

/// Takes messages out of a stream, however it is cut.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// Up to where the buffer is known to hold no newline.
    scanned: usize,
    /// A message whose bytes are not all there.
    expected: Option<Expected>,
}

/// A message without its bytes.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Output { channel: usize, stdout: usize, stderr: usize, ahead: [usize; 2], counted: Counted },
    Files { errno: Option<i32>, number: u64, size: usize },
}

impl Expected {
    fn bytes(self) -> usize {
        match self {
            Self::Output { channel, stdout, stderr, .. } => channel + stdout + stderr,
            Self::Files { size, .. } => size,
        }
    }

    /// The message, once its bytes are at the front of the buffer.
    fn complete(self, buffer: &mut BytesMut) -> Message {
        let mut take = |size| buffer.split_to(size).freeze();
        match self {
            Self::Output { channel, stdout, stderr, ahead, counted } => {
                let burst =
                    Burst { channel: take(channel), stdout: take(stdout), stderr: take(stderr), ahead };
                Message::Output { burst, counted }
            }
            Self::Files { errno, number, size } => {
                Message::Files(FilesAnswer { errno, number, payload: take(size) })
            }
        }
    }
}

impl Messages {
    /// The next whole message at the front of a buffer, which must be the same one each time.
    pub(super) fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Message>, Garbled> {
        loop {
            if let Some(expected) = self.expected {
                if buffer.len() < expected.bytes() {
                    return Ok(None);
                }
                self.expected = None;
                return Ok(Some(expected.complete(buffer)));
            }
            let Some(found) = buffer[self.scanned..].iter().position(|byte| *byte == b'\n') else {
                self.scanned = buffer.len();
                return if self.scanned > LONGEST_LINE { Err(Garbled::TooLong) } else { Ok(None) };
            };
            let line = buffer.split_to(self.scanned + found);
            buffer.advance(1);
            self.scanned = 0;
            let parsed =
                serde_json::from_slice(&line).map_err(|error| Garbled::NotJson(error.to_string()))?;
            if let Some(message) = self.understand(parsed)? {
                return Ok(Some(message));
            }
        }
    }

    fn understand(&mut self, line: Line) -> Result<Option<Message>, Garbled> {
        let counted = |usage: Option<Usage>, scratch_is_full| Counted {
            usage: usage.map(CellUsage::from),
            scratch_is_full,
        };
        Ok(Some(match line {
            Line::Ready(ready) => Message::Ready(ready),
            Line::NotReady { reason } => Message::NotReady { reason },
            Line::Output { channel, stdout, stderr, ahead, usage, scratch_is_full } => {
                if channel.saturating_add(stdout).saturating_add(stderr) > LONGEST_OUTPUT {
                    return Err(Garbled::TooLong);
                }
                let counted = counted(usage, scratch_is_full);
                self.expected = Some(Expected::Output { channel, stdout, stderr, ahead, counted });
                return Ok(None);
            }
            Line::Files { errno, number, size } => {
                if size > LONGEST_OUTPUT {
                    return Err(Garbled::TooLong);
                }
                self.expected = Some(Expected::Files { errno, number, size });
                return Ok(None);
            }
            Line::Usage { usage } => Message::Usage(counted(Some(usage), None)),
            Line::SocketsMade => Message::SocketsMade,
            Line::Closed => Message::Closed,
            Line::Ended { status, usage, scratch_is_full } => {
                Message::Ended { status, counted: counted(Some(usage), scratch_is_full) }
            }
            Line::Settled { usage } => Message::Settled(counted(Some(usage), None)),
            Line::StdinTaken { size } => Message::StdinTaken { size },
            Line::ResetDone { usage } => Message::ResetDone(counted(Some(usage), None)),
            Line::ResetFailed { reason } => Message::ResetFailed { reason },
        }))
    }
}

/// The line in front of bytes for the guest.
pub(super) fn input(size: usize) -> String {
    format!("{{\"type\":\"input\",\"size\":{size}}}\n")
}

/// Tells of a new proxy to bring a listener to, whose door is this socket.
pub(super) fn egress(socket: &str, authority: Option<&str>) -> String {
    let mut line = egress_settings(socket);
    line["authority"] = authority.into();
    line["type"] = "egress".into();
    format!("{line}\n")
}

/// What the supervisor must know to bring its listener to the proxy. The socket's secret name is
/// all it needs to be let in.
pub(crate) fn egress_settings(socket: &str) -> serde_json::Value {
    serde_json::json!({ "port": PROXY_PORT.get(), "socket": socket })
}

/// Sends the guest SIGINT.
pub(super) const INTERRUPT: &[u8] = b"{\"type\":\"interrupt\"}\n";

/// Sends the guest's process group SIGINT.
pub(super) const INTERRUPT_ALL: &[u8] = b"{\"type\":\"interrupt_all\"}\n";

/// Sends the guest's process group SIGTERM.
pub(super) const TERMINATE: &[u8] = b"{\"type\":\"terminate\"}\n";

/// Asks for what the guest has said by now.
pub(super) const SETTLE: &[u8] = b"{\"type\":\"settle\"}\n";

/// Hands the guest a new descriptor to read from.
pub(super) const STDIN: &[u8] = b"{\"type\":\"stdin\"}\n";

/// The line in front of bytes for that descriptor.
pub(super) fn stdin_data(size: usize) -> String {
    format!("{{\"type\":\"stdin_data\",\"size\":{size}}}\n")
}

/// Nothing more comes for that descriptor.
pub(super) const STDIN_END: &[u8] = b"{\"type\":\"stdin_end\"}\n";

/// Has every process of the guest killed. Its files stay.
pub(super) const STILL: &[u8] = b"{\"type\":\"still\"}\n";

/// Sends for a clerk, who answers orders about files until it is let go.
pub(super) const FILES: &[u8] = b"{\"type\":\"files\"}\n";

/// Asks for a guest as good as new.
pub(super) const RESET: &[u8] = b"{\"type\":\"reset\"}\n";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn messages(stream: &[u8], cut: usize) -> Vec<Message> {
        let (mut messages, mut buffer, mut found) = (Messages::default(), BytesMut::new(), Vec::new());
        for piece in stream.chunks(cut.max(1)) {
            buffer.extend_from_slice(piece);
            while let Some(message) = messages.next(&mut buffer).unwrap() {
                found.push(message);
            }
        }
        found
    }

    fn first(stream: &[u8]) -> Result<Option<Message>, Garbled> {
        Messages::default().next(&mut BytesMut::from(stream))
    }

    const USAGE: &str = r#"{"cpu_micros":5,"peak_memory_bytes":null,"oom_kills":1,"forks_refused":0}"#;

    #[test]
    fn messages_and_the_bytes_behind_them_come_apart_at_every_cut() {
        let stream = format!(
            "{{\"type\":\"output\",\"channel\":3,\"stdout\":2,\"stderr\":0,\"ahead\":[1,0],\"usage\":{USAGE}}}\n\n{{}}o\n{{\"type\":\"closed\"}}\n\
             {{\"type\":\"ended\",\"status\":9,\"usage\":{USAGE}}}\n\
             {{\"type\":\"files\",\"number\":7,\"size\":3,\"errno\":null}}\na\nb"
        );
        let whole = messages(stream.as_bytes(), usize::MAX);
        assert_eq!(whole.len(), 4);
        let answer = FilesAnswer { errno: None, number: 7, payload: Bytes::from_static(b"a\nb") };
        assert_eq!(whole[3], Message::Files(answer));
        let Message::Output { burst, counted } = &whole[0] else { panic!("{whole:?}") };
        assert_eq!(
            (&burst.channel[..], &burst.stdout[..], &burst.stderr[..]),
            (&b"\n{}"[..], &b"o\n"[..], &b""[..])
        );
        assert_eq!((counted.usage.unwrap().cpu_micros, burst.ahead), (Some(5), [1, 0]));
        for cut in 1..stream.len() {
            assert_eq!(messages(stream.as_bytes(), cut), whole, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for stream in ["hello\n", "{\"type\":\"other\"}\n", "{\"type\":\"output\"}\n", "\n"] {
            assert!(matches!(first(stream.as_bytes()), Err(Garbled::NotJson(_))), "{stream}");
        }
        let large = b"{\"type\":\"files\",\"number\":0,\"size\":99999999999,\"errno\":null}\n";
        assert_eq!(first(large), Err(Garbled::TooLong));
        let much = b"{\"type\":\"output\",\"channel\":99999999999,\"stdout\":0,\"stderr\":0}\n";
        assert_eq!(first(much), Err(Garbled::TooLong));
        assert_eq!(first(&vec![b'x'; LONGEST_LINE + 1]), Err(Garbled::TooLong));
    }

    proptest! {
        #[test]
        fn no_stream_makes_it_panic(stream in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (mut messages, mut buffer) = (Messages::default(), BytesMut::from(&stream[..]));
            while let Ok(Some(_)) = messages.next(&mut buffer) {}
        }
    }
}
