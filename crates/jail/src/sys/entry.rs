//! Lets a program that merely links a crate run a function of it instead of `main`.
//!
//! The C runtime calls a function before `main`. It sees the name under which the program was
//! started and, if that is the one, never returns. In any other process it costs one comparison.
//! Nothing in this crate does so. The docker engine does, to have the running program be the proxy
//! in a container; the macro stands here because its code is unsafe.

use std::ffi::{CStr, c_char, c_int};

/// Runs a function instead of `main` in a process with a given name. This applies to every program
/// that links the crate in which the macro stands.
///
/// The macro defines a function `entry_address` in that crate. Call it from code that is used, or
/// the linker leaves all of this out.
#[macro_export]
macro_rules! run_instead_of_main {
    ($name:expr, $run:path) => {
        // SAFETY: the section holds pointers to functions with this signature, which glibc calls
        // with main's arguments.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static BEFORE_MAIN: extern "C" fn(
            ::std::ffi::c_int,
            *const *const ::std::ffi::c_char,
            *const *const ::std::ffi::c_char,
        ) = before_main;

        extern "C" fn before_main(
            count: ::std::ffi::c_int,
            arguments: *const *const ::std::ffi::c_char,
            _environment: *const *const ::std::ffi::c_char,
        ) {
            let name: &str = $name;
            // SAFETY: the C runtime passes `count` NUL-terminated strings.
            if unsafe { $crate::is_called(count, arguments, name) } {
                $run();
            }
        }

        /// Where the function that runs before `main` is in memory. Whoever can ask has it linked.
        pub(crate) fn entry_address() -> usize {
            BEFORE_MAIN as usize
        }
    };
}

/// Whether the first argument of a program is `name`.
///
/// # Safety
///
/// There are `count` pointers to NUL-terminated strings at `arguments`, or it is null.
#[doc(hidden)]
pub unsafe fn is_called(count: c_int, arguments: *const *const c_char, name: &str) -> bool {
    if count < 1 || arguments.is_null() {
        return false;
    }
    // SAFETY: the caller promises that there is at least one.
    let first = unsafe { *arguments };
    // SAFETY: the caller promises that it is NUL-terminated, unless it is null.
    !first.is_null() && unsafe { CStr::from_ptr(first) }.to_bytes() == name.as_bytes()
}
