//! PID 1 of every cell: a program of two thousand bytes.
//!
//! It reaps orphans. When the guest has ended, it reports that to the host and ends too, which ends
//! the rest of the cell. The guest is always PID 2, the first process that PID 1 makes. This is a
//! separate program and not a looping clone of the zygote, because a clone costs a millisecond to
//! make, another half to take apart, and memory in between.
//!
//! It is also asked before anybody in the cell makes something that no kernel limit counts: an
//! Internet socket, a connection, a lock on a part of a file. It says yes until there are too many
//! (`questions`). It tells the host about the first socket, because from then on the cell's network
//! namespace counts as used.
//!
//! ```text
//!  wait ─┬─ a child has ended ──► reap; the guest: "E" to the host, exit
//!        ├─ the host's SIGINT or SIGTERM ──► to the guest; "I" to the host
//!        └─ somebody asks ──────► count ─► the first socket: "N" to the host ─► allow or refuse
//! ```
//!
//! `build.rs` builds it without the standard library. Descriptor 3 is the status socket, 4 the one
//! on which it is asked, 5 the kernel's list of locks. The last two may be missing. No other is
//! open.

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
const SIGINT: usize = 2;
const SIGALRM: usize = 14;
const SIGTERM: usize = 15;
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
    pub(crate) const KILL: usize = 62;
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
    pub(crate) const KILL: usize = 129;
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
        PollFd { fd: signal_descriptor(), events: POLLIN, returned: 0 },
        PollFd { fd: LISTENER, events: POLLIN, returned: 0 },
    ];
    install_alarm_handler();
    request_synchronous_wakeup();
    let mut counts = questions::Counts::new();
    // The guest may be dead already.
    reap();
    loop {
        // SAFETY: the array has the stated length and outlives the call; no time limit and no mask
        // are given.
        unsafe { call(number::PPOLL, fds.as_mut_ptr() as usize, fds.len(), 0, 0) };
        if fds[0].returned != 0 {
            take_signal(fds[0].fd);
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

/// Reaps every process that has ended. Ends this process once the guest has ended.
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

/// A descriptor that becomes readable when a child has ended, or when the host sends a signal.
fn signal_descriptor() -> i32 {
    const SIG_BLOCK: usize = 0;
    const NONBLOCK_CLOEXEC: usize = 0o4_000 | 0o2_000_000;
    const SET_SIZE: usize = 8;
    let set = 1u64 << (SIGCHLD - 1) | 1 << (SIGINT - 1) | 1 << (SIGTERM - 1);
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

/// Takes one signal from that descriptor. The host's SIGINT and SIGTERM go on to the guest, which
/// nobody outside can reach by its number; the host is told so, because it sends nothing more to
/// the guest until then. A guest that leads a process group is a program, and its group gets the
/// signal. One from inside is ignored, as every signal to PID 1 is. About children, [`reap`] asks
/// the kernel itself.
fn take_signal(fd: i32) {
    // `struct signalfd_siginfo` begins with the signal's number; the fourth word is its sender, by
    // its number in here. Who is outside has none.
    const OUTSIDE: u32 = 0;
    let mut record = [0u32; 32];
    // SAFETY: the record is as long as stated and outlives the call.
    unsafe { call(number::READ, fd as usize, record.as_mut_ptr() as usize, size_of_val(&record), 0) };
    let signal = record[0] as usize;
    if matches!(signal, SIGINT | SIGTERM) && record[3] == OUTSIDE {
        // SAFETY: no memory is involved.
        unsafe {
            if call(number::KILL, -GUEST as usize, signal, 0, 0) < 0 {
                call(number::KILL, GUEST as usize, signal, 0, 0);
            }
        }
        send_to_host(b"I");
    }
}

/// A question from the kernel: `struct seccomp_notif`.
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

/// Lets the asking process lend us its processor for the answer, so that we are not woken on
/// another one. Older kernels cannot do this.
fn request_synchronous_wakeup() {
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
    // The asking process may have died since the kernel announced its question. Then receiving
    // would wait for the next question, perhaps for ever, while nobody reaps. So an alarm ends
    // every wait.
    set_clock(WAKE_UP_MICROS);
    // SAFETY: the structure has the layout of `struct seccomp_notif`, is zero as the kernel wants
    // it, and outlives the call.
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

/// Rings the alarm at this interval from now on. 0 turns it off.
fn set_clock(micros: u64) {
    const ITIMER_REAL: usize = 0;
    let timer = [0, micros, 0, micros];
    // SAFETY: the array has the layout of `struct itimerval` and outlives the call; a null old
    // value is allowed.
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

// A signal handler returns here. Only this architecture needs it: its kernel has no return code of
// its own.
#[cfg(target_arch = "x86_64")]
global_asm!(".globl restore", "restore:", "mov eax, 15", "syscall");
#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn restore();
}

extern "C" fn do_nothing(_: i32) {}

/// Makes the alarm interrupt a call. By default PID 1 would ignore it.
fn install_alarm_handler() {
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
    // SAFETY: the structure has the layout of the kernel's own `struct sigaction` and outlives the
    // call.
    unsafe { call(number::RT_SIGACTION, SIGALRM, &raw const action as usize, 0, size_of::<u64>()) };
}

/// The record the host reads. Both architectures are little-endian, as the reader expects.
#[repr(C, packed)]
struct Record {
    tag: u8,
    status: i32,
}

fn report(status: i32) {
    let record = Record { tag: b'E', status };
    // SAFETY: the record is plain bytes without padding, and outlives the slice.
    send_to_host(unsafe { core::slice::from_raw_parts((&raw const record).cast(), size_of::<Record>()) });
}

/// Tells the host.
fn send_to_host(record: &[u8]) {
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

/// Unwind tables name this function, but nothing here uses them.
// SAFETY: nothing else in this program defines it, and nothing calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
