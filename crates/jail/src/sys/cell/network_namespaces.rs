//! Network namespaces that are used again as long as nobody has made a socket in them.
//!
//! Making one and taking it apart is a quarter of all work on a cell, much of it done by the kernel one at a time, and
//! most scripts never open a socket. So the zygote makes a namespace once, stands in it while it clones the cell, and
//! stands in it again for a later cell, once the host knows two things: that all processes of the earlier one are gone,
//! and that none of them ever made a socket of the Internet families. Without one there is nothing that a process
//! without rights could change in a namespace: no packet, no port, no route, no label, no counter. What remains are Unix
//! sockets: they end with their processes, unless they are on their way in one another's queues, where the kernel finds
//! them seconds later. So a namespace that still has a socket in it is not used again either.
//!
//! The host knows the second from PID 1, which every such call has to wait for (`init`); the zygote looks for the rest.
//!
//! The namespaces belong to the zygote's user namespace, not to a cell's, so nothing in a cell has any right over one.

use std::fs::File;
use std::io::{self, Read};
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
            kernel::enter_namespace(namespace.as_raw_fd(), kernel::CLONE_NEWNET)?;
            if has_no_socket()? {
                return Ok(());
            }
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

/// Whether there is none in the namespace that we stand in: `sockets: used 0`.
fn has_no_socket() -> io::Result<bool> {
    let mut text = [0; 16];
    let length = File::open("/proc/thread-self/net/sockstat")?.read(&mut text)?;
    Ok(text[..length].starts_with(b"sockets: used 0\n"))
}

/// What waits to be accepted is in nobody's account, so each holds little. The kernel gives a connection more as soon as
/// somebody reads from it, up to `socket_buffer`.
fn make(socket_buffer: u64) -> io::Result<()> {
    const WAITING_BYTES: u64 = 16 << 10;
    const CLOSED_CONNECTIONS: u64 = 256;
    const KERNELS_OWN_CHOICE: u64 = 6 << 20;
    kernel::leave_namespaces(kernel::CLONE_NEWNET)?;
    kernel::raise_loopback()?;
    let most = if socket_buffer > 0 { socket_buffer } else { KERNELS_OWN_CHOICE };
    let buffers = format!("4096 {WAITING_BYTES} {most}");
    for (setting, value) in [
        ("ipv4/tcp_max_tw_buckets", CLOSED_CONNECTIONS.to_string()),
        ("ipv4/tcp_rmem", buffers.clone()),
        ("ipv4/tcp_wmem", buffers),
    ] {
        match std::fs::write(format!("/proc/sys/net/{setting}"), value) {
            // An older kernel has one of them for the whole machine only, and does not show it here.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}
