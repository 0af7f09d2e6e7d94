//! What a run leaves in the proxy's hands ends with the run: nothing of it is sent later, seen by
//! the next run, or waited for.

use belljar_runtime::{EventKind, SandboxConfig};
use belljar_testing::{HANG, data, engine};

use crate::world::World;

/// Takes every place with requests that are never answered, then asks on far more connections than
/// the listener's queue holds, and ends with all of them open.
const PLANT: &str = "kept = []\n\
    def plant(message):\n    s = socket.socket(); s.setblocking(False); s.connect_ex(('127.0.0.1', 3128)); kept.append((s, message))\n\
    for _ in range(64): plant(request('/never', more=''))\n\
    for number in range(400):\n    try: plant(request('/planted', more='') if number % 2 else request('/planted', host='evil.test', port=HTTP, more=''))\n    except OSError: break\n\
    import select\n\
    left = {s.fileno(): (s, message) for s, message in kept}\n\
    poll = select.poll()\n\
    for number in left: poll.register(number, select.POLLOUT)\n\
    while left:\n    ready = poll.poll(500)\n    if not ready: break\n    for number, _ in ready:\n        s, message = left.pop(number); poll.unregister(number)\n        try: s.sendall(message)\n        except OSError: pass\n\
    emit_result([len(kept) - len(left), WHICH])";

#[tokio::test]
async fn nothing_a_run_planted_is_sent_or_seen_after_its_end() {
    let Some(world) = World::without_overflow().await else { return };
    let config = SandboxConfig { pool_size: 1, ..world.config("api.test", Vec::new()) };
    let sandbox = world.runtime.sandbox(config).await.unwrap();
    // Which container it is, where containers are used again: the moment its PID 1 began.
    let which = "WHICH = open('/proc/1/stat').read().rsplit(') ', 1)[1].split()[19]\n";
    let mut containers = Vec::new();
    for round in 0..3 {
        let planted = world.run(&sandbox, &format!("{which}{PLANT}")).await;
        let (connections, container): (usize, String) = serde_json::from_str(data(&planted)).unwrap();
        assert!(connections > 64 + 32, "only {connections} were made");
        containers.push(container);
        let by_then = world.odd.heard().iter().filter(|line| line.contains("/planted")).count();
        assert_eq!(by_then, 0, "the places were taken");

        let mut denied = Vec::new();
        let next = format!("{which}emit_result([get('/hello?{round}').decode()[-5:], WHICH])");
        let run = sandbox.run_with(world.script(&next), |event| {
            if let EventKind::Denied { target, .. } = event.kind {
                denied.push(target);
            }
        });
        let result = tokio::time::timeout(HANG, run).await.expect("the run hangs").unwrap();
        let (answer, container): (String, String) = serde_json::from_str(data(&result)).unwrap();
        assert_eq!(answer, "hello");
        containers.push(container);
        assert_eq!(denied, [""; 0], "another run's refusals");
        assert_eq!(result.network.len(), 1, "{:#?}", result.network);
        assert!(result.usage.wall_ms < 10_000.0, "it waited {} ms", result.usage.wall_ms);
        let heard = world.odd.heard();
        assert!(!heard.iter().any(|line| line.contains("/planted")), "{heard:?}");
    }
    if engine() == "docker" {
        let runs = containers.len();
        containers.sort_unstable();
        containers.dedup();
        assert_eq!(containers.len(), runs, "a container in which sockets were made was used again");
    }
    // Whatever would still come has come once everything is gone.
    drop(sandbox);
    assert!(!world.odd.heard().iter().any(|line| line.contains("/planted")));
}

#[tokio::test]
async fn a_slow_host_of_one_run_does_not_slow_the_next() {
    let Some(world) = World::without_overflow().await else { return };
    let config = SandboxConfig { pool_size: 1, ..world.config("api.test", Vec::new()) };
    let sandbox = world.runtime.sandbox(config).await.unwrap();
    let hang = "kept = [proxy() for _ in range(64)]\nfor s in kept: s.sendall(request('/never', more=''))\n\
                import time; time.sleep(0.2)\nemit_result(1)";
    assert_eq!(data(&world.run(&sandbox, hang).await), "1");
    let result = world.run(&sandbox, "emit_result(get('/hello').decode()[-5:])").await;
    assert_eq!(data(&result), r#""hello""#);
    assert!(result.usage.wall_ms < 10_000.0, "it waited {} ms", result.usage.wall_ms);
}
