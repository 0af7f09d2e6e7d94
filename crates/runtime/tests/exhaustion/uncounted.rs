//! Memory of the kernel's that no control group counts, or not in time.

use belljar_testing::{config, data, has, only_on, run, runtime, sandbox_with};

use crate::attack::Attack;

/// The first number of a line of the kernel's that begins so.
fn kernel_counts(path: &str, line: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let rest = text.lines().find_map(|each| each.strip_prefix(line)).unwrap_or_default();
    rest.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn locks_on_parts_of_files() {
    // Every second byte of many files, by many processes. A lock takes 192 bytes and belongs to no
    // account.
    let script = r"
import fcntl, errno
reading, writing = os.pipe()
def take(number):
    count = 0
    try:
        for file in range(200):
            descriptor = os.open(f'/tmp/{number}-{file}', os.O_RDWR | os.O_CREAT)
            for at in range(0, 1000, 2):
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at)
                count += 1
        ended = 'all'
    except OSError as refused: ended = errno.errorcode[refused.errno]
    os.write(writing, b'%d %s\n' % (count, ended.encode()))
    signal.pause()
for number in range(4):
    if os.fork() == 0: take(number)
said = b''
while said.count(b'\n') < 4: said += os.read(reading, 4096)
words = said.decode().split()
emit_result([sum(map(int, words[::2])), sorted(set(words[1::2]))])";
    let Some(result) = Attack::new().run(&format!("import signal{script}")).await else { return };
    let given: (u64, Vec<String>) = serde_json::from_str(data(&result)).unwrap();
    assert!(given.0 <= 4096 + 256 && given.1 == ["ENOLCK"], "{given:?}");
}

#[tokio::test]
async fn locks_that_are_given_back() {
    // More in all than may be held at once, as a database takes and gives them.
    let script = r"
import fcntl
descriptor = os.open('/tmp/file', os.O_RDWR | os.O_CREAT)
for at in range(6000):
    fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, at)
    fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, at)
emit_result('done')";
    if let Some(result) = Attack::new().run(script).await {
        assert_eq!(data(&result), "\"done\"");
    }
}

#[tokio::test]
async fn connections_that_nobody_accepts() {
    // What was sent on them belongs to nobody, and neither end takes a descriptor.
    let script = r"
sent, refused = 0, set()
servers = [socket.create_server(('127.0.0.1', 0), backlog=4096) for _ in range(8)]
for server in servers:
    for _ in range(300):
        try:
            client = socket.socket()
            client.settimeout(0.2)
            client.connect(server.getsockname())
            client.setblocking(False)
            sent += client.send(bytes(60000))
            client.close()
        except OSError as error:
            refused.add(error.errno); break
emit_result([sent >> 20, sorted(refused, key=str)])";
    let Some(result) = Attack::new().run(&format!("import socket{script}")).await else { return };
    let given: (u64, Vec<Option<i32>>) = serde_json::from_str(data(&result)).unwrap();
    assert!(given.0 <= 16 && !given.1.is_empty(), "{given:?} MiB in queues");
}

#[tokio::test]
async fn connections_that_nobody_accepts_from_one_socket() {
    // A client that disconnects may connect again, and its last connection stays in the queue with
    // its bytes.
    let script = r"
libc = ctypes.CDLL(None)
servers = [socket.create_server(('127.0.0.1', 0), backlog=4096) for _ in range(20)]
client, made = socket.socket(), 0
for server in servers:
    for _ in range(100):
        client.settimeout(0.2)
        try: client.connect(server.getsockname())
        except OSError: break
        made += 1
        client.setblocking(False)
        try:
            while True: client.send(bytes(60000))
        except OSError: pass
        nowhere = bytes(16)
        libc.connect(client.fileno(), nowhere, len(nowhere))
emit_result(made)";
    let Some(result) = Attack::new().run(&format!("import socket, ctypes{script}")).await else { return };
    let made: u64 = data(&result).parse().unwrap();
    assert!(made <= 256, "{made} connections were made");
}

/// Files that are on their way in queues which are on their way themselves outlive every process by
/// seconds. One after another, cells must not hold more so than the few that may linger.
const CIRCLE: &str = concat!(
    include_str!("../common/circle.py"),
    "file = os.open('/tmp/file', os.O_RDWR | os.O_CREAT)\nos.write(file, bytes(8 << 20))\n\
     emit_result(send_in_a_circle(900, [tail.detach(), file]))"
);

#[tokio::test]
async fn files_on_their_way_in_queues_on_their_way() {
    if !only_on("native", "a container's memory goes with the container, which is not used again") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    if !has(&runtime, "cgroup_memory") {
        return;
    }
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut most = 0;
    for _ in 0..8 {
        let links: u64 = data(&run(&sandbox, CIRCLE).await).parse().unwrap();
        assert!(links > 100, "only {links} links");
        let with_memory = |group: &std::path::PathBuf| {
            let cells = std::fs::read_dir(group).into_iter().flatten().flatten();
            cells
                .filter(|cell| {
                    kernel_counts(&cell.path().join("memory.stat").to_string_lossy(), "shmem ") > 4 << 20
                })
                .count()
        };
        most = most.max(
            belljar_testing::control_groups_of(std::process::id()).iter().map(with_memory).sum::<usize>(),
        );
    }
    // Four linger, and one has just ended.
    assert!((1..=5).contains(&most), "{most} dead cells hold memory");
}
