//! PID 1 of every cell, as a program of two thousand bytes.
//!
//! It reaps orphans, and when the guest (always PID 2: the first process that PID 1 makes) has ended it tells the host how
//! and ends too, which takes the rest of the cell along. It is a program of its own, rather than a clone of the zygote that
//! loops, because a clone costs a millisecond to make, another half to take apart, and memory in between.
//!
//! It is also asked before anybody in the cell makes something that no limit of the kernel's counts: a socket of the
//! Internet families, a connection, a lock on a part of a file. It says yes until there are too many
//! (`questions`), and tells the host of the first socket: from then on the cell's network namespace is not as it was.
//!
//! ```text
//!  wait ─┬─ a child has ended ──► reap; the guest: "E" to the host, exit
//!        └─ somebody asks ──────► count ─► the first socket: "N" to the host ─► go on, or not
//! ```
//!
//! Built by `build.rs` without the standard library; descriptor 3 is the status socket, 4 the one on which it is asked,
//! 5 the kernel's list of locks, if there are any, and no other is open.

#![no_std]
#![no_main]

mod bounds;
mod questions;

use core::arch::{asm, global_asm};
use core::mem::MaybeUninit;
use core::panic::PanicInfo;

const STATUS: usize = 3;
const LISTENER: i32 = 4;
const LOCKS: usize = 5;
const GUEST: isize = 2;
const EINTR: isize = -4;
const SIGALRM: usize = 14;
const SIGCHLD: usize = 17;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(crate) const READ: usize = 0;
    pub(crate) const WRITE: usize = 1;
    pub(crate) const CLOSE: usize = 3;
    pub(crate) const LSEEK: usize = 8;
    pub(crate) const RT_SIGACTION: usize = 13;
    pub(crate) const RT_SIGPROCMASK: usize = 14;
    pub(crate) const IOCTL: usize = 16;
    pub(crate) const SETITIMER: usize = 38;
    pub(crate) const SOCKET: usize = 41;
    pub(crate) const WAIT4: usize = 61;
    pub(crate) const FCNTL: usize = 72;
    pub(crate) const PRCTL: usize = 157;
    pub(crate) const EXIT: usize = 231;
    pub(crate) const OPENAT: usize = 257;
    pub(crate) const PPOLL: usize = 271;
    pub(crate) const SIGNALFD4: usize = 289;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub(crate) const FCNTL: usize = 25;
    pub(crate) const IOCTL: usize = 29;
    pub(crate) const OPENAT: usize = 56;
    pub(crate) const CLOSE: usize = 57;
    pub(crate) const LSEEK: usize = 62;
    pub(crate) const READ: usize = 63;
    pub(crate) const WRITE: usize = 64;
    pub(crate) const PPOLL: usize = 73;
    pub(crate) const SIGNALFD4: usize = 74;
    pub(crate) const EXIT: usize = 94;
    pub(crate) const SETITIMER: usize = 103;
    pub(crate) const RT_SIGACTION: usize = 134;
    pub(crate) const RT_SIGPROCMASK: usize = 135;
    pub(crate) const PRCTL: usize = 167;
    pub(crate) const SOCKET: usize = 198;
    pub(crate) const WAIT4: usize = 260;
}

// The kernel jumps here with nothing set up but the stack, which is aligned as calls expect.
#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "and rsp, -16", "call {run}", run = sym run);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "bl {run}", run = sym run);

/// # Safety
/// The arguments must be what the call asks for.
#[cfg(target_arch = "x86_64")]
unsafe fn call(number: usize, a: usize, b: usize, c: usize, d: usize) -> isize {
    let result;
    // SAFETY: the caller vouches for the arguments; the kernel clobbers rcx and r11 only.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// # Safety
/// The arguments must be what the call asks for.
#[cfg(target_arch = "aarch64")]
unsafe fn call(number: usize, a: usize, b: usize, c: usize, d: usize) -> isize {
    let result;
    // SAFETY: the caller vouches for the arguments; the kernel keeps every other register.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d, options(nostack));
    }
    result
}

#[repr(C)]
struct PollFd {
    fd: i32,
    events: i16,
    returned: i16,
}

extern "C" fn run() -> ! {
    const PR_SET_NAME: usize = 15;
    const POLLIN: i16 = 1;
    let name = c"belljar-init";
    // SAFETY: a NUL-terminated string that lives for ever.
    unsafe { call(number::PRCTL, PR_SET_NAME, name.as_ptr() as usize, 0, 0) };
    let mut fds = [
        PollFd { fd: deaths(), events: POLLIN, returned: 0 },
        PollFd { fd: LISTENER, events: POLLIN, returned: 0 },
    ];
    be_woken_by_the_clock();
    be_woken_at_once();
    let mut counts = questions::Counts::new();
    // A guest may be dead by now.
    reap();
    loop {
        // SAFETY: the array has the stated length and outlives the call; no time limit and no mask are given.
        unsafe { call(number::PPOLL, fds.as_mut_ptr() as usize, fds.len(), 0, 0) };
        if fds[0].returned != 0 {
            forget_deaths(fds[0].fd);
            reap();
        }
        match fds[1].returned {
            0 => {}
            POLLIN => answer(&mut counts),
            // There is no listener, or nobody is left who could ask.
            _ => fds[1].fd = -1,
        }
    }
}

/// Collects whoever has ended; ends with the guest.
fn reap() {
    const WNOHANG: usize = 1;
    loop {
        let mut status = 0i32;
        // SAFETY: `status` outlives the call; a null usage pointer is allowed.
        let pid = unsafe { call(number::WAIT4, usize::MAX, &raw mut status as usize, WNOHANG, 0) };
        match pid {
            GUEST => {
                report(status);
                exit(0)
            }
            0 => return,
            EINTR => {}
            pid if pid < 0 => exit(125),
            _ => {}
        }
    }
}

