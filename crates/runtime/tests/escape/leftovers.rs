//! What a run leaves in things that later runs use too: network namespaces, device files, scratch
//! places, the zygote.

use belljar_runtime::{Blueprint, SandboxConfig, ToolSource};
use belljar_testing::{
    HANG, about_the_run, config, engine, eventually, only_on, processes_called, runtime, session,
};
use serde_json::{Value, json};

use crate::support::{answer, default_sandbox, step};

/// Ways to change something in a network namespace. Most send no packet.
const USES: [&str; 12] = [
    "pass",
    "socket.socket()",
    "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(('::1', 9))",
    "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', 9))",
    "attempt(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).setsockopt, 0, 35, socket.inet_aton('224.1.2.3') + socket.inet_aton('127.0.0.1'))",
    "attempt(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).setsockopt, 41, 20, socket.inet_pton(socket.AF_INET6, 'ff12::5') + struct.pack('I', 1))",
    "socket.create_server(('127.0.0.1', 40404))",
    "attempt(socket.create_connection, ('127.0.0.1', 9))",
    "attempt(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b'x', ('10.1.2.3', 9))",
    "s = socket.create_server(('::1', 40405), family=socket.AF_INET6); c = socket.create_connection(s.getsockname()[:2]); s.accept()",
    "os.system('exec python3 -c \"import socket; socket.socket()\"')",
    "import threading; t = threading.Thread(target=socket.socket); t.start(); t.join()",
];

/// Everything that a network namespace tells, but for what is about the whole machine or about the
/// sockets of whoever looks.
const LOOK: &str = "\
machine = {'softnet_stat', 'stat', 'protocols', 'sockstat', 'unix', 'netlink'}
seen = {}
for at, directories, names in os.walk('/proc/self/net'):
    directories[:] = [name for name in directories if name not in machine]
    seen.update({os.path.join(at, name): reads(os.path.join(at, name)) for name in names if name not in machine})
";

#[tokio::test]
async fn networks_that_somebody_used() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let mut first: Option<Value> = None;
    for used in USES.iter().chain(&USES[..1]) {
        // What is left of the cell before must be gone for its network namespace to be free again.
        eventually("the last cell is gone", || processes_called("belljar-init").is_empty()).await;
        let seen = answer(&sandbox, &format!("{LOOK}{used}\nemit_result(seen)")).await;
        assert!(seen.as_object().unwrap().len() > 20, "{seen}");
        assert_eq!(first.get_or_insert_with(|| seen.clone()), &seen, "before {used}");
    }
}

/// An untouched namespace is used again, and one in which a socket was made never is.
#[tokio::test]
async fn which_networks_are_used_again() {
    if !only_on("native", "a container has one network for its whole life") {
        return;
    }
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let uses = ["pass", "pass", "socket.socket()", "pass", "pass", USES[10], "pass", USES[11], "pass"];
    let expected = [true, true, false, true, true, false, true, false];
    // A namespace is free again a moment after its cell is gone, so one that could have been used
    // is sometimes not yet: each pair of neighbours has until the end of all rounds to share one,
    // and no round in which to share one wrongly.
    let mut shared = [false; 8];
    let rounds = async {
        while shared != expected {
            let mut namespaces = Vec::new();
            for used in uses {
                eventually("the last cell is gone", || processes_called("belljar-init").is_empty()).await;
                let script = format!("{used}\nemit_result(os.stat('/proc/self/ns/net').st_ino)");
                namespaces.push(answer(&sandbox, &script).await.as_u64().unwrap());
            }
            // Numbers of namespaces that are gone come again, so only neighbours are compared.
            for (at, pair) in namespaces.windows(2).enumerate() {
                shared[at] |= pair[0] == pair[1];
                assert!(expected[at] || !shared[at], "after {}: {namespaces:?}", uses[at]);
            }
        }
    };
    let in_time = tokio::time::timeout(HANG, rounds).await;
    assert!(in_time.is_ok(), "namespaces that nobody touched are not used again: {shared:?}");
}

/// A guest whose sockets are asked about is not held up by one who asks and dies.
#[tokio::test]
async fn askers_that_die() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let script = "\
for round in range(60):
    pid = os.fork()
    if pid == 0:
        import threading
        def ask():
            while True: socket.socket().close()
        for _ in range(3): threading.Thread(target=ask, daemon=True).start()
        os._exit(0) if round % 2 else os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
emit_result([attempt(socket.socket), attempt(socket.socket, socket.AF_INET6)])";
    assert_eq!(answer(&sandbox, script).await, json!(["done", "done"]));
}

/// Devices are files of the host's. Whoever may write to one may set its times, and every later
/// cell could read them.
#[tokio::test]
async fn times_of_devices() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let names = "('full', 'null', 'random', 'urandom', 'zero')";
    let look = format!(
        "times = lambda: [[os.stat('/dev/' + n).st_mtime_ns, os.stat('/dev/' + n).st_atime_ns] for n in {names}]\nbefore = times()\n"
    );
    let touch = format!(
        "{look}answers = sorted({{attempt(os.utime, '/dev/' + n, ns) for n in {names} for ns in (None, (1, 2))}})\n\
         written = [attempt(os.close, os.open('/dev/null', os.O_RDWR)), os.write(os.open('/dev/null', os.O_WRONLY), b'x')]\n\
         emit_result([before, answers, written, times() == before])"
    );
    let first = answer(&sandbox, &touch).await;
    assert_eq!((&first[1], &first[2], &first[3]), (&json!(["EROFS"]), &json!(["done", 1]), &json!(true)));
    let second = answer(&sandbox, &format!("{look}emit_result(before)")).await;
    if engine() == "native" {
        assert_eq!(first[0], second, "another run sees other times");
    }
}

