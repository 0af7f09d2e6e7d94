//! A script always starts in the same state, whatever state the command was started in.

use std::path::Path;

use serde_json::Value;

use crate::belljar::{Outcome, command, finish};

/// Prints everything that a process gets from its parent and a script can see.
const LOOK: &str = "\
import ctypes, resource, signal
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
limits = {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith('RLIMIT_')}
emit_result({
    'limits': limits,
    'nice': os.getpriority(os.PRIO_PROCESS, 0),
    'policy': os.sched_getscheduler(0),
    'processors': sorted(os.sched_getaffinity(0)),
    'umask': os.umask(0o22),
    'blocked': status['SigBlk'].strip(),
    'ignored': sorted(n for n in range(1, 65) if n not in (9, 19, 32, 33) and signal.getsignal(n) == signal.SIG_IGN),
    'oom': open('/proc/self/oom_score_adj').read(),
    'slack': ctypes.CDLL(None).prctl(30, 0, 0, 0, 0),
    'huge_pages_off': ctypes.CDLL(None).prctl(42, 0, 0, 0, 0),
    'random_addresses': len({os.popen('python3 -c \"import ctypes; print(ctypes.addressof(ctypes.c_int()))\"').read() for _ in range(4)}) > 1,
    'directory': os.getcwd(),
})";

/// Sets all of it to something unusual, as far as this user may, and executes the program.
const UNUSUAL: &str = "\
import ctypes, os, resource, signal, sys
def perhaps(function, *arguments):
    try: function(*arguments)
    except (OSError, ValueError, AttributeError): pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGINT, signal.SIGUSR1, signal.SIGPIPE):
    perhaps(signal.signal, number, signal.SIG_IGN)
os.umask(0o177)
prctl = ctypes.CDLL(None).prctl
prctl(29, ctypes.c_ulong(10**8), 0, 0, 0)
prctl(41, ctypes.c_ulong(1), 0, 0, 0)
ctypes.CDLL(None).personality(ctypes.c_ulong(0x0040000))
for name, soft in (('STACK', 1 << 20), ('MEMLOCK', 4096), ('SIGPENDING', 10), ('MSGQUEUE', 8192), ('CPU', 3600), ('RSS', 1 << 30), ('LOCKS', 100), ('RTTIME', 10**6)):
    limit = getattr(resource, 'RLIMIT_' + name, None)
    if limit is not None: perhaps(resource.setrlimit, limit, (soft, resource.getrlimit(limit)[1]))
perhaps(os.sched_setaffinity, 0, {0})
# These an ordinary user could not put back.
if os.geteuid() == 0:
    perhaps(os.setpriority, os.PRIO_PROCESS, 0, 7)
    perhaps(resource.setrlimit, resource.RLIMIT_RTPRIO, (40, 40))
    perhaps(resource.setrlimit, resource.RLIMIT_NICE, (30, 30))
with open('/proc/self/oom_score_adj', 'w') as file: file.write('300')
os.chdir('/proc')
os.execv(sys.argv[1], sys.argv[1:])
";

fn look(outcome: &Outcome) -> Value {
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    outcome.json()["final_data"].clone()
}

#[test]
fn nothing_that_the_program_inherits_reaches_a_script() {
    let ordinary = look(&finish(command(&["run", "--json", "-"]), LOOK));
    let program = command(&["run", "--json", "-"]);
    let mut unusual = std::process::Command::new("python3");
    unusual.args(["-c", UNUSUAL]).arg(Path::new(program.get_program())).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => unusual.env(name, value),
            None => unusual.env_remove(name),
        };
    }
    unusual
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    assert_eq!(look(&finish(unusual, LOOK)), ordinary);
}
