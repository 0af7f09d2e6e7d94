//! What is in a file, into another.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Mode, OFlags, SeekFrom};
use rustix::io::Errno;

/// A file that nobody else has open, in the place of what had its name.
pub(super) fn new_file(place: BorrowedFd<'_>, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let make = || rustix::fs::openat(place, name, flags, Mode::RUSR | Mode::WUSR);
    match make() {
        Err(Errno::EXIST) => {
            rustix::fs::unlinkat(place, name, AtFlags::empty())?;
            Ok(make()?.into())
        }
        made => Ok(made?.into()),
    }
}

/// Copies what is in a file. Holes stay holes. Returns whether both share their blocks now.
pub(super) fn copy_file(from: &File, to: &File) -> io::Result<bool> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(true);
    }
    copy_bytes(from, to).map(|()| false)
}

/// Copies what is in a file. Holes stay holes.
pub(super) fn copy_bytes(from: &File, to: &File) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    /// A file that is smaller is read and written at once. Its holes are not worth a look.
    const SMALL: u64 = 64 << 10;
    let size = from.metadata()?.len();
    if size <= SMALL {
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        from.take(SMALL + 1).read_to_end(&mut bytes)?;
        return to.write_all_at(&bytes, 0);
    }
    rustix::fs::ftruncate(to, size)?;
    let mut at = 0;
    while at < size {
        let data = match rustix::fs::seek(from, SeekFrom::Data(at)) {
            Ok(data) => data,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(_) => at,
        };
        let end = rustix::fs::seek(from, SeekFrom::Hole(data)).unwrap_or(size).min(size);
        copy_range(from, to, data, end)?;
        at = end.max(data + 1);
    }
    Ok(())
}

fn copy_range(from: &File, to: &File, start: u64, end: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let left = usize::try_from(end - read_at).unwrap_or(usize::MAX).min(1 << 30);
        match rustix::fs::copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), left) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            // The file systems do not know each other.
            Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => {
                let mut piece = vec![0; left.min(1 << 20)];
                let read = from.read_at(&mut piece, read_at)?;
                if read == 0 {
                    return Ok(());
                }
                to.write_all_at(&piece[..read], write_at)?;
                read_at += read as u64;
                write_at += read as u64;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
