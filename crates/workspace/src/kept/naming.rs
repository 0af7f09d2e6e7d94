//! Names of directories, out of whatever a caller calls a workspace.

use std::fmt::Write as _;

use belljar_core::random_hex;
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
    let digest = Sha256::digest(id.as_bytes());
    let digest = digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    named(&readable, &digest)
}

/// A name for an id that no workspace has had before.
pub(super) fn fresh_name_for(id: &str) -> WorkspaceName {
    const READABLE: usize = 40;
    let base = name_for(id);
    let readable: String = base.as_str().chars().take(READABLE).collect();
    named(&readable, &random_hex())
}

/// 64 bits are enough to tell one from another.
fn named(readable: &str, hex: &str) -> WorkspaceName {
    WorkspaceName::new(format!("{readable}-{}", &hex[..16]))
        .expect("its characters and its length are those of a name")
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
