//! The value that a program prints.
//!
//! The program leads a process group of its own, reads nothing, and has a time limit. After it the
//! whole group is killed. What it prints is bounded, and what it says on stderr is part of the
//! error if it fails: safe to show, cut short, and without what it printed on stdout.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use belljar_core::{Secret, is_printable};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::file::single;
use crate::mask::Mask;

/// How much it may print.
const LONGEST: usize = 1 << 20;
/// How much of what it says on stderr is read, and how much of that is told.
const LONGEST_SAID: usize = 64 << 10;
const TOLD: usize = 400;
/// How often it is looked whether it has ended. What it started may keep its output open.
const TICK: Duration = Duration::from_millis(20);

/// What a program prints, or what went wrong.
pub(super) fn output(words: &[String], within: Duration) -> Result<Secret, String> {
    let [program, arguments @ ..] = words else { return Err("is empty".into()) };
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let mut running = Running(child);
    let mut said = Said::default();
    let status = running.read(&mut said, Instant::now() + within);
    let told = said.told();
    match status {
        Err(error) => Err(format!("cannot be followed: {error}")),
        Ok(None) if said.out.len() > LONGEST => Err(format!("printed more than {LONGEST} bytes")),
        Ok(None) => Err(format!("did not end within {} s{told}", within.as_secs_f64())),
        Ok(Some(status)) if !status.success() => Err(format!("failed ({status}){told}")),
        Ok(Some(_)) => single(said.out).map_err(|problem| match problem.contains("empty") {
            true => format!("printed nothing{told}"),
            false => problem,
        }),
    }
}

/// What it said so far.
#[derive(Default)]
struct Said {
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Said {
    /// What it said on stderr, as the end of a sentence.
    fn told(&self) -> String {
        let printed = Secret::new(String::from_utf8_lossy(&self.out).trim());
        let said = String::from_utf8_lossy(&self.err);
        let said = Mask::new([&printed]).text(said.trim().into()).into_owned();
        let mut told = String::new();
        for c in said.chars().take(TOLD) {
            match c {
                '\n' | '\t' => told.push(' '),
                c if is_printable(c) => told.push(c),
                _ => told.push('\u{fffd}'),
            }
        }
        if said.chars().nth(TOLD).is_some() {
            told.push('…');
        }
        if told.is_empty() { told } else { format!(": {told}") }
    }
}

/// A process that leads a group of its own. Dropping this ends the group.
struct Running(Child);

impl Running {
    /// Reads until it has ended. `None` if the time is over, or it says too much.
    fn read(&mut self, said: &mut Said, until: Instant) -> io::Result<Option<ExitStatus>> {
        let (mut out, mut err) = (self.0.stdout.take(), self.0.stderr.take());
        for stream in [out.as_ref().map(AsFd::as_fd), err.as_ref().map(AsFd::as_fd)].into_iter().flatten() {
            let flags = rustix::fs::fcntl_getfl(stream)?;
            rustix::fs::fcntl_setfl(stream, flags | rustix::fs::OFlags::NONBLOCK)?;
        }
        loop {
            // Looked at first: what it said before it ended is there to be read then.
            let ended = self.0.try_wait()?;
            drain(&mut out, &mut said.out, LONGEST + 1)?;
            drain(&mut err, &mut said.err, LONGEST_SAID)?;
            if said.out.len() > LONGEST {
                return Ok(None);
            }
            if ended.is_some() {
                return Ok(ended);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            wait([out.as_ref().map(AsFd::as_fd), err.as_ref().map(AsFd::as_fd)], left.min(TICK))?;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // While it is not waited for, its number is nobody else's.
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// Reads what is there. What is beyond the limit is read and forgotten, so that the program goes
/// on.
fn drain(stream: &mut Option<impl Read>, into: &mut Vec<u8>, most: usize) -> io::Result<()> {
    let mut part = [0; 8192];
    while let Some(open) = stream {
        match open.read(&mut part) {
            Ok(0) => *stream = None,
            Ok(count) => {
                let room = most.saturating_sub(into.len());
                into.extend_from_slice(&part[..count.min(room)]);
                if room == 0 {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait(streams: [Option<BorrowedFd<'_>>; 2], within: Duration) -> io::Result<()> {
    let mut open: Vec<_> =
        streams.iter().flatten().map(|stream| PollFd::new(stream, PollFlags::IN)).collect();
    let within = Timespec::try_from(within).map_err(io::Error::other)?;
    match poll(&mut open, Some(&within)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Secret, String> {
        within(script, Duration::from_secs(60))
    }

    fn within(script: &str, time: Duration) -> Result<Secret, String> {
        output(&["sh", "-c", script].map(String::from), time)
    }

    #[test]
    fn what_it_prints_is_the_value() {
        assert_eq!(shell("echo hunter2").unwrap().expose(), "hunter2");
        assert_eq!(shell("echo noise >&2; printf 'a\\nb\\n\\n'").unwrap().expose(), "a\nb\n");
        let words = ["printf", "%s", "$HOME `id`"].map(String::from);
        assert_eq!(output(&words, Duration::from_secs(60)).unwrap().expose(), "$HOME `id`");
    }

    #[test]
    fn a_failure_tells_what_the_program_said_and_never_the_value() {
        let told = |script: &str| shell(script).unwrap_err();
        assert_eq!(told("echo 'no such entry' >&2; exit 3"), "failed (exit status: 3): no such entry");
        assert_eq!(told("printf 'a\\033[31mb\\n' >&2; exit 1"), "failed (exit status: 1): a\u{fffd}[31mb");
        assert_eq!(told("echo hunter2; echo got hunter2 >&2; exit 1"), "failed (exit status: 1): got ***");
        assert_eq!(told("echo hint >&2"), "printed nothing: hint");
        assert_eq!(told("printf '\\377'"), "has a value that is not UTF-8");
        assert!(told("kill -9 $$").starts_with("failed (signal: 9"));
        let missing = output(&["/no/such/program".to_owned()], Duration::from_secs(1)).unwrap_err();
        assert!(missing.starts_with("cannot be started: No such file"), "{missing}");
        assert!(told("yes error | head -c 100000 >&2; exit 1").len() < 500);
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_with_all_it_started() {
        let place = tempfile::tempdir().unwrap();
        let pid = place.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; echo so far >&2; wait", pid.display());
        let error = within(&script, Duration::from_secs(2)).unwrap_err();
        assert_eq!(error, "did not end within 2 s: so far");
        let child = std::fs::read_to_string(&pid).unwrap();
        let is_gone =
            || !std::path::Path::new("/proc").join(child.trim()).exists() || is_zombie(child.trim());
        let began = Instant::now();
        while !is_gone() {
            assert!(began.elapsed() < belljar_testing::HANG, "it lives");
            std::thread::yield_now();
        }
    }

    /// Killed, and nobody has looked yet: in a container, process 1 may never.
    fn is_zombie(pid: &str) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    }

    #[test]
    fn a_program_that_prints_without_end_is_stopped() {
        assert_eq!(shell("yes hunter2").unwrap_err(), "printed more than 1048576 bytes");
    }

    #[test]
    fn what_a_program_leaves_behind_is_not_waited_for() {
        let value = shell("sleep 1000 & echo hunter2-$!").unwrap();
        let pid = value.expose().strip_prefix("hunter2-").unwrap().parse().ok().and_then(Pid::from_raw);
        rustix::process::kill_process(pid.unwrap(), Signal::KILL).expect("it lives");
    }
}
