//! Lets a program that merely links this crate be its own jail helper.
//!
//! A process with threads must not fork itself into a jail, so a fresh process does the work. A
//! second executable would be one more thing for an embedder to install. Instead the host runs
//! itself again under another name. The C runtime calls the function below before `main`. It sees
//! the name and never returns. In any other process it costs one comparison.

use std::ffi::{CStr, c_char, c_int};

#[cfg(confine)]
use crate::helper;

/// The name under which a program is the jail helper.
#[cfg(confine)]
pub(crate) const HELPER_NAME: &str = "belljar-jail-helper";

/// Runs a function instead of `main` in a process with a given name. This applies to every program
/// that links the crate in which the macro stands.
///
/// The macro defines a function `is_linked` in that crate. Call it from code that is used, or the
/// linker leaves all of this out.
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

        /// Keeps this object file in every program that may have to run it.
        pub(crate) fn is_linked() -> bool {
            BEFORE_MAIN as usize != 0
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

#[cfg(confine)]
crate::run_instead_of_main!(HELPER_NAME, helper::run);
