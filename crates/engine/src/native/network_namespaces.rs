//! Numbers for the network namespaces of a zygote. At most one cell is in each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};

/// The numbers that are not in use. The lowest is given out first, so a zygote that is rarely busy
/// needs few namespaces.
#[derive(Clone, Default)]
pub(super) struct NetworkNamespaces(Arc<Mutex<Numbers>>);

#[derive(Default)]
struct Numbers {
    free: BinaryHeap<Reverse<Free>>,
    given_out: u32,
}

/// Sorted by number. No number occurs twice.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Free {
    number: u32,
    untouched: bool,
}

/// A number in use. Drop it only when every process of its cell is gone.
pub(super) struct LeasedNamespace {
    number: u32,
    must_be_fresh: bool,
    untouched: bool,
    numbers: NetworkNamespaces,
}

impl NetworkNamespaces {
    pub(super) fn lease(&self) -> LeasedNamespace {
        let mut numbers = self.numbers();
        let free = match numbers.free.pop() {
            Some(Reverse(free)) => free,
            None => {
                numbers.given_out += 1;
                Free { number: numbers.given_out - 1, untouched: true }
            }
        };
        LeasedNamespace {
            number: free.number,
            must_be_fresh: !free.untouched,
            untouched: false,
            numbers: self.clone(),
        }
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl LeasedNamespace {
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Whether the zygote must make a new namespace, because the one under this number may have
    /// been used.
    pub(super) fn must_be_fresh(&self) -> bool {
        self.must_be_fresh
    }

    /// States that no socket was made in the cell. Without this, the next cell gets a new
    /// namespace.
    pub(super) fn vouch(&mut self) {
        self.untouched = true;
    }
}

impl Drop for LeasedNamespace {
    fn drop(&mut self) {
        let free = Free { number: self.number, untouched: self.untouched };
        self.numbers.numbers().free.push(Reverse(free));
    }
}

/// Whether a dead cell's status socket proves that no socket was made in the cell. That is so if
/// everything its PID 1 ever wrote was read, to the end, and PID 1 reported no socket.
pub(super) fn proves_untouched(status: &OwnedFd) -> bool {
    let mut record = [0; 64];
    loop {
        match rustix::io::read(status, &mut record) {
            Ok(0) => return true,
            Ok(_) if record[0] == super::zygote::SOCKETS_WERE_MADE => return false,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // This is not the end: somebody still holds the other side.
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    #[test]
    fn the_lowest_free_number_comes_first_and_none_twice() {
        let numbers = NetworkNamespaces::default();
        let (first, second, third) = (numbers.lease(), numbers.lease(), numbers.lease());
        assert_eq!([first.number(), second.number(), third.number()], [0, 1, 2]);
        drop((third, first));
        assert_eq!(numbers.lease().number(), 0);
    }

    #[test]
    fn a_namespace_is_used_again_only_when_somebody_vouches_for_it() {
        let numbers = NetworkNamespaces::default();
        let mut lease = numbers.lease();
        assert!(!lease.must_be_fresh(), "the zygote has none under a number that was never used");
        lease.vouch();
        drop(lease);
        assert!(!numbers.lease().must_be_fresh());
        // The second lease was dropped without vouching.
        assert!(numbers.lease().must_be_fresh());
    }

    #[test]
    fn only_a_socket_read_to_its_end_without_the_mark_is_a_proof() {
        let talk = |said: &[&[u8]], hung_up: bool| {
            let kind = SocketType::SEQPACKET;
            let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::NONBLOCK, None).unwrap();
            for record in said {
                rustix::io::write(&theirs, record).unwrap();
            }
            let kept = (!hung_up).then_some(theirs);
            let proof = proves_untouched(&ours);
            drop(kept);
            proof
        };
        assert!(talk(&[], true) && talk(&[b"E\0\0\0\0"], true));
        assert!(!talk(&[b"N", b"E\0\0\0\0"], true));
        assert!(!talk(&[], false) && !talk(&[b"E\0\0\0\0"], false));
    }
}
