//! Belljar for programs that are not Rust's: three functions that C can call.
//!
//! The library has one runtime and one sandbox, on a tokio runtime of its own. Every function
//! returns 0 if it did what it was asked for. `out` gets a text that ends with NUL, shortened to
//! `capacity`.

#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use belljar::{ExecutionRequest, ExecutionResult, Runtime, Sandbox, SandboxConfig};

use crate::in_full;

struct Host {
    tokio: tokio::runtime::Runtime,
    runtime: Runtime,
    sandbox: Sandbox,
}

static HOST: Mutex<Option<Host>> = Mutex::new(None);

/// Makes the runtime and the sandbox. `out` gets the reason if that fails.
///
/// # Safety
/// `out` has room for `capacity` bytes.
// SAFETY: no other function of this name is linked into a program with this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn belljar_host_start(out: *mut c_char, capacity: usize) -> c_int {
    let told = match start() {
        Ok(host) => {
            *HOST.lock().unwrap_or_else(PoisonError::into_inner) = Some(host);
            Ok(String::new())
        }
        Err(reason) => Err(reason),
    };
    // SAFETY: the caller vouches for the place.
    unsafe { answer(told, out, capacity) }
}

/// Runs a script for at most that many milliseconds. `out` gets its verdict, its result as JSON,
/// and then its traceback and what it printed.
///
/// # Safety
/// `script` ends with NUL, and `out` has room for `capacity` bytes.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn belljar_host_run(
    script: *const c_char,
    milliseconds: u64,
    out: *mut c_char,
    capacity: usize,
) -> c_int {
    // SAFETY: the caller vouches for the string.
    let script = unsafe { CStr::from_ptr(script) }.to_string_lossy();
    let host = HOST.lock().unwrap_or_else(PoisonError::into_inner);
    let told = match &*host {
        None => Err("belljar_host_start comes first".to_owned()),
        Some(Host { tokio, sandbox, .. }) => {
            let within = Duration::from_millis(milliseconds);
            let request = ExecutionRequest::new(script).with_timeout(within);
            tokio.block_on(sandbox.run(request)).map(text_of).map_err(in_full)
        }
    };
    // SAFETY: the caller vouches for the place.
    unsafe { answer(told, out, capacity) }
}

/// Shuts the runtime down.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn belljar_host_shutdown() -> c_int {
    match HOST.lock().unwrap_or_else(PoisonError::into_inner).take() {
        None => 1,
        Some(Host { tokio, runtime, sandbox }) => {
            tokio.block_on(runtime.shutdown());
            drop(sandbox);
            0
        }
    }
}

fn start() -> Result<Host, String> {
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let runtime = tokio.block_on(Runtime::new()).map_err(in_full)?;
    let sandbox = tokio.block_on(runtime.sandbox(SandboxConfig::default())).map_err(in_full)?;
    Ok(Host { tokio, runtime, sandbox })
}

fn text_of(result: ExecutionResult) -> String {
    let data = result.final_data.as_ref().map(|data| data.as_str()).unwrap_or("null");
    let traceback = result.traceback.unwrap_or_default();
    format!("{}\n{data}\n{traceback}{}{}", result.verdict, result.stdout, result.stderr)
}

/// # Safety
/// `out` has room for `capacity` bytes.
unsafe fn answer(told: Result<String, String>, out: *mut c_char, capacity: usize) -> c_int {
    let (code, text) = match told {
        Ok(text) => (0, text),
        Err(text) => (1, text),
    };
    let Some(room) = capacity.checked_sub(1) else { return code };
    let length = text.len().min(room);
    // SAFETY: the text is at least that long; the caller vouches for the place, which is longer.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), length);
        out.add(length).write(0);
    }
    code
}
