//! Descriptors: closing, moving, sending and receiving them. Also the loopback interface, which
//! takes one.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr::null_mut;

use super::{check, check_long, syscall};

unsafe extern "C" {
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn bind(fd: c_int, address: *const c_void, length: c_uint) -> c_int;
    fn listen(fd: c_int, backlog: c_int) -> c_int;
    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int;
    fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int;
    fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    fn recvmsg(fd: c_int, message: *mut MessageHeader, flags: c_int) -> isize;
    fn sendmsg(fd: c_int, message: *const MessageHeader, flags: c_int) -> isize;
}

const SYS_CLOSE_RANGE: i64 = 436;

/// A file over a descriptor that somebody else owns and keeps open.
pub(crate) fn borrow_file(fd: RawFd) -> ManuallyDrop<File> {
    // SAFETY: `ManuallyDrop` leaves closing to the owner; a number that means nothing gives errors,
    // not harm.
    ManuallyDrop::new(unsafe { File::from_raw_fd(fd) })
}

/// `memfd_create(2)`: a file in memory that may be run, and sealed.
pub(crate) fn memory_file(name: &CStr) -> io::Result<File> {
    const CLOEXEC_SEALING: c_uint = 1 | 2;
    /// Kernels from 6.3 on want to be told. Older ones do not know the flag.
    const EXEC: c_uint = 0x10;
    const EINVAL: i32 = 22;
    // SAFETY: a NUL-terminated string that outlives the call; the result is a descriptor only we
    // know.
    let create = |flags| unsafe {
        check(memfd_create(name.as_ptr(), flags)).map(|fd| File::from(OwnedFd::from_raw_fd(fd)))
    };
    match create(CLOEXEC_SEALING | EXEC) {
        Err(error) if error.raw_os_error() == Some(EINVAL) => create(CLOEXEC_SEALING),
        other => other,
    }
}

