//! This module as a program: the `belljar` command.
//!
//! The command and the module are nearly the same code. A wheel that had both would be twice as
//! large, so it has one file that is both, as `libc.so.6` is: a shared library with an interpreter
//! and an entry. Python loads it, and the kernel runs it.
//!
//! ```text
//!  kernel ──► ld.so ──► belljar_start ──► __libc_start_main ──► initialise ──► main ──► belljar_cli
//! ```
//!
//! * A program of its own would have this from the C compiler's start-up files, which a shared
//!   library is linked without. The constructors that they would call are called by `initialise`.
//! * Nobody defines Python's functions when no Python is there. They are not called then, and
//!   `scripts/pack_wheel.py` marks them as weak, so that nothing looks for them.

#![expect(unsafe_code, reason = "the first instructions of a program, and what C calls")]

use std::ffi::{c_char, c_int};
use std::process::exit;

/// Asks for the dynamic linker of glibc, as programs do.
#[used]
#[unsafe(link_section = ".interp")]
static INTERPRETER: [u8; 28] = *b"/lib64/ld-linux-x86-64.so.2\0";

type Constructor = extern "C" fn(c_int, *const *const c_char, *const *const c_char);

unsafe extern "C" {
    /// The first constructor of this file. The linker defines both.
    static __init_array_start: [Constructor; 0];
    static __init_array_end: [Constructor; 0];
    fn signal(number: c_int, handler: usize) -> usize;
}

/// Where the kernel begins, with the arguments on the stack. It is what the start-up file of a
/// program does: `__libc_start_main(main, argc, argv, initialise, nothing, rtld_fini, stack)`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn belljar_start() -> ! {
    core::arch::naked_asm!(
        "xor ebp, ebp",
        "mov r9, rdx",
        "pop rsi",
        "mov rdx, rsp",
        "and rsp, -16",
        "push rax",
        "push rsp",
        "xor r8d, r8d",
        "lea rcx, [rip + {initialise}]",
        "lea rdi, [rip + {main}]",
        "call [rip + __libc_start_main@GOTPCREL]",
        "hlt",
        initialise = sym initialise,
        main = sym main,
    )
}

/// Calls the constructors. The dynamic linker leaves those of a program to the program.
extern "C" fn initialise(argc: c_int, argv: *const *const c_char, envp: *const *const c_char) {
    // SAFETY: the linker puts the constructors of this file, and nothing else, between the two.
    let constructors = unsafe {
        let (first, end) = (__init_array_start.as_ptr(), __init_array_end.as_ptr());
        std::slice::from_raw_parts(first, end.offset_from_unsigned(first))
    };
    for constructor in constructors {
        constructor(argc, argv, envp);
    }
}

extern "C" fn main(_: c_int, _: *const *const c_char) -> c_int {
    const SIGPIPE: c_int = 13;
    const SIG_IGN: usize = 1;
    // SAFETY: nothing else runs yet, and ignoring a signal calls nothing. Rust's own start does it:
    // a reader who has gone is an error, not the end.
    unsafe { signal(SIGPIPE, SIG_IGN) };
    exit(i32::from(belljar_cli::main()))
}
