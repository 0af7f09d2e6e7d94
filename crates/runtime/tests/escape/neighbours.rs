//! Two live cells of one template: what one has, the other neither sees nor touches.
//!
//! Each look is made twice, with the same words: in the cell that has something, where it must be
//! found, and in the other.

use belljar_runtime::{Runtime, Sandbox, Session};
use belljar_testing::{engine, runtime, session};
use serde_json::{Value, json};

use crate::support::{default_sandbox, step, with_prelude};

/// Two cells that exist at the same time, and what they come from.
struct Neighbours {
    _runtime: Runtime,
    sandbox: Sandbox,
    one: Session,
    other: Session,
}

async fn neighbours() -> Option<Neighbours> {
    let (runtime, sandbox) = default_sandbox().await?;
    let (one, other) = (session(&sandbox).await, session(&sandbox).await);
    Some(Neighbours { _runtime: runtime, sandbox, one, other })
}

/// One cell does something; both look. The first must see `own`, the second `others`.
async fn apart(leave: &str, look: &str, own: Value, others: Value) {
    let Some(mut cells) = neighbours().await else { return };
    step(&mut cells.one, &format!("{leave}\nemit_result(True)")).await;
    let look = format!("emit_result({look})");
    assert_eq!(step(&mut cells.one, &look).await, own, "the look does not find what is there");
    assert_eq!(step(&mut cells.other, &look).await, others);
}

/// Where no control group counts memory, System V segments are refused altogether.
fn are_there_segments() -> bool {
    runtime().is_some_and(|runtime| runtime.capabilities().has("cgroup_memory"))
}

#[tokio::test]
async fn tcp_ports() {
    apart(
        "listener = socket.create_server(('127.0.0.1', 40001))",
        "attempt(socket.socket().connect, ('127.0.0.1', 40001))",
        json!("done"),
        json!("ECONNREFUSED"),
    )
    .await;
}

#[tokio::test]
async fn tcp_ports_on_every_address() {
    apart(
        "listener = socket.create_server(('0.0.0.0', 40002))",
        "attempt(socket.socket().connect, ('127.9.9.9', 40002))",
        json!("done"),
        json!("ECONNREFUSED"),
    )
    .await;
}

#[tokio::test]
async fn udp_ports() {
    // A port that nobody has answers with an error, so that reading needs no deadline.
    apart(
        "import threading\nserver = socket.socket(type=socket.SOCK_DGRAM)\nserver.bind(('127.0.0.1', 40003))\n\
         def echo():\n    while True: server.sendto(*server.recvfrom(9))\nthreading.Thread(target=echo, daemon=True).start()\n",
        "(lambda s: [s.connect(('127.0.0.1', 40003)), s.send(b'x'), attempt(s.recv, 9)][2])(socket.socket(type=socket.SOCK_DGRAM))",
        json!("done"),
        json!("ECONNREFUSED"),
    )
    .await;
}

#[tokio::test]
async fn abstract_stream_sockets() {
    apart(
        "listener = socket.socket(socket.AF_UNIX); listener.bind('\\0cell'); listener.listen()",
        "attempt(socket.socket(socket.AF_UNIX).connect, '\\0cell')",
        json!("done"),
        json!("ECONNREFUSED"),
    )
    .await;
}

#[tokio::test]
async fn abstract_datagram_sockets() {
    apart(
        "receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); receiver.bind('\\0cell')",
        "attempt(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto, b'x', '\\0cell')",
        json!("done"),
        json!("ECONNREFUSED"),
    )
    .await;
}

#[tokio::test]
async fn sockets_in_the_file_system() {
    apart(
        "listener = socket.socket(socket.AF_UNIX); listener.bind('/tmp/cell.sock'); listener.listen()",
        "attempt(socket.socket(socket.AF_UNIX).connect, '/tmp/cell.sock')",
        json!("done"),
        json!("ENOENT"),
    )
    .await;
}

#[tokio::test]
async fn scratch_files() {
    apart(
        "for place in ('/tmp', '/workspace', '/dev/shm'): open(place + '/trace', 'w').close()",
        "[os.path.exists(place + '/trace') for place in ('/tmp', '/workspace', '/dev/shm')]",
        json!([true, true, true]),
        json!([false, false, false]),
    )
    .await;
}

