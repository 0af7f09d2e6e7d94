//! Who may do what. A token is shown once, when it is made; what is kept is its hash.
//!
//! | scope | what it allows |
//! |---|---|
//! | `read` | see every run, session, workspace, sandbox and figure |
//! | `run` | run scripts and programs, keep sessions, workspaces and artifacts, and see its own |
//! | `admin` | all of that, for everybody's, and configs that come with a request |
//!
//! A token has 192 random bits, so its SHA-256 says nothing about it and needs no salt.

mod store;

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use belljar::engine::random_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(crate) use self::store::make_private;
pub use self::store::{TokenError, TokenStore, write_private};

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Sees everything, and runs nothing.
    Read,
    /// Runs scripts, and sees its own.
    Run,
    /// May do everything.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Run, Self::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == name);
        found.ok_or_else(|| format!("{name:?} is no scope: read, run or admin"))
    }
}

/// How much one token may have. `None`: as much as the server gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenLimits {
    /// Runs at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    /// Runs that begin within a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_per_minute: Option<u32>,
    /// The longest time limit of a run, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_timeout_sec: Option<f64>,
}

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Names it in lists and in the history. It is the part between the two underscores.
    pub id: String,
    /// What it is for, as its maker said.
    pub name: String,
    /// What it allows.
    pub scope: Scope,
    /// How much it may have.
    #[serde(default)]
    pub limits: TokenLimits,
    /// When it was made: seconds since 1970.
    pub created: u64,
    /// When it ends: seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// SHA-256 of the whole token, in hexadecimal.
    hash: String,
}

impl Token {
    /// A new token, and its text, which is not kept.
    pub fn make(name: &str, scope: Scope, limits: TokenLimits, expires: Option<u64>) -> (Self, String) {
        let id: String = random_hex().chars().take(8).collect();
        let secret: String = [random_hex(), random_hex()].concat().chars().take(48).collect();
        let text = format!("bj_{id}_{secret}");
        let hash = hashed(&text);
        (Self { id, name: name.to_owned(), scope, limits, created: now(), expires, hash }, text)
    }

    /// Whether this is the hash of its text, and it has not ended. Hashes are compared, so the time
    /// that it takes says nothing about the token.
    fn has_hash(&self, hash: &str) -> bool {
        self.hash == hash && self.is_good()
    }

    /// Whether it has not ended.
    pub(crate) fn is_good(&self) -> bool {
        self.expires.is_none_or(|end| now() < end)
    }
}

fn hashed(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_knows_its_text_and_does_not_keep_it() {
        let (token, text) = Token::make("ci", Scope::Run, TokenLimits::default(), None);
        let is_its = |text: &str| token.has_hash(&hashed(text));
        assert!(is_its(&text) && !is_its(&format!("{text}0")) && !is_its(""));
        let kept = serde_json::to_string(&token).unwrap();
        assert!(!kept.contains(text.rsplit('_').next().unwrap()), "{kept}");
        assert_eq!(serde_json::from_str::<Token>(&kept).unwrap(), token);
        assert_eq!(text.len(), "bj_".len() + 8 + 1 + 48);
        let (ended, text) = Token::make("old", Scope::Run, TokenLimits::default(), Some(now() - 1));
        assert!(!ended.has_hash(&hashed(&text)));
    }
}
