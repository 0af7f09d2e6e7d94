//! Many tenants, one host: what one of them takes of it is never all there is.

use std::time::Duration;

use belljar_testing::{HANG, data};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::world::World;

/// The limit under which a host process often runs, and which it cannot raise.
fn live_with(descriptors: u64) {
    setrlimit(Resource::Nofile, Rlimit { current: Some(descriptors), maximum: Some(descriptors) }).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn greedy_cells_leave_descriptors_for_everybody_else() {
    let Some(world) = World::new().await else { return };
    live_with(1024);
    let greedy = world.sandbox("api.test").await;
    let modest = world.sandbox("other.test").await;
    let mut sessions = Vec::new();
    for _ in 0..9 {
        let mut session = greedy.session().await.unwrap();
        // As many as it gets, and it keeps them.
        let take = "kept = []\nfor _ in range(64):\n    s = proxy(); s.setblocking(False)\n    s.send(f'CONNECT api.test:{HTTPS} HTTP/1.1\\r\\nHost: api.test:{HTTPS}\\r\\n\\r\\n'.encode()); kept.append(s)\n\
                    import select, time\nselect.select(kept, [], [], 20)\nbegan, granted = time.monotonic(), 0\n\
                    while time.monotonic() - began < 0.5 and granted < 64: granted = len(select.select(kept, [], [], 0.05)[0])\n\
                    emit_result(granted)";
        let result = session.step(world.script(take)).await.unwrap();
        assert!(data(&result).parse::<u32>().unwrap() > 0, "a cell has no network at all");
        sessions.push(session);
    }
    for number in 0..25 {
        let script =
            world.script("emit_result(ask(request('/', host='other.test', port=HTTP)).decode()[-5:])");
        let run = tokio::time::timeout(HANG, modest.run(script)).await.expect("the run hangs");
        let result = run.unwrap_or_else(|error| panic!("run {number}: {error:?}"));
        assert_eq!(data(&result), r#""hello""#, "run {number}: {result:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_handshakes_costs_the_host_no_more_than_the_cell_may_use_itself() {
    let Some(world) = World::new().await else { return };
    if !belljar_testing::only_on("native", "there the proxy's time is a container's own") {
        return;
    }
    let sandbox = world.sandbox_opening_tls("api.test").await;
    // One greeting is made once and sent again and again: cheap for the guest, and each is answered
    // with a signature.
    let script = "import ssl, time\ncontext, into, out = ssl.create_default_context(), ssl.MemoryBIO(), ssl.MemoryBIO()\n\
                  try: context.wrap_bio(into, out, server_hostname='api.test').do_handshake()\nexcept ssl.SSLWantReadError: pass\n\
                  greeting, count, ended = out.read(), 0, time.monotonic() + 6\n\
                  connect = f'CONNECT api.test:{HTTPS} HTTP/1.1\\r\\nHost: api.test:{HTTPS}\\r\\n\\r\\n'.encode()\n\
                  while time.monotonic() < ended:\n    many = [proxy() for _ in range(32)]\n    for s in many: s.sendall(connect + greeting)\n\
                  \x20   for s in many:\n        seen = b''\n        while len(seen) < 200:\n            piece = s.recv(4096)\n            if not piece: break\n            seen += piece\n        count += len(seen) >= 200; s.close()\n\
                  emit_result(count)";
    let before = processor_time();
    let result = world.run(&sandbox, script).await;
    let used = processor_time() - before;
    assert!(data(&result).parse::<u32>().unwrap() > 10, "{result:#?}");
    // Half a processor is the default quota; a second may be saved up, and the test itself needs
    // some.
    assert!(used < Duration::from_secs_f64(0.5 * 6.0 + 1.0 + 2.0), "{used:?} of processor time");
}

/// What this process has used, its hosts and its proxy among it.
fn processor_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap())
}