#[tokio::test]
async fn shared_memory_by_key() {
    let own = json!(are_there_segments());
    apart("_libc.shmget(0x5EC, 4096, 0o1666)", "_libc.shmget(0x5EC, 0, 0) >= 0", own, json!(false)).await;
}

#[tokio::test]
async fn shared_memory_by_number() {
    // The first segment of any namespace has the same number.
    let look = "_libc.shmctl(0, 2, ctypes.create_string_buffer(256)) == 0";
    let own = json!(are_there_segments());
    apart("_libc.shmget(0x5EC, 4096, 0o1666)", look, own, json!(false)).await;
}

#[tokio::test]
async fn semaphores() {
    apart(
        "assert _libc.semget(0x5EC, 1, 0o1666) >= 0",
        "_libc.semget(0x5EC, 0, 0) >= 0",
        json!(true),
        json!(false),
    )
    .await;
}

#[tokio::test]
async fn message_queues() {
    apart(
        "assert _libc.msgget(0x5EC, 0o1666) >= 0",
        "_libc.msgget(0x5EC, 0) >= 0",
        json!(true),
        json!(false),
    )
    .await;
}

#[tokio::test]
async fn named_semaphores() {
    apart(
        "_libc.sem_open.restype = ctypes.c_void_p\nassert _libc.sem_open(b'/cell', os.O_CREAT, 0o666, 1)",
        "os.path.exists('/dev/shm/sem.cell')",
        json!(true),
        json!(false),
    )
    .await;
}

const WITH_A_CHILD: &str = "child = subprocess.Popen(['sleep', '600'])";
/// The number that the first child of a script has, or had: a neighbour's is the same, or none.
const ITS_NUMBER: &str = "os.getpid() + 1";

#[tokio::test]
async fn processes() {
    apart(WITH_A_CHILD, "len([name for name in os.listdir('/proc') if name.isdigit()])", json!(3), json!(2))
        .await;
}

#[tokio::test]
async fn signals_by_number() {
    let look = format!("attempt(os.kill, {ITS_NUMBER}, 0)");
    apart(WITH_A_CHILD, &look, json!("done"), json!("ESRCH")).await;
}

#[tokio::test]
async fn handles_by_number() {
    let look = format!("isinstance(syscall('pidfd_open', {ITS_NUMBER}, 0), int)");
    apart(WITH_A_CHILD, &look, json!(true), json!(false)).await;
}

/// Locks of the host's own programs would be told here as well, so that nobody gets to read the
/// table: not even of one's own.
#[tokio::test]
async fn locks_in_proc() {
    apart(
        "held = open('/usr/bin/env'); fcntl.flock(held, fcntl.LOCK_EX)",
        "open('/proc/locks').readlines()",
        json!([]),
        json!([]),
    )
    .await;
}

/// Accepted: a lock on a file that both can read is seen by both, and so they can signal to each
/// other. Locks are how programs agree on files, and the files of the system are the same files for
/// all. Containers have each a view of their own on the image's files.
#[tokio::test]
async fn accepted_locks_on_shared_files() {
    let others = if engine() == "docker" { "done" } else { "EAGAIN" };
    apart(
        "held = open('/usr/bin/env'); fcntl.flock(held, fcntl.LOCK_EX)",
        "attempt(fcntl.flock, open('/usr/bin/env'), fcntl.LOCK_EX | fcntl.LOCK_NB)",
        json!("EAGAIN"),
        json!(others),
    )
    .await;
}

#[tokio::test]
async fn namespaces() {
    let Some(mut cells) = neighbours().await else { return };
    let names =
        "emit_result({name: os.readlink('/proc/self/ns/' + name) for name in os.listdir('/proc/self/ns')})";
    let (one, other) = (step(&mut cells.one, names).await, step(&mut cells.other, names).await);
    let mut apart = vec!["cgroup", "ipc", "mnt", "net", "pid", "uts"];
    // Containers have the daemon's: they are kept apart by all the others, and without a right in
    // this one.
    if engine() != "docker" {
        apart.push("user");
    }
    for name in apart {
        assert!(one[name].is_string());
        assert_ne!(one[name], other[name], "both are in the same {name} namespace");
    }
}

