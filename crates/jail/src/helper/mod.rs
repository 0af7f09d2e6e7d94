//! The helper's side of the jail. The helper is a single-threaded process that builds the outer
//! jail. Its child becomes the zygote.
//!
//! ```text
//!  host ──exec──► helper ──fork──► PID 1 of a new pid namespace:
//!                  │                mount, ipc, uts, net namespaces ─► guest root ─► pivot
//!                  │                ─► ids ─► capabilities ─► exec
//!                  └ waits: host gone ► kill; PID 1 gone ► exit the same way
//! ```
//!
//! It gets one message on descriptor 0, with the spec and the descriptors to pass on. If a step
//! fails, it answers on the same socket with the name of the step, and exits.
//!
//! A process that has threads must never enter this module.

mod identity;
mod inherited;
mod outer_jail;
mod probe;
mod root;

use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use crate::spec::JailSpec;
use crate::sys::kernel;

pub(crate) use probe::{ProbeAnswer, TrialResult};

/// The descriptor on which the helper, and later the zygote, talks to the host.
pub(crate) const CONTROL: i32 = 0;
/// The first of the descriptors that the zygote gets from the host.
pub(crate) const PASSED_ON: i32 = 3;

/// The message that asks for a jail. The spec comes as a file, because it may be long.
pub(crate) const ASK_JAIL: &[u8] = b"jail";
/// The message that asks what this kernel lets us do.
pub(crate) const ASK_PROBE: &[u8] = b"probe";

/// A step of the set-up that failed.
#[derive(Debug)]
pub(crate) struct StepError {
    step: String,
    error: io::Error,
}

pub(crate) type Step<T> = Result<T, StepError>;

pub(crate) trait Named<T> {
    fn step(self, name: impl FnOnce() -> String) -> Step<T>;
}

impl<T> Named<T> for io::Result<T> {
    fn step(self, name: impl FnOnce() -> String) -> Step<T> {
        self.map_err(|error| StepError { step: name(), error })
    }
}

/// The whole life of the helper.
pub(crate) fn run() -> ! {
    // The guest must not get what the host forgot to mark close-on-exec.
    let _ = kernel::close_from(PASSED_ON);
    inherited::reset();
    let mut buffer = [0; 64];
    let code = match kernel::receive_with_descriptors(CONTROL, &mut buffer) {
        Ok((read, descriptors)) if &buffer[..read] == ASK_JAIL => match jail(descriptors) {
            Ok(code) => code,
            Err(failed) => {
                tell_host(&failed);
                1
            }
        },
        Ok((read, _)) if &buffer[..read] == ASK_PROBE => {
            let answer = serde_json::to_vec(&probe::probe_all()).expect("plain data serialises");
            i32::from(write_control(&answer).is_err())
        }
        _ => 2,
    };
    kernel::exit_now(code)
}

fn jail(mut descriptors: Vec<OwnedFd>) -> Step<i32> {
    let spec = read_spec(&mut descriptors).step(|| "read the jail's spec".into())?;
    outer_jail::enter(&spec, descriptors)
}

fn read_spec(descriptors: &mut Vec<OwnedFd>) -> io::Result<JailSpec> {
    if descriptors.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no spec came along"));
    }
    let mut file = std::fs::File::from(descriptors.remove(0));
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::other)
}

/// Answers the host in the zygote's format: one JSON object per message.
fn tell_host(failed: &StepError) {
    let text = serde_json::json!({
        "type": "failed",
        "step": failed.step,
        "error": failed.error.to_string(),
        "errno": failed.error.raw_os_error(),
    });
    // If the host is gone there is nobody to tell.
    let _ = write_control(text.to_string().as_bytes());
}

fn write_control(message: &[u8]) -> io::Result<()> {
    kernel::borrow_file(CONTROL).write_all(message)
}

/// Arranges the descriptors that the zygote finds after `exec`, from [`PASSED_ON`] up.
pub(crate) fn pass_on(descriptors: &[OwnedFd]) -> io::Result<()> {
    // First move them out of the range of numbers they are going to, then into it.
    let least = PASSED_ON + descriptors.len() as i32 + 16;
    let aside: Vec<i32> = descriptors
        .iter()
        .map(|descriptor| kernel::duplicate_above(descriptor.as_raw_fd(), least))
        .collect::<io::Result<_>>()?;
    for (place, fd) in (PASSED_ON..).zip(aside) {
        kernel::duplicate_onto(fd, place)?;
    }
    Ok(())
}
