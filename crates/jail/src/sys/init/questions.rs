//! What PID 1 allows, and how much of it.
//!
//! Each of these takes kernel memory that no control group counts, or not yet:
//!
//! | question about | why | counted by |
//! |---|---|---|
//! | an Internet socket | bytes may stay in it without a descriptor | `/proc/net/sockstat` |
//! | a connection | its other end belongs to nobody until it is accepted | the same |
//! | a lock on a part of a file | a few files carry millions | the kernel's list of locks |
//!
//! The counts come from the kernel, because a guest does not say when it ends or closes something.

use core::mem::MaybeUninit;

use super::bounds::{MOST_LOCKS, MOST_SOCKETS};
use super::{LOCKS, call, number, send_to_host};

const ENFILE: i32 = 23;
const ENOLCK: i32 = 37;

pub(super) struct Counts {
    a_socket_was_made: bool,
    /// At least the number of locks. It goes down only when the kernel's list is read again.
    locks: u32,
}

impl Counts {
    pub(super) const fn new() -> Self {
        Self { a_socket_was_made: false, locks: 0 }
    }

    /// The error to refuse a call with, or 0 to allow it.
    pub(super) fn refusal(&mut self, asked_for: usize) -> i32 {
        match asked_for {
            number::FCNTL => self.one_more_lock(),
            number::SOCKET if !self.a_socket_was_made => {
                // Tell the host before the socket is made. It must never think that there was none.
                self.a_socket_was_made = true;
                send_to_host(b"N");
                one_more_socket()
            }
            _ => one_more_socket(),
        }
    }

    fn one_more_lock(&mut self) -> i32 {
        if self.locks >= MOST_LOCKS {
            self.locks = locks();
        }
        if self.locks >= MOST_LOCKS {
            return ENOLCK;
        }
        self.locks += 1;
        0
    }
}

fn one_more_socket() -> i32 {
    if sockets() < MOST_SOCKETS { 0 } else { ENFILE }
}

/// The number of sockets in the cell's network: `sockets: used 12`. Returns the maximum if it
/// cannot be read.
fn sockets() -> u32 {
    const HERE: usize = -100isize as usize;
    const CLOSE_ON_EXEC: usize = 0o2_000_000;
    let path = c"/proc/self/net/sockstat";
    // SAFETY: a NUL-terminated string that lives for ever.
    let fd = unsafe { call(number::OPENAT, HERE, path.as_ptr() as usize, CLOSE_ON_EXEC, 0) };
    if fd < 0 {
        return u32::MAX;
    }
    let mut text = MaybeUninit::<[u8; 64]>::uninit();
    let text = read(fd as usize, &mut text);
    // SAFETY: a descriptor of our own.
    unsafe { call(number::CLOSE, fd as usize, 0, 0, 0) };
    let digits = text.iter().skip_while(|byte| !byte.is_ascii_digit());
    let digits = digits.take_while(|byte| byte.is_ascii_digit());
    digits.fold(None, |number: Option<u32>, byte| {
        Some(number.unwrap_or(0).saturating_mul(10).saturating_add(u32::from(byte - b'0')))
    })
    .unwrap_or(u32::MAX)
}

/// The number of kernel locks of the kind we are asked about: `1: POSIX  ADVISORY  WRITE 5 …`. The
/// list has the locks of this cell's processes. Others in it are of another kind.
fn locks() -> u32 {
    // SAFETY: no memory is involved.
    if unsafe { call(number::LSEEK, LOCKS, 0, 0, 0) } < 0 {
        return u32::MAX;
    }
    let mut piece = MaybeUninit::<[u8; 2048]>::uninit();
    let (mut count, mut kind_is_known) = (0u32, false);
    loop {
        let read = read(LOCKS, &mut piece);
        if read.is_empty() {
            return count;
        }
        for byte in read {
            match byte {
                b'\n' => kind_is_known = false,
                b'A'..=b'Z' if !kind_is_known => {
                    kind_is_known = true;
                    count = count.saturating_add(u32::from(*byte == b'P'));
                }
                _ => {}
            }
        }
    }
}

/// Reads into a buffer. Returns nothing if that fails.
fn read<const N: usize>(fd: usize, into: &mut MaybeUninit<[u8; N]>) -> &[u8] {
    // SAFETY: pointer and length belong together.
    let length = unsafe { call(number::READ, fd, into.as_mut_ptr() as usize, N, 0) };
    let length = usize::try_from(length).unwrap_or(0).min(N);
    // SAFETY: the kernel has filled that many bytes.
    unsafe { core::slice::from_raw_parts(into.as_ptr().cast(), length) }
}
