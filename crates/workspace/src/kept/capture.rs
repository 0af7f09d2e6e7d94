//! What a program prints: a part in memory, and all of it in a file if that is not enough.

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar_core::GuestPath;
use belljar_engine::kept::KeptWorkspace;
use belljar_runtime::{OutputStream, ProgramSink};

use crate::{CutStream, Truncated};

/// Both streams of a program. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(super) struct Capture(Arc<Mutex<Streams>>);

struct Streams {
    streams: [Stream; 2],
    kept: KeptWorkspace,
    directory: String,
    most: usize,
    most_spilled: u64,
}

#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    total: u64,
    spill: Option<Spill>,
}

struct Spill {
    path: String,
    /// `None` if nothing more can be written.
    file: Option<File>,
    written: u64,
}

const NAMES: [&str; 2] = ["stdout", "stderr"];

impl Capture {
    /// Keeps so many bytes of each stream, and so many more in files of that directory.
    pub(super) fn new(kept: KeptWorkspace, directory: String, most: usize, most_spilled: u64) -> Self {
        let streams = Streams { streams: Default::default(), kept, directory, most, most_spilled };
        Self(Arc::new(Mutex::new(streams)))
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was kept: stdout, stderr, and what is missing of them.
    pub(super) fn take(&self) -> (Vec<u8>, Vec<u8>, Truncated) {
        let mut streams = self.lock();
        let cut = |stream: &Stream| {
            // A program may have put something there that is in the way.
            let spill = stream.spill.as_ref().filter(|spill| spill.written > 0);
            let spill = spill.map(|spill| spill.path.clone());
            (stream.total > stream.bytes.len() as u64)
                .then_some(CutStream { total_bytes: stream.total, spill })
        };
        let [stdout, stderr] = &mut streams.streams;
        let truncated = Truncated { stdout: cut(stdout), stderr: cut(stderr) };
        (std::mem::take(&mut stdout.bytes), std::mem::take(&mut stderr.bytes), truncated)
    }

    /// Adds what a program says that could not be started.
    pub(super) fn say(&self, line: &str) {
        let mut streams = self.lock();
        let stream = &mut streams.streams[1];
        stream.bytes.extend_from_slice(line.as_bytes());
        stream.total += line.len() as u64;
    }
}

impl ProgramSink for Capture {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        let number = usize::from(stream == OutputStream::Stderr);
        self.lock().add(number, bytes);
    }
}

impl Streams {
    fn add(&mut self, number: usize, bytes: &[u8]) {
        let stream = &mut self.streams[number];
        stream.total += bytes.len() as u64;
        let room = self.most.saturating_sub(stream.bytes.len());
        let (kept, rest) = bytes.split_at(room.min(bytes.len()));
        stream.bytes.extend_from_slice(kept);
        if rest.is_empty() {
            return;
        }
        if stream.spill.is_none() {
            let path = format!("{}/{}", self.directory, NAMES[number]);
            let file = open(&self.kept, &path);
            let mut spill = Spill { path, file, written: 0 };
            spill.write(&stream.bytes, self.most_spilled);
            stream.spill = Some(spill);
        }
        if let Some(spill) = &mut stream.spill {
            spill.write(rest, self.most_spilled);
        }
    }
}

impl Spill {
    fn write(&mut self, bytes: &[u8], most: u64) {
        let room = usize::try_from(most.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let bytes = &bytes[..room.min(bytes.len())];
        let Some(file) = &mut self.file else { return };
        match file.write_all(bytes) {
            Ok(()) => self.written += bytes.len() as u64,
            Err(error) => {
                tracing::warn!(%error, path = self.path, "what a program prints cannot be kept");
                self.file = None;
            }
        }
    }
}

/// A new file, made with the rights of the workspace's owner.
fn open(kept: &KeptWorkspace, path: &str) -> Option<File> {
    let path = GuestPath::new(path).ok()?;
    let made = kept.with_blocking(|tree| tree.create(&path, false));
    made.inspect_err(|error| tracing::warn!(%error, %path, "what a program prints cannot be kept")).ok()
}
