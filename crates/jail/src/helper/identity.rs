//! Who the zygote is: user namespaces and the ids in them.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use super::{Named, Step};
use crate::spec::Identity;
use crate::sys::kernel;

/// The one id of an ordinary user's namespace. Not 0: a namespace below may map the id of root only with a capability more.
const SINGLE_ID: u32 = 1000;

/// What an ordinary user does first: a user namespace of one id gives the rights to build the rest.
pub(super) fn become_lone_user() -> Step<()> {
    let (user, group) = kernel::effective_ids();
    kernel::leave_namespaces(kernel::CLONE_NEWUSER).step(|| "create a user namespace".into())?;
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{SINGLE_ID} {user} 1")),
        ("gid_map", format!("{SINGLE_ID} {group} 1")),
    ] {
        std::fs::write(format!("/proc/self/{file}"), text)
            .step(|| format!("write {file} of the user namespace"))?;
    }
    Ok(())
}

/// The two ends of the talk between root, who may write any map, and the process that needs one.
pub(super) struct MapRequest(UnixStream);

pub(super) struct MapAnswer(UnixStream);

/// A fresh pair.
pub(super) fn map_talk() -> io::Result<(MapRequest, MapAnswer)> {
    UnixStream::pair().map(|(inner, outer)| (MapRequest(inner), MapAnswer(outer)))
}

impl MapRequest {
    /// Moves from being root outside to being nobody outside and root of nothing much inside.
    pub(super) fn become_nobody(mut self) -> Step<()> {
        kernel::leave_namespaces(kernel::CLONE_NEWUSER).step(|| "create a user namespace".into())?;
        let mut done = [0];
        self.0
            .write_all(b"m")
            .and_then(|()| self.0.read_exact(&mut done))
            .step(|| "wait for the ids of the user namespace".into())?;
        kernel::drop_groups().step(|| "drop supplementary groups".into())?;
        kernel::take_ids(0, Some(0)).step(|| "take the ids of the user namespace".into())
    }
}

impl MapAnswer {
    /// Writes the map once the child has made its namespace.
    pub(super) fn answer(mut self, child: i32, identity: Identity) -> Step<()> {
        let Identity::Range { first, count } = identity else {
            return Ok(());
        };
        let mut asked = [0];
        if self.0.read_exact(&mut asked).is_err() {
            // The child failed before it came this far, and has said so itself.
            return Ok(());
        }
        for file in ["uid_map", "gid_map"] {
            std::fs::write(format!("/proc/{child}/{file}"), format!("0 {first} {count}"))
                .step(|| format!("write {file} of the zygote"))?;
        }
        self.0.write_all(b"m").step(|| "release the zygote".into())
    }
}
