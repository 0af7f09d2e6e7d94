//! Messages as they are on a kernel's websocket: the form `v1.kernel.websocket.jupyter.org`.
//!
//! ```text
//!  how many offsets (8 bytes) | offsets (8 each) | channel | header | parent | metadata | content | …
//! ```
//!
//! Numbers are little-endian. Each offset is where a part begins; the last is where all ends. The
//! content stays as it came until somebody wants it, so what is not wanted costs little.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

/// Parts that a message must have: channel, header, parent, metadata, content.
const LEAST_PARTS: usize = 5;
/// Parts that are looked at. Buffers behind the content are of no use here.
const MOST_OFFSETS: u64 = 4096;

/// A message from a kernel, or from the gateway on its behalf.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) kind: String,
    /// Of the process that sent it.
    pub(crate) session: String,
    /// The request that it belongs to. Empty if it belongs to none.
    pub(crate) parent: String,
    content: Bytes,
}

#[derive(Deserialize, Default)]
struct Header {
    #[serde(default)]
    msg_id: String,
    #[serde(default)]
    msg_type: String,
    #[serde(default)]
    session: String,
}

impl Message {
    /// Reads a message. `None` if it is not one.
    pub(crate) fn read(bytes: &Bytes) -> Option<Self> {
        let number = |at: usize| -> Option<u64> {
            Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
        };
        let offsets = number(0).filter(|count| *count <= MOST_OFFSETS)?;
        if usize::try_from(offsets).ok()? < LEAST_PARTS + 1 {
            return None;
        }
        let part = |index: usize| -> Option<Bytes> {
            let (from, to) = (number(8 * (index + 1))?, number(8 * (index + 2))?);
            let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
            (from <= to && to <= bytes.len()).then(|| bytes.slice(from..to))
        };
        let header: Header = serde_json::from_slice(&part(1)?).ok()?;
        let parent: Header = serde_json::from_slice(&part(2)?).unwrap_or_default();
        Some(Self {
            kind: header.msg_type,
            session: header.session,
            parent: parent.msg_id,
            content: part(4)?,
        })
    }

    /// What it says, as JSON that is repaired where not every reader could read it.
    pub(crate) fn content<T: for<'de> Deserialize<'de>>(&self) -> Option<T> {
        let text = String::from_utf8_lossy(&self.content);
        let (json, _) = belljar_core::Json::parse_repaired(&text).ok()?;
        json.to().ok()
    }

    /// Whether a kernel has done what its request asked for.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().is_some_and(|state| state == "idle")
    }

    /// Whether the gateway says that the kernel's process has ended. It restarts it, or gives up.
    pub(crate) fn tells_of_death(&self) -> bool {
        self.parent.is_empty() && self.state().is_some_and(|state| state == "restarting" || state == "dead")
    }

    fn state(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Status {
            execution_state: String,
        }
        let status: Status = (self.kind == "status").then(|| self.content())??;
        Some(status.execution_state)
    }

    /// Bytes of what it says.
    pub(crate) fn size(&self) -> usize {
        self.content.len()
    }
}

/// A message for a kernel, on its shell channel.
pub(crate) fn request(session: &str, id: &str, kind: &str, content: &serde_json::Value) -> Vec<u8> {
    let header = json!({
        "msg_id": id, "session": session, "username": "belljar", "msg_type": kind, "version": "5.3",
    });
    frame(["shell", &header.to_string(), "{}", "{}", &content.to_string()])
}

fn frame(parts: [&str; LEAST_PARTS]) -> Vec<u8> {
    let mut offset = 8 * (1 + parts.len() + 1);
    let mut written = Vec::with_capacity(offset + parts.iter().map(|part| part.len()).sum::<usize>());
    let write = |written: &mut Vec<u8>, number: usize| {
        written.extend_from_slice(&(number as u64).to_le_bytes());
    };
    write(&mut written, parts.len() + 1);
    write(&mut written, offset);
    for part in parts {
        offset += part.len();
        write(&mut written, offset);
    }
    parts.iter().for_each(|part| written.extend_from_slice(part.as_bytes()));
    written
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A message as a kernel could send it.
    pub(crate) fn said(kind: &str, content: &serde_json::Value) -> Message {
        Message::read(&request("s", "m", kind, content).into()).unwrap()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let message = said("stream", &json!({"text": "é"}));
        assert_eq!(
            (message.kind.as_str(), message.session.as_str(), message.parent.as_str()),
            ("stream", "s", "")
        );
        assert_eq!(message.content::<serde_json::Value>(), Some(json!({"text": "é"})));
    }

    #[test]
    fn text_that_is_not_unicode_is_repaired() {
        let header = r#"{"msg_type":"stream"}"#;
        let bytes = frame(["iopub", header, "{}", "{}", r#"{"text":"\ud800x"}"#]);
        let message = Message::read(&bytes.into()).unwrap();
        let content: serde_json::Value = message.content().expect("it is repaired");
        assert!(content["text"].as_str().unwrap().ends_with('x'), "{content}");
    }

    proptest! {
        #[test]
        fn bytes_that_are_no_message_are_refused_without_harm(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..200), count in 0u64..10,
        ) {
            let _ = Message::read(&Bytes::from(bytes.clone()));
            if bytes.len() >= 8 {
                bytes[..8].copy_from_slice(&count.to_le_bytes());
                let _ = Message::read(&bytes.into());
            }
        }

        #[test]
        fn a_message_with_one_wrong_byte_does_no_harm(at in 0usize..200, byte in any::<u8>()) {
            let mut bytes = request("s", "m", "stream", &json!({"text": "hello"}));
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = Message::read(&bytes.into()).and_then(|read| read.content::<serde_json::Value>());
        }
    }
}
