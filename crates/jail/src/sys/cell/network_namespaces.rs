//! Network namespaces, used again as long as nobody has made a socket in them.
//!
//! Making a network namespace and taking it apart is a quarter of all work on a cell. The kernel
//! does much of it one at a time, and most scripts never open a socket. So the zygote makes a
//! namespace once, enters it before it clones a cell, and enters it again for a later cell.
//!
//! The host must first know two things: all processes of the earlier cell are gone, and none of
//! them ever made an Internet socket. Without such a socket, a process without rights can change
//! nothing in a namespace: no packet, port, route, label or counter.
//!
//! Unix sockets remain. They end with their processes, unless they sit in one another's queues,
//! where the kernel finds them seconds later. So a namespace that still has any socket in it is not
//! used again either.
//!
//! The host learns about Internet sockets from PID 1, which every such call waits for (`init`). The
//! zygote itself looks for the rest.
//!
//! The namespaces belong to the zygote's user namespace, not to a cell's. So nothing in a cell has
//! any right over one.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};

use super::kernel;

/// How many are kept. Any more end with their cells.
const MOST: usize = 64;

/// The namespaces, by number.
pub(crate) struct NetworkNamespaces {
    known: [Option<OwnedFd>; MOST],
    /// The most a connection buffers each way. 0 leaves it to the kernel.
    socket_buffer: u64,
}

impl NetworkNamespaces {
    pub(crate) const fn new(socket_buffer: u64) -> Self {
        Self { known: [const { None }; MOST], socket_buffer }
    }

    /// Enters the namespace with this number, which nobody else may be using. With `fresh`, that is
    /// one that has never been used.
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
            // The old one goes in any case, even if making a new one fails.
            *known = None;
            make(self.socket_buffer)?;
            *known = Some(File::open("/proc/self/ns/net")?.into());
            return Ok(());
        }
        make(self.socket_buffer)
    }
}

/// Whether the current namespace has no socket: `sockets: used 0`.
fn has_no_socket() -> io::Result<bool> {
    let mut text = [0; 16];
    let length = File::open("/proc/thread-self/net/sockstat")?.read(&mut text)?;
    Ok(text[..length].starts_with(b"sockets: used 0\n"))
}

/// Makes a namespace. Connections that wait to be accepted are charged to nobody, so each may hold
/// little. The kernel gives a connection more once somebody reads from it, up to `socket_buffer`.
fn make(socket_buffer: u64) -> io::Result<()> {
    const WAITING_BYTES: u64 = 16 << 10;
    const CLOSED_CONNECTIONS: u64 = 256;
    const KERNELS_OWN_CHOICE: u64 = 6 << 20;
    kernel::unshare_namespaces(kernel::CLONE_NEWNET)?;
    kernel::bring_up_loopback()?;
    let most = if socket_buffer > 0 { socket_buffer } else { KERNELS_OWN_CHOICE };
    let buffers = format!("4096 {WAITING_BYTES} {most}");
    for (setting, value) in [
        ("ipv4/tcp_max_tw_buckets", CLOSED_CONNECTIONS.to_string()),
        ("ipv4/tcp_rmem", buffers.clone()),
        ("ipv4/tcp_wmem", buffers),
    ] {
        match std::fs::write(format!("/proc/sys/net/{setting}"), value) {
            // An older kernel has one of these settings for the whole machine only, and does not
            // show it here. Linux 5.10 shows them to an ordinary user as files of nobody's, which
            // nobody may write to.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {}
            other => other?,
        }
    }
    Ok(())
}
