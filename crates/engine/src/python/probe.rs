//! Runs one interpreter to learn what it is. It runs isolated, without `site`, with an empty
//! environment and a time limit.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use belljar_jail::shortage;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::Deserialize;

use super::interpreter::Interpreter;
use crate::blocking::named;

/// Runs on any Python 3, so that an old one is reported as old and not as broken.
///
/// If the process has a map of its memory, `libpython` is taken from it. `Py_ENABLE_SHARED` is not
/// enough: it is also set on builds, such as Debian's, whose executable does not use the library.
/// If a virtual environment has a copy of the executable, the one in the base prefix is used
/// instead.
const QUESTION: &str = r#"
import json, os, sys, sysconfig
real = os.path.realpath
prefix = real(sys.base_prefix)
program = real(getattr(sys, '_base_executable', None) or sys.executable)
if not program.startswith(prefix + os.sep):
    base = os.path.join(prefix, 'bin', 'python%d.%d' % sys.version_info[:2])
    if os.path.isfile(base):
        program = real(base)
try:
    with open('/proc/self/maps') as maps:
        libraries = [line.split(None, 5)[5].strip() for line in maps if '/libpython' in line]
except (IOError, OSError):
    var = sysconfig.get_config_var
    libraries = [os.path.join(var('LIBDIR') or '', var('LDLIBRARY') or '')] if var('Py_ENABLE_SHARED') else []
libraries = [real(path) for path in libraries if os.path.isfile(path)]
try:
    libc = os.confstr('CS_GNU_LIBC_VERSION') or ''
except (AttributeError, ValueError, OSError):
    libc = ''
print(json.dumps({
    'implementation': sys.implementation.name,
    'interpreter': {
        'executable': program,
        'version': list(sys.version_info[:3]),
        'prefix': prefix,
        'exec_prefix': real(sys.base_exec_prefix),
        'stdlib': real(sysconfig.get_path('stdlib')),
        'platstdlib': real(sysconfig.get_path('platstdlib')),
        'shared_library': libraries[0] if libraries else None,
        'abi': sysconfig.get_config_var('SOABI') or sys.implementation.cache_tag,
        'libc': libc,
    },
}))
"#;

const OUTPUT_LIMIT: u64 = 64 * 1024;
const TICK: Duration = Duration::from_millis(2);

#[derive(Deserialize)]
struct Answer {
    implementation: String,
    interpreter: Interpreter,
}

/// What `program` reports about itself, or why that is not known.
pub(super) fn probe(program: &Path, limit: Duration) -> Result<Interpreter, Unfit> {
    let deadline = Instant::now() + limit;
    let mut child = Command::new(program)
        .args(["-I", "-S", "-c", QUESTION])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| Unfit::because("cannot be run", error))?;
    let listening = drain(child.stdout.take()).and_then(|stdout| Ok((stdout, drain(child.stderr.take())?)));
    let (stdout, stderr) = match listening {
        Ok(listening) => listening,
        Err(error) => {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
            return Err(Unfit::because("cannot be listened to", error));
        }
    };
    let ended =
        finish(&mut child, deadline).map_err(|error| Unfit::because("cannot be waited for", error))?;
    let Some(status) = ended else {
        return Err(format!("gave no answer in {limit:?}").into());
    };
    // Both ends are closed once the group is gone. The wait is for a process that left the group
    // and kept them.
    let heard = |output: Receiver<Vec<u8>>| output.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    let (stdout, stderr) = (heard(stdout), heard(stderr));
    if !status.success() {
        return Err(format!("failed with {status}{}", last_line(&stderr)).into());
    }
    let answer: Answer = serde_json::from_slice(&stdout)
        .map_err(|_| Unfit::Itself("did not answer as Python does".to_owned()))?;
    if answer.implementation != "cpython" {
        return Err(format!("is {}, not CPython", answer.implementation.escape_debug()).into());
    }
    Ok(answer.interpreter)
}

/// Why a program is not used as an interpreter.
#[derive(Debug)]
pub(super) enum Unfit {
    /// Something is wrong with the program.
    Itself(String),
    /// The machine lacked the means to probe it.
    Machine(io::Error),
}

impl Unfit {
    fn because(what: &str, error: io::Error) -> Self {
        match error.raw_os_error().and_then(shortage) {
            Some(_) => Self::Machine(error),
            None => Self::Itself(format!("{what}: {error}")),
        }
    }
}

impl From<String> for Unfit {
    fn from(reason: String) -> Self {
        Self::Itself(reason)
    }
}

/// Waits for the child, then ends its whole process group. `None` if the deadline came first.
fn finish(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    let pid = Pid::from_child(child);
    // NOWAIT keeps the process as a zombie. So its group number cannot belong to another group when
    // the group is killed.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let in_time = loop {
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(_)) => break true,
            Ok(None) | Err(rustix::io::Errno::INTR) if Instant::now() < deadline => thread::sleep(TICK),
            Ok(None) | Err(rustix::io::Errno::INTR) => break false,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error.into());
            }
        }
    };
    let _ = kill_process_group(pid, Signal::KILL);
    let status = child.wait()?;
    Ok(in_time.then_some(status))
}

/// Reads a pipe to its end on a thread of its own, and keeps only the beginning.
fn drain(pipe: Option<impl Read + Send + 'static>) -> io::Result<Receiver<Vec<u8>>> {
    let (done, output) = channel();
    named("belljar-probe").spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(OUTPUT_LIMIT).read_to_end(&mut kept);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        let _ = done.send(kept);
    })?;
    Ok(output)
}

fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let line: String = line.trim().chars().filter(|c| !c.is_control()).take(200).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}
