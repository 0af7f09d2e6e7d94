//! Network namespaces that are used again as long as nobody has left a trace in them.
//!
//! Making one and taking it apart is a good part of all work on a cell, much of it done by the kernel one at a time, and most scripts never open a socket. So the
//! zygote makes a namespace once, stands in it while it clones the cell, and stands in it again for a later cell, once the host knows that all
//! processes of the earlier one are gone. Before that it looks: traffic, failed attempts and open sockets all count in files under `/proc/self/net`,
//! and unless these read exactly as they did when a namespace was new, it is thrown away and another one made.
//!
//! The namespaces belong to the zygote's user namespace, not to a cell's, so nothing in a cell has any right over one.

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};

use super::kernel;

/// How many are kept. Beyond that they go with their cells.
const MOST: usize = 64;

/// What a process without rights leaves behind in a network namespace counts in one of these.
const TRACES: [&str; 4] =
    ["/proc/self/net/dev", "/proc/self/net/snmp", "/proc/self/net/snmp6", "/proc/self/net/netstat"];

/// Its first line counts the open sockets of any kind; the rest of it is about the whole machine.
const SOCKETS: &str = "/proc/self/net/sockstat";

/// The namespaces, by number.
pub(crate) struct Places {
    known: [Option<Place>; MOST],
}

struct Place {
    namespace: OwnedFd,
    when_new: u64,
}

impl Places {
    pub(crate) const fn new() -> Self {
        Self { known: [const { None }; MOST] }
    }

    /// Stands in the namespace of this number, in which nobody else may be.
    pub(crate) fn enter(&mut self, number: u32) -> io::Result<()> {
        let place = self.known.get_mut(number as usize);
        if let Some(Some(known)) = &place {
            kernel::enter_namespace(known.namespace.as_raw_fd(), kernel::CLONE_NEWNET)?;
            if traces()? == known.when_new {
                return Ok(());
            }
        }
        kernel::leave_namespaces(kernel::CLONE_NEWNET)?;
        kernel::raise_loopback()?;
        if let Some(place) = place {
            // Whatever was there goes.
            *place = None;
            let namespace = File::open("/proc/self/ns/net")?.into();
            *place = Some(Place { namespace, when_new: traces()? });
        }
        Ok(())
    }
}

/// What is written in the files of the present namespace. Only counters differ between two, so a short digest will do.
fn traces() -> io::Result<u64> {
    let mut digest = DefaultHasher::new();
    let mut buffer = [0; 2048];
    for path in TRACES {
        let mut file = match File::open(path) {
            // A kernel without IPv6 lacks one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => digest.write(&buffer[..read]),
            }
        }
    }
    let read = File::open(SOCKETS)?.read(&mut buffer)?;
    digest.write(buffer[..read].split(|byte| *byte == b'\n').next().unwrap_or_default());
    Ok(digest.finish())
}
