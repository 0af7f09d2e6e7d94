//! What a zygote does once it is ready: one request of the host's, one cell.
//!
//! ```text
//!  control socket   ──► a `CellOrder` + stdout, stderr, status, cgroup files…
//!  status socket    ◄── "D" + a handle on each tmpfs     (from PID 1, so that the host can see how full they are)
//!                   ◄── "S" + a handle on PID 1, the channel's other end, the listener of the way out if there is one (from here)
//!                   ◄── "F" and why                      (from here, PID 1 or PID 2: the cell could not be set up)
//!                   ◄── "N"                              (from PID 1: somebody in the cell has made a socket)
//!                   ◄── "E" and how the guest ended      (from PID 1)
//! ```
//!
//! Not in Python, and without allocating: after every clone the zygote copies each page that it writes to, and a few lines of Python write to
//! two hundred. The channel is made here and not by the host because a socket belongs for life to the network namespace it was made in, and
//! tells whoever holds it about that one's interfaces. The answer goes to the new cell's own socket, so the host may ask for many cells without waiting for any.

use std::io;
use std::num::{NonZeroU16, NonZeroU32};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::confine::{CellParts, channel_place, make_cell, report};
use super::kernel::{self, Forked};
use super::network_namespaces::NetworkNamespaces;
use super::order::CellOrder;
use super::plan::CellPlan;

/// The three that every cell has, and a control group file for each hierarchy there may be.
const MOST_DESCRIPTORS: usize = 24;

/// What a new cell is told.
pub(crate) struct Born {
    pub(crate) channel: RawFd,
    /// Whether somebody waits for it.
    pub(crate) hurry: bool,
}

/// Makes cells until the host hangs up, and then ends the process. Returns in each cell.
pub(crate) fn serve(plan: &CellPlan, init: RawFd, control: RawFd) -> io::Result<Born> {
    let mut networks = NetworkNamespaces::new(plan.socket_buffer);
    let channel_place = channel_place(plan.channel);
    loop {
        let mut request = [0; CellOrder::BYTES];
        let mut descriptors = [-1; MOST_DESCRIPTORS];
        let (read, count) = kernel::receive_into(control, &mut request, &mut descriptors)?;
        if read == 0 {
            // The host is gone, and with this process go all cells.
            kernel::exit_now(0)
        }
        let descriptors = &descriptors[..count];
        if let &[stdout, stderr, status, ref cgroups @ ..] = descriptors {
            let CellOrder { host_id, network, fresh_network, hurry, way_out } = CellOrder::decode(request);
            match networks.enter(network, fresh_network).and_then(|()| connections(way_out)) {
                Err(error) => report(status, format!("Fnetwork namespace: {error}").as_bytes()),
                Ok((ours, theirs, listener)) => {
                    let channel = theirs.as_raw_fd();
                    let host_id = host_id.map(NonZeroU32::get);
                    let parts =
                        CellParts { host_id, channel, channel_place, stdout, stderr, status, init, cgroups };
                    match make_cell(plan, &parts) {
                        Ok(Forked::Child) => {
                            // All are closed here already, under these numbers.
                            std::mem::forget((ours, theirs, listener));
                            return Ok(Born { channel: channel_place, hurry });
                        }
                        // A host that has given the cell up meanwhile has closed its end; the cell finds its channel closed and ends.
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

/// What connects a cell with the host, made in the cell's own network namespace: both ends of its channel, and the listener behind which the
/// host decides who may be talked to.
fn connections(way_out: Option<NonZeroU16>) -> io::Result<(OwnedFd, OwnedFd, Option<OwnedFd>)> {
    let (ours, theirs) = kernel::channel()?;
    let listener = way_out.map(|port| kernel::listen_on_loopback(port.get())).transpose()?;
    Ok((ours, theirs, listener))
}