/// A descriptor that can be read when a child has ended.
fn deaths() -> i32 {
    const SIG_BLOCK: usize = 0;
    const NONBLOCK_CLOEXEC: usize = 0o4_000 | 0o2_000_000;
    const SET_SIZE: usize = 8;
    let set = 1u64 << (SIGCHLD - 1);
    let set = &raw const set as usize;
    // SAFETY: the set is as long as stated and outlives both calls.
    let fd = unsafe {
        call(number::RT_SIGPROCMASK, SIG_BLOCK, set, 0, SET_SIZE);
        call(number::SIGNALFD4, usize::MAX, set, SET_SIZE, NONBLOCK_CLOEXEC)
    };
    if fd < 0 {
        exit(125);
    }
    fd as i32
}

/// Empties that descriptor: [`reap`] asks the kernel itself.
fn forget_deaths(fd: i32) {
    let mut record = MaybeUninit::<[u8; 128]>::uninit();
    // SAFETY: the record is as long as stated and outlives the call.
    unsafe { call(number::READ, fd as usize, record.as_mut_ptr() as usize, 128, 0) };
}

/// What the kernel asks: `struct seccomp_notif`.
#[repr(C)]
struct Question {
    id: u64,
    _asker: u64,
    call: i32,
    _architecture: u32,
    _rest: [u64; 7],
}

#[repr(C)]
struct Reply {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// Whoever asks gives us its processor for the answer, instead of having us woken on another one. Older kernels cannot.
fn be_woken_at_once() {
    const SET_FLAGS: usize = 0x4008_2104;
    const SYNCHRONOUS: usize = 1;
    // SAFETY: no memory is involved.
    unsafe { call(number::IOCTL, LISTENER as usize, SET_FLAGS, SYNCHRONOUS, 0) };
}

/// Answers one question.
fn answer(counts: &mut questions::Counts) {
    const RECEIVE: usize = 0xc050_2100;
    const SEND: usize = 0xc018_2101;
    const CONTINUE: u32 = 1;
    let mut question = Question { id: 0, _asker: 0, call: 0, _architecture: 0, _rest: [0; 7] };
    // Who asked may have died since the kernel said that somebody asks. To receive would then be to wait for the next
    // one, perhaps for ever, with nobody to reap; so the clock ends every wait.
    set_clock(WAKE_UP_MICROS);
    // SAFETY: the structure has the layout of `struct seccomp_notif`, is zero as the kernel wants it, and outlives the call.
    let received =
        unsafe { call(number::IOCTL, LISTENER as usize, RECEIVE, &raw mut question as usize, 0) };
    set_clock(0);
    if received < 0 {
        return;
    }
    let refusal = counts.refusal(question.call as usize);
    let flags = if refusal == 0 { CONTINUE } else { 0 };
    let reply = Reply { id: question.id, value: 0, error: -refusal, flags };
    // SAFETY: the structure has the layout of `struct seccomp_notif_resp` and outlives the call.
    unsafe { call(number::IOCTL, LISTENER as usize, SEND, &raw const reply as usize, 0) };
}

const WAKE_UP_MICROS: u64 = 10_000;

/// Rings every so often from then on; never again with 0.
fn set_clock(micros: u64) {
    const ITIMER_REAL: usize = 0;
    let timer = [0, micros, 0, micros];
    // SAFETY: the array has the layout of `struct itimerval` and outlives the call; a null old value is allowed.
    unsafe { call(number::SETITIMER, ITIMER_REAL, timer.as_ptr() as usize, 0, 0) };
}

#[repr(C)]
struct Action {
    handler: extern "C" fn(i32),
    flags: usize,
    #[cfg(target_arch = "x86_64")]
    restorer: unsafe extern "C" fn(),
    mask: u64,
}

// Where a handler of signals returns to, on the one architecture whose kernel has no place of its own for it.
#[cfg(target_arch = "x86_64")]
global_asm!(".globl restore", "restore:", "mov eax, 15", "syscall");
#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn restore();
}

extern "C" fn do_nothing(_: i32) {}

/// The alarm interrupts a call instead of being ignored, which is what a first process does by default.
fn be_woken_by_the_clock() {
    #[cfg(target_arch = "x86_64")]
    const SA_RESTORER: usize = 0x0400_0000;
    let action = Action {
        handler: do_nothing,
        #[cfg(target_arch = "x86_64")]
        flags: SA_RESTORER,
        #[cfg(not(target_arch = "x86_64"))]
        flags: 0,
        #[cfg(target_arch = "x86_64")]
        restorer: restore,
        mask: 0,
    };
    // SAFETY: the structure has the layout of the kernel's own `struct sigaction` and outlives the call.
    unsafe { call(number::RT_SIGACTION, SIGALRM, &raw const action as usize, 0, size_of::<u64>()) };
}

/// What the host reads. Both architectures are little-endian, as the reader expects.
#[repr(C, packed)]
struct Record {
    tag: u8,
    status: i32,
}

fn report(status: i32) {
    let record = Record { tag: b'E', status };
    // SAFETY: the record is plain bytes without padding, and outlives the slice.
    tell(unsafe { core::slice::from_raw_parts((&raw const record).cast(), size_of::<Record>()) });
}

/// Tells the host.
fn tell(record: &[u8]) {
    // SAFETY: pointer and length belong together.
    unsafe { call(number::WRITE, STATUS, record.as_ptr() as usize, record.len(), 0) };
}

fn exit(code: usize) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { call(number::EXIT, code, 0, 0, 0) };
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    exit(126)
}

/// Named by unwind tables that nothing here uses.
// SAFETY: nothing else in this program defines it, and nothing calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
