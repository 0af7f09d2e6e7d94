//! What tells one content from another.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of what is passed on.
pub(super) struct Digest {
    hash: Sha256,
    size: u64,
}

impl Digest {
    pub(super) fn new() -> Self {
        Self { hash: Sha256::new(), size: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.size += bytes.len() as u64;
    }

    pub(super) fn of(bytes: &[u8]) -> ([u8; 32], u64) {
        let mut digest = Self::new();
        digest.add(bytes);
        digest.finish()
    }

    /// How many bytes there were so far.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The digest, and how many bytes it is of.
    pub(super) fn finish(self) -> ([u8; 32], u64) {
        (self.hash.finalize().into(), self.size)
    }
}

pub(super) fn in_hexadecimal(digest: &[u8]) -> String {
    digest.iter().fold(String::with_capacity(2 * digest.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
