//! Which process of a line of forks this is.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that this process has, and none of those that it was forked from.
///
/// A process id does not tell them apart: in a pid namespace of its own a child may have its
/// parent's number, and numbers are used again. So this is kept in a page of memory that the kernel
/// wipes in every fork. Where it cannot (before Linux 4.14, and on other systems) it is the process
/// id.
pub fn lineage() -> u64 {
    /// The last number that was given. A fork has it from its parent, and goes on from there.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let Some(own) = page::wiped_in_forks() else { return std::process::id().into() };
    match own.load(Ordering::Acquire) {
        0 => {
            // Beyond all process ids, should one that could not get the page fork one that can.
            let next = (LAST.fetch_add(1, Ordering::AcqRel) + 1) | 1 << 32;
            let taken = own.compare_exchange(0, next, Ordering::AcqRel, Ordering::Acquire);
            taken.map_or_else(|by_another_thread| by_another_thread, |_| next)
        }
        number => number,
    }
}

#[cfg(target_os = "linux")]
mod page {
    use std::ptr::{NonNull, null_mut};
    use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    /// As large as a page is anywhere.
    const SIZE: usize = 65536;

    /// No lock: a fork could find that locked, and nobody who would unlock it.
    static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

    pub(super) fn wiped_in_forks() -> Option<&'static AtomicU64> {
        let page = match NonNull::new(PAGE.load(Ordering::Acquire)) {
            Some(page) => page,
            None => make()?,
        };
        // SAFETY: it was mapped for this, large enough and zeroed, and stays for ever.
        Some(unsafe { page.as_ref() })
    }

    fn make() -> Option<NonNull<AtomicU64>> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let made = unsafe { mmap_anonymous(null_mut(), SIZE, protection, MapFlags::PRIVATE) }.ok()?;
        // SAFETY: nobody knows of this mapping, and nothing is in it yet.
        if unsafe { madvise(made, SIZE, Advice::LinuxWipeOnFork) }.is_err() {
            // SAFETY: as before.
            let _ = unsafe { munmap(made, SIZE) };
            return None;
        }
        match PAGE.compare_exchange(null_mut(), made.cast(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => NonNull::new(made.cast()),
            Err(of_another_thread) => {
                // SAFETY: nobody got to know of it.
                let _ = unsafe { munmap(made, SIZE) };
                NonNull::new(of_another_thread)
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod page {
    pub(super) fn wiped_in_forks() -> Option<&'static std::sync::atomic::AtomicU64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_of_a_process_have_the_same() {
        let numbers: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(lineage)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(numbers.iter().all(|number| *number == lineage()), "{numbers:?}");
    }
}
