//! Puts the interpreter's code on large pages.
//!
//! A clone starts without the pages that are mapped from files. Each cell would fault the
//! interpreter's code in again, some eighty times, and would fill as many entries of the
//! processor's translation cache while it runs cold. So the zygote copies that code once into
//! memory made of large pages, and puts the copy in place of the original. A clone then needs only
//! two or three large entries.
//!
//! If the kernel has no large pages to give, nothing changes.

use std::fs;
use std::io;

use super::kernel;

const LARGE: usize = 2 << 20;

/// Moves the interpreter's code onto large pages. Returns how many, which may be none.
pub(crate) fn move_to_large_pages() -> io::Result<usize> {
    let Some((start, end)) = interpreter_code(&fs::read_to_string("/proc/self/maps")?) else { return Ok(0) };
    let mut moved = 0;
    for at in (start..end).step_by(LARGE) {
        if !kernel::replace_by_large_page(at, LARGE)? {
            break;
        }
        moved += 1;
    }
    Ok(moved)
}

/// The part of the interpreter's read-only mappings, its code included, that whole large pages fit
/// into.
fn interpreter_code(maps: &str) -> Option<(usize, usize)> {
    let mappings: Vec<Mapping<'_>> = maps.lines().filter_map(Mapping::parse).collect();
    let is_interpreter = |mapping: &&Mapping<'_>| {
        let name = mapping.path.rsplit('/').next().unwrap_or_default();
        mapping.rights == "r-xp" && (name.starts_with("python") || name.starts_with("libpython"))
    };
    let code = mappings.iter().filter(is_interpreter).max_by_key(|mapping| mapping.end - mapping.start)?;
    let (mut start, mut end) = (code.start, code.end);
    // Constants are mapped around the code, from the same file and without a gap.
    for mapping in
        mappings.iter().rev().filter(|mapping| mapping.rights == "r--p" && mapping.path == code.path)
    {
        if mapping.end == start {
            start = mapping.start;
        }
    }
    for mapping in mappings.iter().filter(|mapping| mapping.rights == "r--p" && mapping.path == code.path) {
        if mapping.start == end {
            end = mapping.end;
        }
    }
    let (start, end) = (start.next_multiple_of(LARGE), end / LARGE * LARGE);
    (start < end).then_some((start, end))
}

struct Mapping<'a> {
    start: usize,
    end: usize,
    rights: &'a str,
    path: &'a str,
}

impl<'a> Mapping<'a> {
    /// Parses a line such as `00400000-0041f000 r--p 00000000 fe:00 1234   /usr/bin/python3.11`.
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let rights = words.next()?;
        Some(Self {
            start: usize::from_str_radix(start, 16).ok()?,
            end: usize::from_str_radix(end, 16).ok()?,
            rights,
            path: words.nth(3)?,
        })
    }
}

#[cfg(all(test, not(belljar_cell_library)))]
mod tests {
    use super::*;

    #[test]
    fn whole_large_pages_within_the_interpreters_mappings_are_found() {
        let maps = "00400000-0041f000 r--p 00000000 fe:00 1 /usr/bin/python3.11\n\
                    0041f000-006b3000 r-xp 0001f000 fe:00 1 /usr/bin/python3.11\n\
                    006b3000-00948000 r--p 002b3000 fe:00 1 /usr/bin/python3.11\n\
                    00948000-00949000 r--p 00547000 fe:00 1 /usr/bin/python3.11\n\
                    00949000-00a94000 rw-p 00548000 fe:00 1 /usr/bin/python3.11\n\
                    7f0000000000-7f0000400000 r-xp 00000000 fe:00 2 /usr/lib/libcrypto.so.3\n";
        assert_eq!(interpreter_code(maps), Some((0x40_0000, 0x80_0000)));
        assert_eq!(interpreter_code("7f00-8f00 r-xp 0 fe:00 1 /usr/bin/python3.11\n"), None);
        assert_eq!(interpreter_code(""), None);
    }
}
