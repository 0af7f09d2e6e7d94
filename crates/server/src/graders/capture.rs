//! Keeps what a program prints, up to a limit, and says when that is reached.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar::OutputStream;
use belljar::program::ProgramSink;
use tokio::sync::Notify;

/// Both streams of one program. Clones are the same.
#[derive(Clone)]
pub(super) struct Capture(Arc<Shared>);

struct Shared {
    kept: Mutex<Kept>,
    is_over: Notify,
    most: usize,
}

#[derive(Default)]
struct Kept {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Both, as they came, if that is wanted.
    both: Option<Vec<u8>>,
    flooded: Option<OutputStream>,
}

/// What was printed.
pub(super) struct Printed {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) both: Option<String>,
    /// The stream of which there is more.
    pub(super) flooded: Option<OutputStream>,
}

impl Capture {
    /// Keeps so many bytes of each stream.
    pub(super) fn new(most: u64, in_order: bool) -> Self {
        let kept = Kept { both: in_order.then(Vec::new), ..Kept::default() };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self(Arc::new(Shared { kept: Mutex::new(kept), is_over: Notify::new(), most }))
    }

    /// Waits until more was printed than is kept.
    pub(super) async fn flooded(&self) {
        // One notice is kept for whoever comes later.
        self.0.is_over.notified().await;
    }

    pub(super) fn take(&self) -> Printed {
        let kept = std::mem::take(&mut *self.lock());
        Printed {
            stdout: text(kept.stdout),
            stderr: text(kept.stderr),
            both: kept.both.map(text),
            flooded: kept.flooded,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes as text. What is not UTF-8 becomes replacement characters, one by one, and the rest stays.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

impl ProgramSink for Capture {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        let mut kept = self.lock();
        let Kept { stdout, stderr, both, flooded } = &mut *kept;
        let own = if stream == OutputStream::Stderr { stderr } else { stdout };
        let room = self.0.most.saturating_sub(own.len());
        let fits = &bytes[..room.min(bytes.len())];
        own.extend_from_slice(fits);
        if let Some(both) = both {
            both.extend_from_slice(fits);
        }
        if fits.len() < bytes.len() && flooded.is_none() {
            *flooded = Some(stream);
            self.0.is_over.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_each_stream_is_kept_and_the_first_flood_is_named() {
        let capture = Capture::new(4, true);
        let mut sink = capture.clone();
        for (stream, bytes) in [
            (OutputStream::Stdout, &b"ab"[..]),
            (OutputStream::Stderr, b"xyzzy"),
            (OutputStream::Stdout, b"cde"),
        ] {
            ProgramSink::take(&mut sink, stream, bytes);
        }
        let printed = capture.take();
        assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), ("abcd", "xyzz"));
        assert_eq!(printed.both.as_deref(), Some("abxyzzcd"));
        assert_eq!(printed.flooded, Some(OutputStream::Stderr));
    }
}
