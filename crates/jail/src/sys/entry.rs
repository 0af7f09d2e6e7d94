//! How a program that merely links this crate can be its own jail helper.
//!
//! A process with threads must not fork itself into a jail, so the work is done by a fresh process. Rather than look for a second
//! executable that an embedder would have to install, the host runs itself again under another name; this function is
//! called by the C runtime before `main`, sees the name, and never returns. For everyone else it is one comparison.

use std::ffi::{CStr, c_char, c_int};

use crate::helper;

/// The name under which a program is the jail helper.
pub(crate) const HELPER_NAME: &str = "belljar-jail-helper";

// SAFETY: the section holds pointers to functions with this signature, which glibc calls with main's arguments.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = before_main;

extern "C" fn before_main(count: c_int, arguments: *const *const c_char, _environment: *const *const c_char) {
    if count < 1 || arguments.is_null() {
        return;
    }
    // SAFETY: the C runtime passes `count` NUL-terminated strings, and `count` is at least one.
    let name = unsafe {
        let first = *arguments;
        if first.is_null() {
            return;
        }
        CStr::from_ptr(first)
    };
    if name.to_bytes() == HELPER_NAME.as_bytes() {
        helper::run();
    }
}

/// Keeps this object file in every program that can launch a jail.
pub(crate) fn is_linked() -> bool {
    BEFORE_MAIN as usize != 0
}
