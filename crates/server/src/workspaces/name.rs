//! Whose a workspace is, and what they call it.

use std::fmt;

use belljar::program::WorkspaceName;

use crate::guard::Client;
use crate::problem::Problem;
use crate::runs::invalid;

/// Whose a workspace is, and what they call it. Clients write it as `OWNER.NAME`, or as `NAME` if
/// it is their own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) owner: String,
    pub(crate) name: WorkspaceName,
}

impl Name {
    /// A name that a client gives to one of its own.
    pub(super) fn new(client: &Client, name: &str) -> Result<Self, Problem> {
        let name = WorkspaceName::new(name).map_err(|error| invalid(error.to_string()).at("name"))?;
        Ok(Self { owner: client.id.clone(), name })
    }

    /// What a client asks for. `None`: no workspace is called that.
    pub(super) fn asked(client: &Client, text: &str) -> Option<Self> {
        let (owner, name) = text.split_once('.').unwrap_or((&client.id, text));
        let name = WorkspaceName::new(name).ok()?;
        // The library's id is both with a slash between them.
        let is_owner = !owner.is_empty() && owner.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_owner.then(|| Self { owner: owner.to_owned(), name })
    }

    /// What the library calls it.
    pub(super) fn key(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// The name of one that the library lists.
    pub(super) fn of_key(key: &str) -> Option<Self> {
        let (owner, name) = key.split_once('/')?;
        Some(Self { owner: owner.to_owned(), name: WorkspaceName::new(name).ok()? })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.owner, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Scope;

    #[test]
    fn a_name_leads_to_one_workspace_of_one_owner() {
        let client = Client { id: "ab12".into(), scope: Scope::Run, ..Client::of_this_machine() };
        let asked = |text| Name::asked(&client, text).map(|name| name.key());
        assert_eq!(asked("job-17").as_deref(), Some("ab12/job-17"));
        assert_eq!(asked("ab12.job-17"), asked("job-17"));
        assert_eq!(asked("cd34.job-17").as_deref(), Some("cd34/job-17"));
        for wrong in ["", ".", "..", "a.b.c", ".x", "x.", "a/b", "../x.y", "a b", "ab12/x.y", &"x".repeat(65)]
        {
            assert_eq!(asked(wrong), None, "{wrong:?}");
        }
        let name = Name::new(&client, "x").unwrap();
        assert_eq!(Name::of_key(&name.key()), Some(name.clone()));
        assert_eq!(name.to_string(), "ab12.x");
        assert_eq!(Name::new(&client, "../x").unwrap_err().field(), Some("name"));
    }
}
