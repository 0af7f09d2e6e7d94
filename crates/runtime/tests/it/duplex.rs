//! A cell is full duplex: neither direction waits for the other.

use std::time::Duration;

use belljar_runtime::{ExecutionRequest, ResourceLimits, SandboxConfig};

use belljar_testing::{HANG, config, data, runtime, sandbox_with};

const SIZE: usize = 64 << 20;

/// Prints when the next request begins to arrive, on the thread that reads it: nothing more of the
/// request is read until everything is printed.
const PRINTS_BEFORE_IT_READS: &str = "\
import os, select, signal, stat, threading
reader, printed = threading.get_ident(), 0
def fill_the_pipe(*_):
    global printed
    while printed < SIZE:
        printed += os.write(1, b'x' * min(1 << 20, SIZE - printed))
def watch_the_channel():
    poll = select.poll()
    for number in map(int, os.listdir('/proc/self/fd')):
        path = '/proc/self/fd/%d' % number
        if number > 2 and os.path.exists(path) and stat.S_ISSOCK(os.stat(path).st_mode):
            poll.register(number, select.POLLIN)
    poll.poll()
    signal.pthread_kill(reader, signal.SIGUSR1)
signal.signal(signal.SIGUSR1, fill_the_pipe)
threading.Thread(target=watch_the_channel, daemon=True).start()";

#[tokio::test]
async fn a_guest_that_prints_64_mb_before_it_reads_64_mb_holds_up_nobody() {
    let Some(runtime) = runtime() else { return };
    let limits = ResourceLimits {
        memory_mb: 2048,
        memory_swap_mb: -1,
        max_output_bytes: 4 * SIZE as u64,
        ..config().resource_limits
    };
    let sandbox = sandbox_with(&runtime, SandboxConfig { resource_limits: limits, ..config() }).await;
    let mut session = sandbox.session().await.unwrap();
    let script = PRINTS_BEFORE_IT_READS.replace("SIZE", &SIZE.to_string());
    assert!(session.step(script).await.unwrap().success());
    let long = format!("#{}\nemit_result(printed)", "y".repeat(SIZE));
    let request = ExecutionRequest::new(long).with_timeout(Duration::from_secs(100));
    let result = tokio::time::timeout(HANG, session.step(request)).await.expect("it hangs").unwrap();
    assert_eq!(data(&result), SIZE.to_string());
    assert_eq!(result.stdout.len(), SIZE);
    assert!(session.is_alive());
}
