//! Memory: large pages.

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::null_mut;

use super::check;

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        length: usize,
        rights: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, length: usize) -> c_int;
    fn mremap(old: *mut c_void, length: usize, new_length: usize, flags: c_int, ...) -> *mut c_void;
    fn mprotect(at: *mut c_void, length: usize, rights: c_int) -> c_int;
    fn madvise(at: *mut c_void, length: usize, advice: c_int) -> c_int;
}

const PROT_READ: c_int = 1;
const PROT_WRITE: c_int = 2;
const PROT_EXEC: c_int = 4;

/// Replaces `length` bytes at `at` by a large page with the same contents, which can be read and
/// run. Returns whether the kernel had a large page to give.
///
/// `length` is the size of a large page, and `at` a multiple of it, within read-only mappings of
/// this process. The code that does this must not itself be there.
pub(crate) fn replace_by_large_page(at: usize, length: usize) -> io::Result<bool> {
    const PRIVATE_ANONYMOUS: c_int = 0x02 | 0x20;
    const MADV_HUGEPAGE: c_int = 14;
    const MAYMOVE_FIXED: c_int = 1 | 2;
    // SAFETY: a new mapping where the kernel likes. It is twice as long, so that it contains an
    // aligned part of the wanted length.
    let room = unsafe { mmap(null_mut(), length * 2, PROT_READ | PROT_WRITE, PRIVATE_ANONYMOUS, -1, 0) };
    if room.addr() == usize::MAX {
        return Err(io::Error::last_os_error());
    }
    let copy = room.map_addr(|address| address.next_multiple_of(length));
    // SAFETY: `copy` is `length` bytes within the new mapping; the source is mapped and readable,
    // as the caller promises, and nobody writes to it. Moving the copy over the original changes no
    // byte that anybody can see.
    let moved = unsafe {
        let before = copy.addr() - room.addr();
        if madvise(copy, length, MADV_HUGEPAGE) != 0 {
            munmap(room, length * 2);
            return Ok(false);
        }
        std::ptr::copy_nonoverlapping(std::ptr::with_exposed_provenance::<u8>(at), copy.cast(), length);
        let moved = if is_large(copy.addr()) {
            check(mprotect(copy, length, PROT_READ | PROT_EXEC))?;
            let there: *mut c_void = std::ptr::with_exposed_provenance_mut(at);
            if mremap(copy, length, length, MAYMOVE_FIXED, there).addr() != at {
                return Err(io::Error::last_os_error());
            }
            true
        } else {
            munmap(copy, length);
            false
        };
        // Free what lies around the aligned part.
        if before > 0 {
            munmap(room, before);
        }
        munmap(room.map_addr(|start| start + before + length), length - before);
        moved
    };
    Ok(moved)
}

/// Whether the mapping that begins at or contains `at` has a large page.
fn is_large(at: usize) -> bool {
    let Ok(maps) = std::fs::read_to_string("/proc/self/smaps") else { return false };
    let mut inside = false;
    for line in maps.lines() {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        if let Some((start, end)) = range
            && let (Ok(start), Ok(end)) = (usize::from_str_radix(start, 16), usize::from_str_radix(end, 16))
        {
            inside = (start..end).contains(&at);
        } else if inside && let Some(size) = line.strip_prefix("AnonHugePages:") {
            return size.trim() != "0 kB";
        }
    }
    false
}
