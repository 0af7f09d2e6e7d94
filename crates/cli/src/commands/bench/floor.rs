//! Times that no sandbox around Python can beat.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::report::Report;
use crate::error::CliError;

/// Forks once, as a zygote does. The child answers each line of JSON with the same line.
const ECHO: &str = "
import json, os
if os.fork():
    os.wait()
    os._exit(0)
rest = b''
while True:
    chunk = os.read(0, 65536)
    if not chunk:
        os._exit(0)
    *lines, rest = (rest + chunk).split(b'\\n')
    for line in lines:
        os.write(1, json.dumps(json.loads(line)).encode() + b'\\n')
";

/// The slow things are measured at most this often.
const SLOW: usize = 20;

pub(super) fn measure(count: usize, report: &mut Report) -> Result<(), CliError> {
    let python = report.python_path.clone();
    let trips = round_trips(&python, count).map_err(CliError::system("measure a forked python"))?;
    let starts = bare_starts(&python, count.min(SLOW)).map_err(CliError::system("measure python"))?;
    report.add("floor: socket round trip to a forked Python", trips);
    report.add("python3 -c pass", starts);
    Ok(())
}

/// Measures a request and its answer over a socket pair.
fn round_trips(python: &Path, count: usize) -> io::Result<Vec<Duration>> {
    const WARM_UP: usize = 20;
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new(python)
        .args(["-I", "-S", "-c", ECHO])
        .stdin(OwnedFd::from(theirs.try_clone()?))
        .stdout(OwnedFd::from(theirs))
        .spawn()?;
    let times = (0..WARM_UP + count).map(exchange(ours)?).skip(WARM_UP).collect::<io::Result<_>>();
    end(child)?;
    times
}

/// Takes the socket, so that the other side sees its end when everything is measured.
fn exchange(socket: UnixStream) -> io::Result<impl FnMut(usize) -> io::Result<Duration>> {
    let mut answers = BufReader::new(socket.try_clone()?);
    let mut requests = socket;
    let mut answer = String::new();
    Ok(move |number| {
        let request = format!("{{\"type\":\"execute\",\"number\":{number}}}\n");
        answer.clear();
        let begun = Instant::now();
        requests.write_all(request.as_bytes())?;
        answers.read_line(&mut answer)?;
        let time = begun.elapsed();
        if answer.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(time) }
    })
}

fn end(mut child: Child) -> io::Result<()> {
    child.wait().map(drop)
}

/// Measures the start and end of an interpreter that does nothing.
fn bare_starts(python: &Path, count: usize) -> io::Result<Vec<Duration>> {
    let start = |_| {
        let begun = Instant::now();
        let status = Command::new(python).args(["-c", "pass"]).stdin(Stdio::null()).status()?;
        let time = begun.elapsed();
        if status.success() { Ok(time) } else { Err(io::Error::other(format!("python ended with {status}"))) }
    };
    (0..count).map(start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_python_answers_every_request() {
        assert_eq!(round_trips(Path::new("python3"), 3).unwrap().len(), 3);
    }
}
