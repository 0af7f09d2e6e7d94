//! Files in memory: how the host hands contents and programs to processes that cannot open its own.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;

use crate::without_file_size_signal;

/// Makes an in-memory file with these contents, for a process that cannot open ours. It is sealed,
/// because every cell of a template maps the same one.
pub fn sealed_file(name: &str, contents: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    fill(file, contents)
}

/// Makes such a file for a program that may be read and run. The descriptor is none of the standard
/// ones, also in a host that has closed those.
pub(crate) fn program_file(name: &str, contents: &[u8]) -> io::Result<OwnedFd> {
    const FIRST_ORDINARY: i32 = 3;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels from 6.3 on want to be told that it is to be run, and may be set up to insist
    // (vm.memfd_noexec). Older ones do not know the flag.
    let file = match rustix::fs::memfd_create(name, flags | MemfdFlags::EXEC) {
        Err(Errno::INVAL) => rustix::fs::memfd_create(name, flags)?,
        other => other?,
    };
    let file = fill(file, contents)?;
    rustix::fs::fchmod(&file, Mode::from_raw_mode(0o555))?;
    // A file that is open for writing cannot be run.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    if file.as_raw_fd() >= FIRST_ORDINARY {
        return Ok(file);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(&file, FIRST_ORDINARY)?)
}

fn fill(file: OwnedFd, contents: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(file);
    without_file_size_signal(|| file.write_all(contents))?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_file_can_be_read_and_not_changed() {
        let file = File::from(sealed_file("test", b"contents").unwrap());
        let refused = (&file).write_all(b"x").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(file.set_len(0).is_err());
        let mut read = [0; 8];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut read, 0).unwrap();
        assert_eq!(&read, b"contents");
    }

    #[test]
    fn a_program_in_memory_runs() {
        let program = std::fs::read("/bin/true").unwrap();
        let file = program_file("test", &program).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert!(std::process::Command::new(path).status().unwrap().success());
    }

    /// The limit is the process's, so this test changes nothing that another test of this process
    /// could miss: nextest gives each a process of its own, and the limit is back at the end.
    #[test]
    fn a_file_that_is_too_large_is_an_error_and_no_signal() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let before = getrlimit(Resource::Fsize);
        setrlimit(Resource::Fsize, Rlimit { current: Some(4096), ..before }).unwrap();
        let refused = sealed_file("test", &[0; 8192]).unwrap_err();
        let fits = sealed_file("test", &[0; 4096]);
        setrlimit(Resource::Fsize, before).unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        assert!(fits.is_ok());
    }
}
