//! Names of directories, out of whatever a caller calls a workspace.

use std::fmt::Write as _;

use belljar_runtime::WorkspaceName;
use sha2::{Digest, Sha256};

/// The name for an id. An id that is a name stays what it is; of any other a readable rest is left,
/// and a digest that tells it from every other id.
pub(super) fn name_for(id: &str) -> WorkspaceName {
    if let Ok(name) = WorkspaceName::new(id) {
        return name;
    }
    const READABLE: usize = 40;
    let is_good = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let readable: String =
        id.chars().map(|character| if is_good(character) { character } else { '_' }).take(READABLE).collect();
    numbered(&readable, &Sha256::digest(id.as_bytes()))
}

/// A name for an id that no workspace has had before.
pub(super) fn fresh_name_for(id: &str) -> WorkspaceName {
    const READABLE: usize = 40;
    let mut random = [0u8; 8];
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let base = name_for(id);
    let readable: String = base.as_str().chars().take(READABLE).collect();
    numbered(&readable, &random)
}

fn numbered(readable: &str, number: &[u8]) -> WorkspaceName {
    let mut name = format!("{readable}-");
    for byte in number.iter().take(8) {
        let _ = write!(name, "{byte:02x}");
    }
    WorkspaceName::new(name).expect("its characters and its length are those of a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_differ_have_names_that_differ() {
        let ids =
            ["a/b", "a_b", "a b", "", ".", "..", "app/user/session", "é", &"x".repeat(200), &"x".repeat(201)];
        let names: std::collections::BTreeSet<_> = ids.iter().map(|id| name_for(id)).collect();
        assert_eq!(names.len(), ids.len());
        assert_eq!(name_for("job-17").as_str(), "job-17");
        assert_eq!(name_for("a/b"), name_for("a/b"));
        assert_ne!(fresh_name_for("a"), fresh_name_for("a"));
    }
}