/// The null device also covers files in `/proc`, and is the same file there.
#[tokio::test]
async fn times_of_covered_files() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let script = "emit_result(sorted({attempt(os.utime, '/proc/' + n) for n in ('cmdline', 'interrupts', 'softirqs')}))";
    let got = answer(&sandbox, script).await;
    assert!([json!(["EROFS"]), json!(["EACCES"]), json!(["EACCES", "EROFS"])].contains(&got), "{got}");
}

/// When something was last done in a scratch place tells when the run before was, and what it did.
#[tokio::test]
async fn times_of_scratch_places() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let places = "('/workspace', '/tmp', '/dev/shm')";
    let leave = format!(
        "for p in {places}: open(p + '/x', 'w').close(); os.unlink(p + '/x')\nleft = [os.stat(p).st_mtime_ns for p in {places}]\ntime.sleep(0.05)\nemit_result(left)"
    );
    let left = answer(&sandbox, &leave).await;
    let look = format!(
        "emit_result([[os.stat(p).st_mtime_ns, os.stat(p).st_atime_ns, oct(os.stat(p).st_mode), os.listxattr(p), os.listdir(p)] for p in {places}])"
    );
    let (found, again) = (answer(&sandbox, &look).await, answer(&sandbox, &look).await);
    for at in 0..3 {
        assert_ne!(found[at][0], left[at], "the next run sees when this one was busy");
        for kept in 2..5 {
            assert_eq!(found[at][kept], again[at][kept]);
        }
    }
}

/// Random generators that a tool makes while it is loaded are every cell's, unless they are made
/// anew.
#[tokio::test]
async fn generators_of_a_tool() {
    let Some(runtime) = runtime() else { return };
    let source = "import random\nfrom multiprocessing import process\n_own = random.Random()\n_seeded = random.Random(7)\n\
        _sub = type('Sub', (random.Random,), {})()\n\
        def draw(): return [_own.random(), _sub.random(), process.current_process().authkey.hex()]\n\
        def steady(): return _seeded.random()\n";
    let tools = vec![ToolSource { file_name: "draws.py".into(), source: source.into() }];
    let sandbox =
        runtime.prepare(Blueprint { tools, ..Blueprint::new(config()) }, &mut |_| {}).await.unwrap();
    assert!(about_the_run(&sandbox.report().warnings).is_empty(), "{:?}", sandbox.report().warnings);
    let (mut one, mut other) = (session(&sandbox).await, session(&sandbox).await);
    let draw = "emit_result([draw(), steady()])";
    let (one, other) = (step(&mut one, draw).await, step(&mut other, draw).await);
    assert_eq!(one[1], other[1], "a generator with a seed of its own must go on as it was made");
    for (at, what) in
        ["a generator", "one of a class of its own", "the key of multiprocessing"].iter().enumerate()
    {
        assert_ne!(one[0][at], other[0][at], "two cells share {what}");
    }
}

/// A limit on memory must not leave out what sockets hold.
#[tokio::test]
async fn memory_in_sockets() {
    let Some(runtime) = runtime() else { return };
    let mut small = SandboxConfig { name: "sockets".into(), ..config() };
    small.resource_limits.memory_mb = 64;
    let sandbox = runtime.sandbox(small).await.unwrap();
    let script = "\
held, streams, datagrams = [], 0, 0
server = socket.create_server(('127.0.0.1', 0), backlog=128)
for _ in range(100):
    try:
        near = socket.create_connection(server.getsockname()); far = server.accept()[0]
    except OSError:
        break
    held += [near, far]
    for one in (near, far):
        one.setblocking(False)
        try:
            while True: streams += one.send(bytes(65536))
        except OSError:
            pass
for one in held: one.close()
receivers = []
for _ in range(400):
    try:
        receiver, sender = (socket.socket(type=socket.SOCK_DGRAM) for _ in range(2))
    except OSError:
        break
    receivers.append(receiver)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
    receiver.bind(('127.0.0.1', 0))
    for _ in range(60): attempt(sender.sendto, bytes(32768), receiver.getsockname())
    sender.close()
for receiver in receivers:
    receiver.setblocking(False)
    try:
        while True: datagrams += len(receiver.recv(65536))
    except OSError:
        pass
emit_result([streams >> 20, datagrams >> 20])";
    let held = answer(&sandbox, script).await;
    // Where nothing counts what a user's processes hold together, each socket holds little and that
    // is all.
    let counted = runtime.capabilities().has("cgroup_memory");
    let most = if counted { 64 } else { 128 };
    assert!(held[0].as_u64().unwrap() <= most && held[1].as_u64().unwrap() <= most, "{held} MiB are held");
}

/// Sockets that are on their way in one another's queues outlive their processes until the kernel
/// has found them.
#[tokio::test]
async fn sockets_on_their_way() {
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let circle = include_str!("../common/circle.py");
    let script = format!("{circle}\nemit_result(send_in_a_circle(400, [tail.detach()]))");
    let links = answer(&sandbox, &script).await;
    assert!(links.as_u64().unwrap() > 100, "only {links} links");
    for _ in 0..6 {
        // So that its network namespace is free again.
        eventually("the last cell is gone", || processes_called("belljar-init").is_empty()).await;
        let named = "[line.split()[-1] for line in open('/proc/net/unix') if 'left-behind' in line]";
        assert_eq!(answer(&sandbox, &format!("emit_result({named})")).await, json!([]));
        let room = "[s.f_bfree == s.f_blocks for s in map(os.statvfs, ('/tmp', '/workspace', '/dev/shm'))]";
        assert_eq!(answer(&sandbox, &format!("emit_result({room})")).await, json!([true, true, true]));
    }
}
