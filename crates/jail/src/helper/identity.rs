//! The zygote's identity: user namespaces and the ids in them.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use super::{Named, Step};
use crate::kernel;
use crate::spec::Identity;

/// The one id in an ordinary user's namespace. It is not 0, because mapping the id of root in a
/// nested namespace takes one more capability.
const SINGLE_ID: u32 = 1000;

/// Enters a user namespace with a single id. An ordinary user does this first, to get the rights to
/// build the rest.
pub(super) fn enter_single_id_namespace() -> Step<()> {
    let (user, group) = kernel::effective_ids();
    kernel::unshare_namespaces(kernel::CLONE_NEWUSER).step(|| "create a user namespace".into())?;
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

/// The two ends of a channel between root, who may write any id map, and the process that needs
/// one.
pub(super) struct MapRequest(UnixStream);

pub(super) struct MapAnswer(UnixStream);

/// Makes a new pair.
pub(super) fn id_map_channel() -> io::Result<(MapRequest, MapAnswer)> {
    UnixStream::pair().map(|(inner, outer)| (MapRequest(inner), MapAnswer(outer)))
}

impl MapRequest {
    /// Turns root outside into nobody outside. Inside, the process is root over almost nothing.
    pub(super) fn become_nobody(mut self) -> Step<()> {
        kernel::unshare_namespaces(kernel::CLONE_NEWUSER).step(|| "create a user namespace".into())?;
        let mut done = [0];
        self.0
            .write_all(b"m")
            .and_then(|()| self.0.read_exact(&mut done))
            .step(|| "wait for the ids of the user namespace".into())?;
        kernel::drop_groups().step(|| "drop supplementary groups".into())?;
        kernel::set_ids(0, Some(0)).step(|| "take the ids of the user namespace".into())
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
            // The child failed earlier and has reported that itself.
            return Ok(());
        }
        for file in ["uid_map", "gid_map"] {
            std::fs::write(format!("/proc/{child}/{file}"), format!("0 {first} {count}"))
                .step(|| format!("write {file} of the zygote"))?;
        }
        self.0.write_all(b"m").step(|| "release the zygote".into())
    }
}
