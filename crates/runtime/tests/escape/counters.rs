//! Numbers that the whole machine has only so many of, while a guest takes all it can get.
//!
//! Each is read on the host before, during and after. What a guest may take is bounded by limits of
//! its own, so the machine's number moves by no more than those allow, and comes back. The machine
//! is not ours alone: what others do in the meantime is allowed for.

use belljar_runtime::SandboxConfig;
use belljar_testing::{config, eventually, runtime, session};
use serde_json::json;

use crate::support::{answer, step};

/// A number of the whole machine.
struct Counter {
    name: &'static str,
    read: fn() -> Option<u64>,
    /// How far a guest with the limits below can move it, and others in the meantime.
    most: u64,
    /// What the guest does to move it.
    take: &'static str,
}

const OPEN_FILES: u32 = 128;
const PROCESSES: u32 = 8;
/// What else may happen on a machine that runs tests.
const OTHERS: u64 = 4096;

fn number(path: &str, at: usize) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.split_whitespace().nth(at)?.parse().ok()
}

const COUNTERS: [Counter; 8] = [
    Counter {
        name: "asynchronous requests",
        read: || number("/proc/sys/fs/aio-nr", 0),
        most: 0,
        take: "context = ctypes.c_ulong()\nfor _ in range(16): syscall('io_setup', 65536, ctypes.byref(context))",
    },
    Counter {
        name: "open files",
        read: || number("/proc/sys/fs/file-nr", 0),
        most: (OPEN_FILES * PROCESSES) as u64 + OTHERS,
        take: "held = []\ndef take():\n    try:\n        while True: held.append(os.open('/dev/null', os.O_RDONLY))\n    except OSError: pass\ntake()",
    },
    Counter {
        name: "terminals",
        read: || number("/proc/sys/kernel/pty/nr", 0),
        most: 8,
        take: "held = [attempt(os.open, path, os.O_RDWR) for path in ('/dev/ptmx', '/dev/pts/ptmx') for _ in range(100)]",
    },
    Counter {
        name: "keys",
        read: || {
            let text = std::fs::read_to_string("/proc/key-users").ok()?;
            text.lines()
                .map(|line| line.split(['/', ' ']).filter_map(|word| word.parse::<u64>().ok()).nth(1))
                .sum()
        },
        most: 16,
        take: "held = [syscall('add_key', b'user', b'k%d' % n, b'x' * 1000, 1000, -2) for n in range(500)]",
    },
    Counter {
        name: "threads",
        read: || {
            let load = std::fs::read_to_string("/proc/loadavg").ok()?;
            load.split_whitespace().nth(3)?.split('/').nth(1)?.parse().ok()
        },
        most: PROCESSES as u64 + 512,
        take: "import threading\nstop = threading.Event()\ntry:\n    while True: threading.Thread(target=stop.wait, daemon=True).start()\nexcept RuntimeError: pass",
    },
    Counter {
        name: "huge pages",
        read: || {
            let text = std::fs::read_to_string("/proc/meminfo").ok()?;
            let line = |name: &str| -> Option<u64> {
                text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
            };
            Some(line("HugePages_Total:")? - line("HugePages_Free:")? + line("HugePages_Surp:")?)
        },
        most: 0,
        take: "held = [syscall('mmap', 0, 2 << 20, 3, 0x22 | 0x40000, -1, 0) for _ in range(50)]",
    },
    Counter {
        name: "programs in the kernel",
        read: || {
            // Every program that was compiled is in this list, which only root may read.
            let text = std::fs::read_to_string("/proc/vmallocinfo").ok()?;
            Some(text.lines().filter(|line| line.contains("bpf_jit") || line.contains("bpf_prog")).count()
                as u64)
        },
        most: 256,
        take: "program = ctypes.create_string_buffer(struct.pack('HBBI', 0x06, 0, 0, 0xFFFF), 8)\nvalue = struct.pack('HxxxxxxP', 1, ctypes.addressof(program))\nheld = []\nfor _ in range(100):\n    held.append(socket.socketpair()[0]); attempt(held[-1].setsockopt, 1, 26, value)",
    },
    Counter {
        name: "namespaces",
        read: || {
            let entries = std::fs::read_dir("/proc").ok()?.flatten();
            let users = entries.filter_map(|entry| std::fs::read_link(entry.path().join("ns/user")).ok());
            Some(users.collect::<std::collections::BTreeSet<_>>().len() as u64)
        },
        most: 64,
        take: "held = [syscall('unshare', 0x10000000) for _ in range(200)]\nfor _ in range(6):\n    if os.fork() == 0: syscall('unshare', 0x10000000); signal.pause()",
    },
];

#[tokio::test]
async fn what_the_machine_has_only_so_much_of() {
    let Some(runtime) = runtime() else { return };
    let mut small = SandboxConfig { name: "counters".into(), ..config() };
    small.resource_limits.open_files = OPEN_FILES;
    small.resource_limits.pids_limit = PROCESSES;
    let sandbox = runtime.sandbox(small).await.unwrap();
    for Counter { name, read, most, take } in COUNTERS {
        let Some(before) = read() else {
            println!("{name}: skipped (cannot be read by this user or on this kernel)");
            continue;
        };
        let mut held = session(&sandbox).await;
        step(&mut held, &format!("{take}\nemit_result(True)")).await;
        let during = read().unwrap();
        println!("{name}: {before} before, {during} during");
        assert!(during.saturating_sub(before) <= most, "{name}: {before} before, {during} during");
        drop(held);
        eventually(&format!("{name} are given back"), || read().unwrap().saturating_sub(before) <= most)
            .await;
    }
    // Whoever comes next can be served.
    assert_eq!(answer(&sandbox, "emit_result(1)").await, json!(1));
}

/// Quotas that the kernel keeps by user: a guest that uses up its own takes nobody else's, where it
/// has an id of its own.
#[tokio::test]
async fn quotas_of_a_user() {
    let Some(runtime) = runtime() else { return };
    let own_ids = belljar_testing::engine() == "native" && rustix::process::geteuid().is_root();
    if !own_ids {
        println!(
            "quotas: skipped (cells share an id here, and with it the kernel's quotas by user: see SECURITY.md)"
        );
        return;
    }
    let sandbox = runtime.sandbox(config()).await.unwrap();
    let (mut greedy, mut other) = (session(&sandbox).await, session(&sandbox).await);
    let take = "held = []\nfor _ in range(400):\n    r, w = os.pipe(); held += [r, w]; attempt(fcntl.fcntl, w, 1031, 1 << 20)\n\
        def queue():\n    signal.pthread_sigmask(signal.SIG_BLOCK, [34])\n    n = 0\n    while syscall('rt_sigqueueinfo', os.getpid(), 34, ctypes.create_string_buffer(struct.pack('iii', 34, 0, -1), 128)) == 0 and n < 5000: n += 1\n    return n\n\
        emit_result(queue())";
    let queued = step(&mut greedy, take).await.as_u64().unwrap();
    assert!((1..=1024).contains(&queued), "{queued} signals could be queued");
    let look =
        "r, w = os.pipe()\nemit_result([fcntl.fcntl(w, 1032), attempt(fcntl.fcntl, w, 1031, 1 << 20)])";
    assert_eq!(
        step(&mut other, look).await,
        json!([65536, "done"]),
        "another cell's pipes are smaller for it"
    );
}
