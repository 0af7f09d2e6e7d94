//! The jail helper: a small, single-threaded program that builds the outer jail. Its child becomes
//! the zygote.
//!
//! ```text
//!  host ──exec──► helper ──fork──► PID 1 of a new pid namespace:
//!                  │                mount, ipc, uts, net namespaces ─► guest root ─► pivot
//!                  │                ─► ids ─► capabilities ─► exec
//!                  └ waits: host gone ► kill; PID 1 gone ► exit the same way;
//!                           a cell to come ► lends it what it may write to (`lend`)
//! ```
//!
//! It says hello on descriptor 0 before anything else. Then it gets one message there, with the
//! descriptors it needs (`messages`). If a step fails, it answers on the same socket with the name
//! of the step, and exits.
//!
//! It is a program of its own, because a process that has threads must not fork itself into a jail
//! (`main.rs`). A process that has threads must never enter this module.

mod identity;
mod inherited;
mod lend;
mod messages;
mod outer_jail;
mod probe;
mod root;

use std::fs::Permissions;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;

use crate::kernel;
use crate::spec::JailSpec;

pub(crate) use messages::{ASK_HOLD, ASK_JAIL, ASK_PRESENCE, ASK_PROBE, HELLO, ProbeAnswer, TrialResult};

/// The descriptor on which the helper, and later the zygote, talks to the host.
pub(crate) const CONTROL: i32 = 0;
/// The first of the descriptors that the zygote gets from the host.
pub(crate) const PASSED_ON: i32 = 3;

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
    if write_control(HELLO).is_err() {
        kernel::exit_now(2)
    }
    kernel::set_name(c"belljar-jail");
    // The guest must not get what the host forgot to mark close-on-exec.
    let _ = kernel::close_from(PASSED_ON);
    let limits = inherited::reset();
    let mut buffer = [0; 64];
    let code = match kernel::receive_with_descriptors(CONTROL, &mut buffer) {
        Ok((read, descriptors)) if &buffer[..read] == ASK_JAIL => match jail(descriptors, &limits) {
            Ok(code) => code,
            Err(failed) => {
                tell_host(&failed);
                1
            }
        },
        Ok((read, _)) if &buffer[..read] == ASK_PROBE => {
            i32::from(write_control(&probe::probe_all().encode()).is_err())
        }
        Ok((read, descriptors)) if &buffer[..read] == ASK_HOLD => hold(&descriptors),
        _ => 2,
    };
    kernel::exit_now(code)
}

fn jail(descriptors: Vec<OwnedFd>, limits: &[String]) -> Step<i32> {
    let mut descriptors = descriptors.into_iter();
    let (Some(host), Some(spec)) = (descriptors.next(), descriptors.next()) else {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof)).step(|| "receive the jail's spec".into());
    };
    let spec = read_spec(spec).step(|| "read the jail's spec".into())?;
    let programs = spec.programs.iter().map(|program| program_file(program));
    let programs = programs.collect::<io::Result<Vec<_>>>().step(|| "put programs into memory".into())?;
    let socket = if spec.needs_a_lender() { descriptors.next() } else { None };
    let lender = lend::Lender::open(&spec, socket)?;
    let jailed = messages::jailed(limits, &lender.foreign());
    let passed_on = descriptors.chain(programs).collect();
    outer_jail::enter(&spec, &jailed, &host, passed_on, lender)
}

/// Says that it is there whenever it is asked, until the host has hung up or ended. A child that
/// the host forked may still hold the socket.
fn hold(descriptors: &[OwnedFd]) -> i32 {
    let Some(host) = descriptors.first() else { return 2 };
    let mut question = [0; 64];
    loop {
        match kernel::wait_for_end_of_any(CONTROL, [host.as_raw_fd(), CONTROL]) {
            Ok((false, [false, true])) => {}
            Ok(_) => return 0,
            Err(_) => return 1,
        }
        let asked = kernel::receive_with_descriptors(CONTROL, &mut question);
        if !asked.is_ok_and(|(read, _)| &question[..read] == ASK_PRESENCE) || write_control(HELLO).is_err() {
            return 2;
        }
    }
}

fn read_spec(file: OwnedFd) -> io::Result<JailSpec> {
    let mut file = std::fs::File::from(file);
    let mut encoded = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut encoded)?;
    JailSpec::decode(&encoded).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is not a spec"))
}

/// A file in memory for a program that may be run and not be read.
fn program_file(contents: &[u8]) -> io::Result<OwnedFd> {
    let mut file = kernel::memory_file(c"belljar-program")?;
    file.write_all(contents)?;
    kernel::seal(file.as_raw_fd())?;
    file.set_permissions(Permissions::from_mode(0o111))?;
    // A file that is open for writing cannot be run.
    kernel::open_path(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Tells the host which step failed.
fn tell_host(failed: &StepError) {
    let message = messages::failed(&failed.step, &failed.error.to_string(), failed.error.raw_os_error());
    // If the host is gone there is nobody to tell.
    let _ = write_control(message.as_bytes());
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
