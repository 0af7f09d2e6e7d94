//! Network namespaces that are used again as long as nobody has made a socket in them.
//!
//! Making one and taking it apart is a quarter of all work on a cell, much of it done by the kernel one at a time, and
//! most scripts never open a socket. So the zygote makes a namespace once, stands in it while it clones the cell, and
//! stands in it again for a later cell, once the host knows two things: that all processes of the earlier one are gone,
//! and that none of them ever made a socket of the Internet families. Without one there is nothing that a process
//! without rights could change in a namespace: no packet, no port, no route, no label, no group, no counter.
//!
//! The host knows the second from PID 1, which every such call has to wait for (`init`).
//!
//! The namespaces belong to the zygote's user namespace, not to a cell's, so nothing in a cell has any right over one.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::kernel;

/// How many are kept. Beyond that they go with their cells.
const MOST: usize = 64;

/// The namespaces, by number.
pub(crate) struct NetworkNamespaces {
    known: [Option<OwnedFd>; MOST],
    /// What a connection buffers each way at most; 0 for the kernel's own choice.
    socket_buffer: u64,
}

impl NetworkNamespaces {
    pub(crate) const fn new(socket_buffer: u64) -> Self {
        Self { known: [const { None }; MOST], socket_buffer }
    }

    /// Stands in the namespace of this number, in which nobody else may be; with `fresh` in one that has never been used.
    pub(crate) fn enter(&mut self, number: u32, fresh: bool) -> io::Result<()> {
        let known = self.known.get_mut(number as usize);
        if let Some(Some(namespace)) = &known
            && !fresh
        {
            return kernel::enter_namespace(namespace.as_raw_fd(), kernel::CLONE_NEWNET);
        }
        if let Some(known) = known {
            // Whatever was there goes, also when there will be nothing in its place.
            *known = None;
            make(self.socket_buffer)?;
            *known = Some(File::open("/proc/self/ns/net")?.into());
            return Ok(());
        }
        make(self.socket_buffer)
    }
}

fn make(socket_buffer: u64) -> io::Result<()> {
    kernel::leave_namespaces(kernel::CLONE_NEWNET)?;
    kernel::raise_loopback()?;
    if socket_buffer > 0 {
        for file in ["tcp_rmem", "tcp_wmem"] {
            let sizes = format!("4096 {} {socket_buffer}", socket_buffer / 2);
            std::fs::write(format!("/proc/sys/net/ipv4/{file}"), sizes)?;
        }
    }
    Ok(())
}