/// Seals such a file: nobody can change it any more.
pub(crate) fn seal(fd: RawFd) -> io::Result<()> {
    const F_ADD_SEALS: c_int = 1033;
    const EVERY_SEAL: c_int = 1 | 2 | 4 | 8;
    // SAFETY: takes no pointers.
    check(unsafe { fcntl(fd, F_ADD_SEALS, EVERY_SEAL) }).map(drop)
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn bring_up_loopback() -> io::Result<()> {
    const AF_INET: c_int = 2;
    const SOCK_DGRAM_CLOEXEC: c_int = 2 | 0o2_000_000;
    const SIOCSIFFLAGS: c_ulong = 0x8914;
    const UP_RUNNING: u16 = 0x1 | 0x40;
    #[repr(C)]
    struct InterfaceRequest {
        name: [u8; 16],
        flags: u16,
        rest: [u8; 22],
    }
    let mut request = InterfaceRequest { name: [0; 16], flags: UP_RUNNING, rest: [0; 22] };
    request.name[..2].copy_from_slice(b"lo");
    // SAFETY: the descriptor is new and owned here; `request` has the layout of `struct ifreq` and
    // outlives the call.
    unsafe {
        let fd = OwnedFd::from_raw_fd(check(socket(AF_INET, SOCK_DGRAM_CLOEXEC, 0))?);
        check(ioctl(std::os::fd::AsRawFd::as_raw_fd(&fd), SIOCSIFFLAGS, &raw const request)).map(drop)
    }
}

/// A listening socket on this network namespace's own loopback.
pub(crate) fn listen_on_loopback(port: u16) -> io::Result<OwnedFd> {
    const AF_INET: c_int = 2;
    const SOCK_STREAM_CLOEXEC: c_int = 1 | 0o2_000_000;
    const BACKLOG: c_int = 128;
    #[repr(C)]
    struct Address {
        family: u16,
        port: u16,
        address: u32,
        rest: [u8; 8],
    }
    let here = Address {
        family: AF_INET as u16,
        port: port.to_be(),
        address: u32::from_be_bytes([127, 0, 0, 1]).to_be(),
        rest: [0; 8],
    };
    // SAFETY: the descriptor is new and owned here; the address has the layout of `struct
    // sockaddr_in` and outlives the call.
    unsafe {
        let fd = OwnedFd::from_raw_fd(check(socket(AF_INET, SOCK_STREAM_CLOEXEC, 0))?);
        let raw = std::os::fd::AsRawFd::as_raw_fd(&fd);
        check(bind(raw, &raw const here as *const c_void, size_of::<Address>() as c_uint))?;
        check(listen(raw, BACKLOG))?;
        Ok(fd)
    }
}

/// The two ends of a stream.
pub(crate) fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    const AF_UNIX: c_int = 1;
    const SOCK_STREAM_CLOEXEC: c_int = 1 | 0o2_000_000;
    let mut ends = [-1; 2];
    // SAFETY: the array has room for the two descriptors, which nobody else knows of.
    unsafe {
        check(socketpair(AF_UNIX, SOCK_STREAM_CLOEXEC, 0, ends.as_mut_ptr()))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    // SAFETY: takes no pointers. The owners of those descriptors are in the parent's copy of this
    // memory, or never run again.
    check_long(unsafe { syscall(SYS_CLOSE_RANGE, first as c_uint, c_uint::MAX, 0u32) }).map(drop)
}

/// Closes the descriptors from `first` to `last`.
pub(crate) fn close_between(first: RawFd, last: RawFd) -> io::Result<()> {
    // SAFETY: as in `close_from`.
    check_long(unsafe { syscall(SYS_CLOSE_RANGE, first as c_uint, last as c_uint, 0u32) }).map(drop)
}

/// Makes `new` a copy of `old` that survives `execve`.
pub(crate) fn duplicate_onto(old: RawFd, new: RawFd) -> io::Result<()> {
    if old == new {
        return keep_on_exec(old);
    }
    // SAFETY: takes no pointers.
    check(unsafe { dup3(old, new, 0) }).map(drop)
}

/// Copies a descriptor to a number of at least `least`. The copy is closed on `execve`.
pub(crate) fn duplicate_above(fd: RawFd, least: RawFd) -> io::Result<RawFd> {
    const F_DUPFD_CLOEXEC: c_int = 1030;
    // SAFETY: takes no pointers.
    check(unsafe { fcntl(fd, F_DUPFD_CLOEXEC, least) })
}

/// Clears the close-on-exec flag.
pub(crate) fn keep_on_exec(fd: RawFd) -> io::Result<()> {
    const F_SETFD: c_int = 2;
    // SAFETY: takes no pointers.
    check(unsafe { fcntl(fd, F_SETFD, 0) }).map(drop)
}

/// Sets the close-on-exec flag.
pub(crate) fn close_on_exec(fd: RawFd) -> io::Result<()> {
    const F_SETFD: c_int = 2;
    const FD_CLOEXEC: c_int = 1;
    // SAFETY: takes no pointers.
    check(unsafe { fcntl(fd, F_SETFD, FD_CLOEXEC) }).map(drop)
}

#[repr(C)]
struct IoVector {
    base: *mut c_void,
    len: usize,
}

#[repr(C)]
struct MessageHeader {
    name: *mut c_void,
    name_len: c_uint,
    vectors: *mut IoVector,
    vector_count: usize,
    control: *mut c_void,
    control_len: usize,
    flags: c_int,
}

const SOL_SOCKET: i32 = 1;
const SCM_RIGHTS: i32 = 1;
const CONTROL_HEADER: usize = 16;

/// Receives one message. Returns its length and the number of descriptors put into `descriptors`.
/// Allocates nothing.
pub(crate) fn receive_into(
    socket: RawFd,
    buffer: &mut [u8],
    descriptors: &mut [RawFd],
) -> io::Result<(usize, usize)> {
    const MSG_CMSG_CLOEXEC: c_int = 0x4000_0000;
    let mut control = [0u64; 32];
    let mut vector = IoVector { base: buffer.as_mut_ptr().cast(), len: buffer.len() };
    let mut message = MessageHeader {
        name: null_mut(),
        name_len: 0,
        vectors: &raw mut vector,
        vector_count: 1,
        control: control.as_mut_ptr().cast(),
        control_len: size_of_val(&control),
        flags: 0,
    };
    // SAFETY: the header points to buffers of the stated lengths that outlive the call.
    let read = unsafe { recvmsg(socket, &raw mut message, MSG_CMSG_CLOEXEC) };
    if read < 0 {
        return Err(io::Error::last_os_error());
    }
    let word = |at: usize| (control[at / 8] >> (at % 8 * 8)) as i32;
    let mut count = 0;
    if message.control_len >= CONTROL_HEADER && word(8) == SOL_SOCKET && word(12) == SCM_RIGHTS {
        let length = (control[0] as usize).min(message.control_len);
        for at in (CONTROL_HEADER..length).step_by(4) {
            match descriptors.get_mut(count) {
                Some(place) => {
                    *place = word(at);
                    count += 1;
                }
                // This is more than anybody sends, so it must not stay open.
                // SAFETY: the kernel has just installed this descriptor for us.
                None => drop(unsafe { OwnedFd::from_raw_fd(word(at)) }),
            }
        }
    }
    Ok((read as usize, count))
}

/// Receives one message with the descriptors that came along.
pub(crate) fn receive_with_descriptors(
    socket: RawFd,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut descriptors = [-1; 56];
    let (read, count) = receive_into(socket, buffer, &mut descriptors)?;
    // SAFETY: the kernel has just installed these descriptors for us.
    let owned = descriptors[..count].iter().map(|&fd| unsafe { OwnedFd::from_raw_fd(fd) }).collect();
    Ok((read, owned))
}

/// The most descriptors that [`send_with_descriptors`] sends.
pub(crate) const MOST_SENT: usize = 18;

/// Sends one message and some descriptors. Allocates nothing.
pub(crate) fn send_with_descriptors(socket: RawFd, text: &[u8], descriptors: &[RawFd]) -> io::Result<()> {
    const MSG_NOSIGNAL: c_int = 0x4000;
    let descriptors = descriptors.get(..descriptors.len().min(MOST_SENT)).unwrap_or_default();
    let rights = u64::from(SOL_SOCKET as u32) | u64::from(SCM_RIGHTS as u32) << 32;
    let mut control = [0; 2 + MOST_SENT / 2];
    control[0] = (CONTROL_HEADER + descriptors.len() * 4) as u64;
    control[1] = rights;
    for (at, &descriptor) in descriptors.iter().enumerate() {
        control[2 + at / 2] |= u64::from(descriptor as u32) << (at % 2 * 32);
    }
    let mut vector = IoVector { base: text.as_ptr().cast_mut().cast(), len: text.len() };
    let message = MessageHeader {
        name: null_mut(),
        name_len: 0,
        vectors: &raw mut vector,
        vector_count: 1,
        control: control.as_mut_ptr().cast(),
        control_len: CONTROL_HEADER + (descriptors.len() * 4).next_multiple_of(8),
        flags: 0,
    };
    // SAFETY: the header points to buffers of the stated lengths that outlive the call, which only
    // reads them.
    check_long(unsafe { sendmsg(socket, &raw const message, MSG_NOSIGNAL) } as i64).map(drop)
}
