//! Heap, mappings, files in memory, page tables, buffers.

use belljar_runtime::Verdict;

use crate::attack::Attack;

const COUNTED: &[&str] = &["cgroup_memory"];

async fn oom(script: &str) {
    Attack::new().needs(COUNTED).ends_as(Verdict::Oom, script).await;
}

#[tokio::test]
async fn the_heap() {
    oom("held = []\nwhile True: held.append(bytearray(b'x') * (1 << 20))").await;
}

#[tokio::test]
async fn the_heap_in_many_small_pieces() {
    oom("held = []\nwhile True: held.append([held])").await;
}

#[tokio::test]
async fn one_large_mapping() {
    oom("import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor at in range(0, 1 << 30, 4096): m[at] = 1").await;
}

#[tokio::test]
async fn files_in_memory() {
    let attack = Attack::new().needs(COUNTED).with(|config| config.scratch_size_mb = 512);
    attack
        .ends_as(
            Verdict::Oom,
            "with open('/dev/shm/f', 'wb') as f:\n    while True: f.write(b'x' * (1 << 20))",
        )
        .await;
}

#[tokio::test]
async fn files_without_a_name() {
    oom("fd = os.memfd_create('x')\nwhile True: os.write(fd, b'x' * (1 << 20))").await;
}

#[tokio::test]
async fn page_tables() {
    // One page and one table for every two megabytes of an address space that is nowhere reserved.
    oom("import mmap\nm = mmap.mmap(-1, 1 << 42, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n\
         for at in range(0, 1 << 42, 1 << 21): m[at] = 1")
    .await;
}

#[tokio::test]
async fn buffers_of_pipes_and_sockets() {
    let attack = Attack::new().needs(COUNTED).with(|config| {
        config.resource_limits.memory_mb = 32;
        config.resource_limits.open_files = 4096;
    });
    let script = "import socket\nheld = []\nwhile True:\n    r, w = os.pipe(); os.set_blocking(w, False); held.append((r, w))\n    try:\n        while True: os.write(w, b'x' * 65536)\n    except BlockingIOError: pass\n\
                  \x20   a, b = socket.socketpair(); a.setblocking(False); held.append((a, b))\n    try:\n        while True: a.send(b'x' * 65536)\n    except BlockingIOError: pass";
    let Some(result) = attack.run(script).await else { return };
    // Whichever bound comes first: the kernel has one of its own for each user's pipes.
    assert!(matches!(result.verdict, Verdict::Oom | Verdict::Exception), "{result:#?}");
    match result.usage.peak_memory_bytes {
        Some(peak) => assert!(peak <= 33 << 20, "{:?}", result.usage),
        // No process owns such buffers. Where the kernel finds nothing else to kill in a container,
        // it kills the supervisor, too, and that is the one who counts.
        None => assert_eq!((result.verdict, belljar_testing::engine()), (Verdict::Oom, "docker")),
    }
}

#[tokio::test]
async fn a_child_that_takes_the_memory_and_a_script_that_notices() {
    let script = "import subprocess, sys\n\
                  subprocess.run([sys.executable, '-c', 'held = []\\nwhile True: held.append(bytearray(b\"x\") * (1 << 20))'], check=True)";
    oom(script).await;
}

#[tokio::test]
async fn a_child_that_takes_the_memory_and_a_script_that_goes_on() {
    let script = "import subprocess, sys\n\
                  p = subprocess.run([sys.executable, '-c', 'held = []\\nwhile True: held.append(bytearray(b\"x\") * (1 << 20))'])\n\
                  emit_result(p.returncode)";
    let Some(result) = Attack::new().needs(COUNTED).run(script).await else { return };
    assert_eq!(belljar_testing::data(&result), "-9");
    assert_eq!(result.usage.oom_kills, Some(1), "{result:#?}");
    let told = ["the kernel killed 1 process of this run for memory; together they may use 96 MiB"];
    assert_eq!(result.warnings, told);
}

#[tokio::test]
async fn most_of_the_children_and_a_script_that_does_not_look() {
    // One after the other, so that each is the largest when the kernel has to choose.
    let script = "for size in [512, 512, 1, 512, 512, 512]:\n    pid = os.fork()\n    if pid == 0:\n        held = bytearray(b'x') * (size << 20)\n        os._exit(0)\n\
                  \x20   os.waitpid(pid, 0)\nemit_result('all went well')";
    let Some(result) = Attack::new().needs(COUNTED).run(script).await else { return };
    assert_eq!(belljar_testing::data(&result), "\"all went well\"");
    assert_eq!(result.usage.oom_kills, Some(5), "{result:#?}");
    assert!(
        result.warnings[0].contains("the kernel killed 5 processes of this run for memory"),
        "{result:#?}"
    );
}

#[tokio::test]
async fn a_kill_in_one_step_is_not_the_next_ones() {
    let Some(runtime) = belljar_testing::runtime() else { return };
    if !belljar_testing::has(&runtime, "cgroup_memory") {
        return;
    }
    let sandbox = belljar_testing::sandbox_with(&runtime, Attack::new().config).await;
    let mut session = sandbox.session().await.unwrap();
    let kill = "pid = os.fork()\nif pid == 0: held = bytearray(b'x') * (512 << 20)\nos.waitpid(pid, 0)\nNone";
    let first = session.step(kill).await.unwrap();
    assert_eq!((first.usage.oom_kills, first.warnings.len()), (Some(1), 1), "{first:#?}");
    // Were it counted again, this would be an `oom`.
    let second = session.step("1 / 0").await.unwrap();
    assert_eq!((second.usage.oom_kills, &second.verdict), (Some(0), &Verdict::Exception), "{second:#?}");
    assert!(second.warnings.is_empty(), "{second:#?}");
}
