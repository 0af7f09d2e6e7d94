//! Workspaces: directories that stay, each of one token.
//!
//! ```text
//!  /v1/workspaces/{id} ──► Name (owner and name) ──► the library's id `owner/name`, which it keeps
//!                            │                       beside the directory, where no program is
//!                            └► whoever may not see the owner's is told that there is none
//! ```
//!
//! * `name` is whose a workspace is, and what they call it.
//! * `store` finds, makes and counts them. All are below the state directory.
//! * `routes` makes, lists, forks and removes. `files` is what is in one: it is streamed.
//! * `refusal` says to clients what the library refuses, without paths of this machine.

mod files;
mod name;
mod refusal;
mod routes;
mod store;

pub(crate) use self::files::received;
pub(crate) use self::name::Name;
pub(crate) use self::routes::routes;
pub(crate) use self::store::WorkspaceStore;