#[tokio::test]
async fn inodes_of_scratch_places() {
    let Some(mut cells) = neighbours().await else { return };
    let devices =
        "emit_result([os.stat(place).st_dev for place in ('/tmp', '/workspace', '/dev/shm', '/proc')])";
    let (one, other) = (step(&mut cells.one, devices).await, step(&mut cells.other, devices).await);
    for (one, other) in one.as_array().unwrap().iter().zip(other.as_array().unwrap()) {
        assert_ne!(one, other);
    }
}

/// What is left of the first cell, and whether there can be new ones, after the second has done its
/// worst.
async fn unharmed(worst: &str) {
    let Some(mut cells) = neighbours().await else { return };
    step(&mut cells.one, &format!("{WITH_A_CHILD}\nemit_result(True)")).await;
    // It may well end itself with it.
    let _ = cells.other.step(with_prelude(worst)).await.unwrap();
    assert_eq!(
        step(&mut cells.one, "emit_result(child.poll())").await,
        Value::Null,
        "a neighbour's child died"
    );
    let mut third = session(&cells.sandbox).await;
    assert_eq!(step(&mut third, "emit_result(1)").await, json!(1));
}

#[tokio::test]
async fn a_signal_to_everybody() {
    unharmed("os.kill(-1, signal.SIGKILL)").await;
}

#[tokio::test]
async fn a_signal_to_ones_own_group() {
    unharmed("os.kill(0, signal.SIGKILL)").await;
}

#[tokio::test]
async fn a_stop_signal_to_ones_own_group() {
    unharmed("signal.signal(signal.SIGTSTP, signal.SIG_IGN)\nos.kill(0, signal.SIGTSTP)").await;
}

#[tokio::test]
async fn a_crash() {
    unharmed("ctypes.string_at(0)").await;
}

#[tokio::test]
async fn priority_of_the_group() {
    let Some(mut cells) = neighbours().await else { return };
    // The disk's priority too: the processor's may be the lowest already.
    let look = "emit_result([os.getpriority(os.PRIO_PROCESS, 0), syscall('ioprio_get', 1, 0)])";
    let before = step(&mut cells.one, look).await;
    let worst = "attempt(os.setpriority, os.PRIO_PGRP, 0, 19)\nsyscall('ioprio_set', 2, 0, 3 << 13)\nemit_result(True)";
    step(&mut cells.other, worst).await;
    assert_eq!(step(&mut cells.one, look).await, before, "a neighbour can be slowed down");
}

/// One watches the system's programs, the other runs one; the host runs some too.
async fn unwatched(watch: &str, seen: &str) {
    let Some(mut cells) = neighbours().await else { return };
    step(&mut cells.one, &format!("{watch}\nemit_result(True)")).await;
    step(&mut cells.other, "emit_result(attempt(subprocess.run, ['/usr/bin/env', 'true']))").await;
    assert_eq!(step(&mut cells.one, &format!("emit_result({seen})")).await, json!([]));
}

#[tokio::test]
async fn use_of_shared_files_by_inotify() {
    unwatched(
        "NONBLOCK, IN_OPEN = 0o4000, 0x20\nwatch = syscall('inotify_init1', NONBLOCK)\n\
         refused = isinstance(watch, str) or isinstance(syscall('inotify_add_watch', watch, b'/usr/bin', IN_OPEN), str)",
        "[] if refused or attempt(os.read, os.dup(watch), 65536) == 'EAGAIN' else ['seen']",
    )
    .await;
}

#[tokio::test]
async fn use_of_shared_files_by_signal() {
    unwatched(
        "noticed = []\nsignal.signal(signal.SIGIO, lambda *_: noticed.append(1))\nDN_ACCESS, DN_MULTISHOT = 1, 0x80000000 - (1 << 32)\n\
         place = os.open('/usr/bin', os.O_RDONLY)\nattempt(fcntl.fcntl, place, fcntl.F_NOTIFY, DN_ACCESS | DN_MULTISHOT)",
        "noticed[:1]",
    )
    .await;
}
