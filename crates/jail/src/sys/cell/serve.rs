//! The zygote's loop, once it is ready: one request from the host makes one cell.
//!
//! ```text
//!  control socket   ──► a `CellOrder` + stdout, stderr, status, lent mounts…, cgroup files…
//!  status socket    ◄── "D" + a handle on each tmpfs   (PID 1: shows the host how full they are)
//!                   ◄── "S" + a handle on PID 1, the channel's other end, the egress
//!                      listener if any                (zygote)
//!                   ◄── "F" and why                    (zygote, PID 1 or PID 2: set-up failed)
//!                   ◄── "N"                            (PID 1: somebody made a socket)
//!                   ◄── "E" and how the guest ended    (PID 1)
//! ```
//!
//! This is not Python and does not allocate. After every clone the zygote copies each page it
//! writes to, and a few lines of Python write to two hundred pages.
//!
//! The channel is made here and not by the host. A socket belongs for life to the network namespace
//! it was made in, and tells its holder about the interfaces of that namespace.
//!
//! The answer goes to the new cell's own status socket, so the host may ask for many cells without
//! waiting for any.

use std::io;
use std::num::{NonZeroU16, NonZeroU32};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::confine::{CellParts, channel_number, make_cell, report};
use super::kernel::{self, Forked};
use super::network_namespaces::NetworkNamespaces;
use super::order::CellOrder;
use super::plan::CellPlan;

/// The three that every cell has, mounts that are lent, and a control group file for each possible
/// hierarchy.
const MOST_DESCRIPTORS: usize = 40;

/// Too many open files.
const EMFILE: i32 = 24;

/// What a new cell learns about itself.
pub(crate) struct NewCell {
    pub(crate) channel: RawFd,
    /// Whether somebody is waiting for the cell.
    pub(crate) hurry: bool,
}

/// Makes cells until the host hangs up, then ends the process. Returns in each cell.
pub(crate) fn serve(plan: &CellPlan, init: RawFd, control: RawFd) -> io::Result<NewCell> {
    let mut networks = NetworkNamespaces::new(plan.socket_buffer);
    let channel_number = channel_number(plan.channel);
    loop {
        let mut request = [0; CellOrder::BYTES];
        let mut descriptors = [-1; MOST_DESCRIPTORS];
        let (read, count) = kernel::receive_into(control, &mut request, &mut descriptors)?;
        if read == 0 {
            // The host is gone. All cells end with this process.
            kernel::exit_now(0)
        }
        let descriptors = &descriptors[..count];
        if let &[stdout, stderr, status, ref rest @ ..] = descriptors {
            let CellOrder {
                workspace,
                host_id,
                network,
                fresh_network,
                hurry,
                egress_port,
                descriptors: sent,
            } = CellOrder::decode(request);
            // Where cells have ids of their own, a kept workspace is lent too, and comes first.
            let kept = usize::from(workspace.is_some() && host_id.is_some());
            let (lent, cgroups) = rest.split_at((plan.lent() + kept).min(rest.len()));
            let entered = match sent as usize == count {
                true => networks.enter(network, fresh_network),
                false => Err(io::Error::from_raw_os_error(EMFILE)),
            };
            match entered.and_then(|()| connections(egress_port)) {
                Err(error) => report(status, format!("Fnetwork namespace: {error}").as_bytes()),
                Ok((ours, theirs, listener)) => {
                    let channel = theirs.as_raw_fd();
                    let host_id = host_id.map(NonZeroU32::get);
                    let parts = CellParts {
                        host_id,
                        channel,
                        channel_number,
                        stdout,
                        stderr,
                        status,
                        workspace,
                        lent,
                        init,
                        cgroups,
                    };
                    match make_cell(plan, &parts) {
                        Ok(Forked::Child) => {
                            // All of these are already closed here, under these numbers.
                            std::mem::forget((ours, theirs, listener));
                            return Ok(NewCell { channel: channel_number, hurry });
                        }
                        // A host that has given up on the cell has closed its end. Then the cell
                        // finds its channel closed, and ends.
                        Ok(Forked::Parent { pidfd: Some(pidfd), .. }) => {
                            let handles = [
                                pidfd.as_raw_fd(),
                                ours.as_raw_fd(),
                                listener.as_ref().map_or(-1, AsRawFd::as_raw_fd),
                            ];
                            let count = if listener.is_some() { 3 } else { 2 };
                            let _ = kernel::send_with_descriptors(status, b"S", &handles[..count]);
                        }
                        Ok(Forked::Parent { pidfd: None, .. }) => report(status, b"Fclone: no handle"),
                        Err(error) => report(status, format!("Fclone: {error}").as_bytes()),
                    }
                }
            }
        }
        for &descriptor in descriptors {
            let _ = kernel::close_between(descriptor, descriptor);
        }
    }
}

/// Makes what connects a cell to the host, in the cell's own network namespace: both ends of its
/// channel, and the listener of the host's proxy.
fn connections(egress_port: Option<NonZeroU16>) -> io::Result<(OwnedFd, OwnedFd, Option<OwnedFd>)> {
    let (ours, theirs) = kernel::channel()?;
    let listener = egress_port.map(|port| kernel::listen_on_loopback(port.get())).transpose()?;
    Ok((ours, theirs, listener))
}
