//! What PID 1 says yes to, and until when.
//!
//! Each of these takes memory of the kernel's that no control group counts, or not yet:
//!
//! | asked about | because | counted by |
//! |---|---|---|
//! | a socket of the Internet families | it may be given up with bytes in it, and no descriptor is left | `/proc/net/sockstat` |
//! | a connection | its other end belongs to nobody until it is accepted | the same |
//! | a lock on a part of a file | a few files carry millions | the kernel's list of locks |
//!
//! The kernel is asked how many there are, because a guest that ends or closes does not tell us.

use core::mem::MaybeUninit;

use super::bounds::{MOST_LOCKS, MOST_SOCKETS};
use super::{LOCKS, call, number, tell};

const ENFILE: i32 = 23;
const ENOLCK: i32 = 37;

pub(super) struct Counts {
    a_socket_was_made: bool,
    /// At least as many as there are: none is taken off before the kernel's list is read again.
    locks: u32,
}

impl Counts {
    pub(super) const fn new() -> Self {
        Self { a_socket_was_made: false, locks: 0 }
    }

    /// The error to refuse a call with; 0 for none.
    pub(super) fn refusal(&mut self, asked_for: usize) -> i32 {
        match asked_for {
            number::FCNTL => self.one_more_lock(),
            number::SOCKET if !self.a_socket_was_made => {
                // Told before it is made: the host must never think that there was none.
                self.a_socket_was_made = true;
                tell(b"N");
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

/// How many sockets there are in the cell's network: `sockets: used 12`. Any number when it cannot be found out.
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

/// How many of the kernel's locks are of the kind that we are asked about: `1: POSIX  ADVISORY  WRITE 5 …`. The list has
/// those of this cell's processes; others in it are of another kind.
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

/// What was read, which is nothing when it cannot be.
fn read<const N: usize>(fd: usize, into: &mut MaybeUninit<[u8; N]>) -> &[u8] {
    // SAFETY: pointer and length belong together.
    let length = unsafe { call(number::READ, fd, into.as_mut_ptr() as usize, N, 0) };
    let length = usize::try_from(length).unwrap_or(0).min(N);
    // SAFETY: the kernel has filled so many bytes.
    unsafe { core::slice::from_raw_parts(into.as_ptr().cast(), length) }
}
