//! The file that tokens are kept in: one JSON array, replaced as a whole, for its owner only.
//!
//! A server reads it again when it has changed, so that a token which was taken back is refused at
//! once and nobody restarts anything.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

use super::{Token, hashed, now};

/// Why tokens cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("{}: cannot {action}", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not one of ours.
    #[error("{} is not a list of tokens: {reason}. Move it away, and make new tokens", .path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No token is called that.
    #[error("there is no token {id:?}: `belljar token ls` lists them")]
    Unknown {
        /// What was asked for.
        id: String,
    },
}

/// The tokens of one server.
#[derive(Debug)]
pub struct TokenStore {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Which file was read: its inode, length and time of change.
    version: Option<(u64, u64, i64, i64)>,
    tokens: Arc<[Token]>,
}

impl TokenStore {
    /// The tokens below a state directory.
    pub fn in_directory(state: &Path) -> Self {
        Self { path: state.join("tokens.json"), known: Mutex::default() }
    }

    /// Where they are kept.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All tokens, read again if the file has changed.
    pub fn all(&self) -> Result<Arc<[Token]>, TokenError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let version = match fs::metadata(&self.path) {
            Ok(found) => Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(self.failed("look at it")(source)),
        };
        if version != known.version {
            known.tokens = if version.is_some() { self.read()?.into() } else { Arc::default() };
            known.version = version;
        }
        Ok(known.tokens.clone())
    }

    /// The token with this text.
    pub(crate) fn find(&self, text: &str) -> Result<Option<Token>, TokenError> {
        let hash = hashed(text);
        Ok(self.all()?.iter().find(|token| token.has_hash(&hash)).cloned())
    }

    /// Keeps another token.
    pub fn add(&self, token: Token) -> Result<(), TokenError> {
        self.change(|tokens| {
            tokens.retain(|other| other.expires.is_none_or(|end| now() < end));
            tokens.push(token);
            Ok(())
        })
    }

    /// Takes a token back.
    pub fn remove(&self, id: &str) -> Result<(), TokenError> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|token| token.id != id);
            if tokens.len() == before { Err(TokenError::Unknown { id: id.to_owned() }) } else { Ok(()) }
        })
    }

    fn read(&self) -> Result<Vec<Token>, TokenError> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.failed("read it")(source)),
        };
        let damaged = |error: serde_json::Error| TokenError::Damaged {
            path: self.path.clone(),
            reason: error.to_string(),
        };
        serde_json::from_slice(&text).map_err(damaged)
    }

    /// Changes the file, one program at a time. Whoever reads it sees the old one or the new one.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Token>) -> Result<(), TokenError>,
    ) -> Result<(), TokenError> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        make_private(directory).map_err(self.failed("make its directory"))?;
        let lock = File::create(self.path.with_extension("lock")).map_err(self.failed("lock it"))?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|error| self.failed("lock it")(error.into()))?;
        let mut tokens = self.read()?;
        change(&mut tokens)?;
        let text = serde_json::to_vec_pretty(&tokens).expect("tokens are plain data");
        write_private(&self.path, &text).map_err(self.failed("write it"))
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> TokenError {
        let path = self.path.clone();
        move |source| TokenError::Io { path, action, source }
    }
}

/// Makes a directory that only its owner can enter.
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    if !directory.is_dir() {
        fs::create_dir_all(directory)?;
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Writes a file that only its owner can read. It is whole, or as it was before.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let half = path.with_extension(format!("new-{}", std::process::id()));
    let _ = fs::remove_file(&half);
    let mut options = fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.write(true).create_new(true).open(&half)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&half, path)
}

#[cfg(test)]
mod tests {
    use super::super::{Scope, TokenLimits};
    use super::*;

    #[test]
    fn a_token_is_kept_for_its_owner_only_and_gone_when_it_is_taken_back() {
        let state = tempfile::tempdir().unwrap();
        let (store, other) = (TokenStore::in_directory(state.path()), TokenStore::in_directory(state.path()));
        assert!(store.all().unwrap().is_empty());
        let (token, text) = Token::make("ci", Scope::Run, TokenLimits::default(), None);
        other.add(token.clone()).unwrap();
        assert_eq!(store.find(&text).unwrap().unwrap(), token);
        assert_eq!(fs::metadata(store.path()).unwrap().mode() & 0o777, 0o600);
        other.remove(&token.id).unwrap();
        assert!(store.find(&text).unwrap().is_none(), "what was taken back is refused at once");
        assert!(matches!(other.remove("x"), Err(TokenError::Unknown { .. })));
        fs::write(store.path(), "{").unwrap();
        assert!(matches!(store.all(), Err(TokenError::Damaged { .. })));
    }
}
