//! The names of workspaces that outlive cells.

/// The name of a kept workspace, which is one of a directory: letters, digits, `-` and `_`. So it
/// never leads anywhere else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeptName([u8; KeptName::LONGEST]);

impl KeptName {
    /// How many bytes it may have.
    pub const LONGEST: usize = 64;

    /// `None` for what is no such name.
    pub fn new(name: &str) -> Option<Self> {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let fits = (1..=Self::LONGEST).contains(&name.len()) && name.bytes().all(is_good);
        fits.then(|| {
            let mut padded = [0; Self::LONGEST];
            padded[..name.len()].copy_from_slice(name.as_bytes());
            Self(padded)
        })
    }

    /// Reads one back that may be followed by zeros.
    pub(crate) fn from_padded(padded: &[u8]) -> Option<Self> {
        let end = padded.iter().position(|byte| *byte == 0).unwrap_or(padded.len());
        Self::new(std::str::from_utf8(&padded[..end]).ok()?)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(Self::LONGEST);
        std::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }
}

impl std::fmt::Debug for KeptName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

#[cfg(all(test, not(belljar_cell_library), not(belljar_helper)))]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_anywhere_else() {
        for name in ["", ".", "..", "a/b", "/", "a\0b", "é", "a b", &"x".repeat(65)] {
            assert_eq!(KeptName::new(name), None, "{name:?}");
        }
        assert_eq!(KeptName::new("job-17_B").unwrap().as_str(), "job-17_B");
    }
}
