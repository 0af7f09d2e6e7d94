//! PID 1 of every cell, as a program of a few hundred bytes.
//!
//! It reaps orphans, and when the guest (always PID 2: the first process that PID 1 makes) has ended it tells the host how and ends too, which
//! takes the rest of the cell along. It is a program of its own, rather than a clone of the zygote that loops, because a clone costs a
//! millisecond to make, another half to take apart, and memory in between.
//!
//! Built by `build.rs` without the standard library; descriptor 3 is the status socket and the only one open.

#![no_std]
#![no_main]

use core::arch::{asm, global_asm};
use core::mem::MaybeUninit;
use core::panic::PanicInfo;

const STATUS: usize = 3;
const GUEST: isize = 2;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(crate) const WRITE: usize = 1;
    pub(crate) const EXIT: usize = 231;
    pub(crate) const WAIT4: usize = 61;
    pub(crate) const GETRUSAGE: usize = 98;
    pub(crate) const PRCTL: usize = 157;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub(crate) const WRITE: usize = 64;
    pub(crate) const EXIT: usize = 94;
    pub(crate) const WAIT4: usize = 260;
    pub(crate) const GETRUSAGE: usize = 165;
    pub(crate) const PRCTL: usize = 167;
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

extern "C" fn run() -> ! {
    const PR_SET_NAME: usize = 15;
    const EINTR: isize = -4;
    let name = c"belljar-init";
    // SAFETY: a NUL-terminated string that lives for ever.
    unsafe { call(number::PRCTL, PR_SET_NAME, name.as_ptr() as usize, 0, 0) };
    loop {
        let mut status = 0i32;
        // SAFETY: `status` outlives the call; a null usage pointer is allowed.
        let pid = unsafe { call(number::WAIT4, usize::MAX, &raw mut status as usize, 0, 0) };
        if pid == GUEST {
            report(status);
            exit(0);
        }
        if pid < 0 && pid != EINTR {
            exit(125);
        }
    }
}

#[repr(C)]
struct Usage {
    user: [i64; 2],
    system: [i64; 2],
    max_rss: i64,
    rest: [i64; 13],
}

/// What the host reads. Both architectures are little-endian, as the reader expects.
#[repr(C, packed)]
struct Record {
    tag: u8,
    status: i32,
    cpu_micros: i64,
    max_rss_kib: i64,
}

fn report(status: i32) {
    const RUSAGE_CHILDREN: usize = usize::MAX;
    let mut usage = MaybeUninit::<Usage>::uninit();
    // SAFETY: the structure has the layout of `struct rusage` on 64-bit Linux, and the call fills it: it fails for no valid argument.
    let usage = unsafe {
        call(number::GETRUSAGE, RUSAGE_CHILDREN, usage.as_mut_ptr() as usize, 0, 0);
        usage.assume_init_ref()
    };
    let cpu_micros = (usage.user[0] + usage.system[0]) * 1_000_000 + usage.user[1] + usage.system[1];
    let record = Record { tag: b'E', status, cpu_micros, max_rss_kib: usage.max_rss };
    // SAFETY: the record outlives the call and has the length stated.
    unsafe { call(number::WRITE, STATUS, &raw const record as usize, size_of::<Record>(), 0) };
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
