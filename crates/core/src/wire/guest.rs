//! Frames the guest sends: hostile bytes until the seal says otherwise, and not trusted even then.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// One line from the guest that is a JSON object with a known `type`.
///
/// Every field but the kind is optional here, whatever the schema says, because a guest can leave anything out; the
/// reader decides what a missing field means.
#[derive(Debug, Deserialize)]
pub struct GuestFrame<'a> {
    /// Which frame it is.
    #[serde(rename = "type")]
    pub kind: GuestFrameKind,
    /// The seal of the execution it claims to belong to.
    #[serde(borrow, default)]
    pub seal: Option<Cow<'a, str>>,
    /// `log`: how loud.
    #[serde(borrow, default)]
    pub level: Option<Cow<'a, str>>,
    /// `log`, `error`: the text.
    #[serde(borrow, default)]
    pub message: Option<Cow<'a, str>>,
    /// `error`: the traceback.
    #[serde(borrow, default)]
    pub traceback: Option<Cow<'a, str>>,
    /// `error`: set when it was the guest's own alarm that ended the script.
    #[serde(default)]
    pub timed_out: bool,
    /// `intermediate`: its name.
    #[serde(borrow, default)]
    pub label: Option<Cow<'a, str>>,
    /// `intermediate`, `final_result`: the payload, unread.
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
    /// How many bytes the execution had printed to descriptor 1 before this frame, as far as the harness knows. Good for
    /// putting frames and prints in order, and for nothing else.
    #[serde(default)]
    pub stdout: Option<u64>,
    /// The same for descriptor 2.
    #[serde(default)]
    pub stderr: Option<u64>,
    /// `ready`: the protocol's number.
    #[serde(default)]
    pub protocol: Option<u32>,
}

/// The kinds of frame a guest may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GuestFrameKind {
    /// The cell can take a request.
    Ready,
    /// `emit_log`.
    Log,
    /// `emit_intermediate`.
    Intermediate,
    /// `emit_result`.
    FinalResult,
    /// The script failed.
    Error,
    /// The script is over.
    ScriptDone,
}

impl<'a> GuestFrame<'a> {
    /// Reads a line; `None` when it is not a frame, which is no more than noise.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Whether the frame belongs to the execution with this seal.
    pub fn is_sealed_with(&self, seal: &str) -> bool {
        self.seal.as_deref() == Some(seal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_not_a_frame() {
        for noise in [
            &b""[..],
            b"5",
            b"[1,2]",
            b"true",
            b"null",
            b"hello",
            b"{\"type\":\"coup\"}",
            b"{\"type\":5}",
            b"{\"type\":\"log\",\"type\":\"log\"}",
            b"{\"type\":\"log\"} {}",
            b"{\"type\":\"log\",\"message\":\"\xff\"}",
            b"{\"type\":\"final_result\",\"data\":NaN}",
        ] {
            assert!(GuestFrame::parse(noise).is_none(), "{:?}", String::from_utf8_lossy(noise));
        }
    }

    #[test]
    fn a_frame_without_the_right_seal_belongs_to_nobody() {
        let unsealed = GuestFrame::parse(b"{\"type\":\"final_result\",\"data\":1}").unwrap();
        assert!(!unsealed.is_sealed_with("abc"));
        let stale = GuestFrame::parse(b"{\"type\":\"final_result\",\"data\":1,\"seal\":\"abd\"}").unwrap();
        assert!(!stale.is_sealed_with("abc"));
        let right = GuestFrame::parse(b"{\"type\":\"final_result\",\"data\":1,\"seal\":\"abc\"}").unwrap();
        assert!(right.is_sealed_with("abc"));
    }

    #[test]
    fn deep_payloads_cost_no_stack() {
        let deep = format!(
            "{{\"type\":\"final_result\",\"data\":{}1{},\"seal\":\"s\"}}",
            "[".repeat(200_000),
            "]".repeat(200_000)
        );
        let frame = GuestFrame::parse(deep.as_bytes()).unwrap();
        assert_eq!(frame.data.unwrap().get().len(), 400_001);
    }
}
