//! Requests made of pieces in any order. Whatever the proxy makes of them, a host hears nothing
//! that is not on record, and nothing but the plain requests that the proxy itself writes.

use std::time::Duration;

use belljar_core::NetworkVerdict;
use belljar_proxy::Limits;
use belljar_testing::bypass::policy_with_credentials;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::{ALLOWED, Host, Script, proxy};

/// The parts of requests, and what breaks them. `{P}` is the allowed port.
const PIECES: &[&str] = &[
    "GET http://good.test:{P}/a HTTP/1.1\r\n",
    "POST http://keyed.test:{P}/b HTTP/1.1\r\n",
    "HEAD http://a.wild.test:{P}/c HTTP/1.1\r\n",
    "GET http://good.test:{P}/d HTTP/1.0\r\n",
    "GET http://evil.test:{P}/e HTTP/1.1\r\n",
    "GET http://vault.test:{P}/f HTTP/1.1\r\n",
    "CONNECT good.test:{P} HTTP/1.1\r\n",
    "Host: good.test:{P}\r\n",
    "Host: keyed.test:{P}\r\n",
    "Host: a.wild.test:{P}\r\n",
    "Host: evil.test\r\n",
    "X-Key: forged\r\n",
    "x_key: forged\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "Content_Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: identity\r\n",
    "Connection: close\r\n",
    "Connection: x-key, host\r\n",
    "Expect: 100-continue\r\n",
    "Upgrade: websocket\r\n",
    " folded\r\n",
    "\r\n",
    "\r\n",
    "\r\n",
    "\r",
    "\n",
    "\0",
    "hello",
    "5\r\nhello\r\n0\r\n\r\n",
    "0\r\n\r\n",
    "GET /smuggled HTTP/1.1\r\nHost: evil.test\r\n\r\n",
];

async fn try_pieces(pieces: &[usize]) -> Result<(), TestCaseError> {
    let host = Host::start().await;
    let port = host.port.to_string();
    let policy = policy_with_credentials(&[host.port]);
    let (cell, address) = proxy(policy, Script::new(vec![vec![ALLOWED]]), Limits::default());
    let message: String = pieces.iter().map(|at| PIECES[*at].replace("{P}", &port)).collect();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(message.as_bytes()).await;
    let _ = stream.shutdown().await;
    let mut seen = Vec::new();
    prop_assert!(timeout(Duration::from_secs(60), stream.read_to_end(&mut seen)).await.is_ok(), "no end");
    let decisions = cell.take_decisions();
    cell.close().await;

    let heard = host.heard();
    let sent: u64 = decisions.iter().map(|line| line.bytes_sent).sum();
    prop_assert!(heard.len() as u64 <= sent, "{} bytes heard, {sent} on record: {heard:?}", heard.len());
    let denied = |verdict: &NetworkVerdict| matches!(verdict, NetworkVerdict::Denied { .. });
    prop_assert!(decisions.iter().all(|line| !line.host.contains("vault") || denied(&line.verdict)));
    // A host hears only heads that the proxy has written, each for an allowed host, and bodies.
    let asked = decisions.iter().filter(|line| line.bytes_sent > 0).map(|line| line.count).sum::<u64>();
    let heads: Vec<&str> = heard.split("\r\n\r\n").filter(|part| part.contains(" HTTP/1.1\r\n")).collect();
    prop_assert!(heads.len() as u64 <= asked, "{} requests heard, {asked} on record: {heard:?}", heads.len());
    for head in heads {
        let lower = head.to_ascii_lowercase();
        prop_assert!(!lower.contains("evil.test"), "{head:?}");
        prop_assert_eq!(lower.matches("\r\nhost: ").count(), 1, "{:?}", head);
        let is_keyed = lower.contains("\r\nhost: keyed.test");
        prop_assert_eq!(lower.contains("x-key: hunter2"), is_keyed, "{:?}", head);
        prop_assert!(!is_keyed || !lower.contains("forged"), "{head:?}");
    }
    Ok(())
}

#[test]
fn whatever_pieces_requests_are_made_of_a_host_hears_only_what_is_on_record() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Heads that would pass are made often enough that what follows them is tried too.
    let whole = prop_oneof![Just(vec![0, 7, 23]), Just(vec![1, 8, 13, 23, 29]), Just(vec![0, 7, 16, 23, 30])];
    let mess = proptest::collection::vec(0..PIECES.len(), 1..6);
    let pieces = proptest::collection::vec(prop_oneof![whole, mess], 1..5).prop_map(|parts| parts.concat());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    });
    runner.run(&pieces, |pieces| runtime.block_on(try_pieces(&pieces))).unwrap();
}
