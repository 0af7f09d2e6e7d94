//! What a guest can take from the host is limited, and ends when the cell does.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belljar_core::NetworkVerdict;
use belljar_proxy::{CellEgress, Egress, EgressOptions, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{ALLOWED, Host, Script, policy, proxy, read_answer};

fn rules(cell: &CellEgress) -> Vec<String> {
    let rule = |verdict| match verdict {
        NetworkVerdict::Denied { rule } => rule,
        other => format!("{other:?}"),
    };
    cell.take_decisions().into_iter().map(|decision| rule(decision.verdict)).collect()
}

/// A host that sends without end to anyone who connects.
async fn flood() -> u16 {
    let listener = TcpListener::bind((ALLOWED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move { while stream.write_all(&[b'x'; 1000]).await.is_ok() {} });
        }
    });
    port
}

/// A connection whose first bytes are there before the proxy can look, so that no time limit gets
/// in the way.
fn connect_saying(address: std::net::SocketAddr, words: &[u8]) -> TcpStream {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(words).unwrap();
    stream.set_nonblocking(true).unwrap();
    TcpStream::from_std(stream).unwrap()
}

async fn open_plain(address: std::net::SocketAddr, port: u16) -> TcpStream {
    let request = format!("CONNECT plain.test:{port} HTTP/1.1\r\nHost: plain.test\r\n\r\n");
    let mut stream = connect_saying(address, request.as_bytes());
    let mut answer = [0; 39];
    stream.read_exact(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 "));
    stream
}

#[tokio::test]
async fn a_run_has_so_many_bytes_and_the_next_one_has_them_again() {
    let port = flood().await;
    let mut limits = Limits::default();
    limits.bytes_per_run = 100_000;
    let (cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED]]), limits);
    let mut seen = Vec::new();
    let _ = open_plain(address, port).await.read_to_end(&mut seen).await;
    assert!(seen.len() <= 100_000, "{} bytes came through", seen.len());

    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("CONNECT plain.test:{port} HTTP/1.1\r\nHost: plain.test\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(read_answer(&mut stream).await.contains("bytes of this run"));
    assert_eq!(rules(&cell), ["limit reached: bytes of this run"], "one line for both");

    cell.begin_run();
    let mut byte = [0];
    open_plain(address, port).await.read_exact(&mut byte).await.unwrap();
}

#[tokio::test]
async fn what_a_guest_uploads_is_bounded_to_the_byte() {
    let listener = TcpListener::bind((ALLOWED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = tokio::spawn(async move {
        let mut heard = Vec::new();
        let _ = listener.accept().await.unwrap().0.read_to_end(&mut heard).await;
        heard.len()
    });
    let mut limits = Limits::default();
    limits.bytes_per_run = 1_000_003;
    let (cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED]]), limits);
    let mut stream = open_plain(address, port).await;
    // Until the proxy breaks off.
    while stream.write_all(&[b'x'; 100_000]).await.is_ok() {}
    assert_eq!(heard.await.unwrap(), 1_000_003);
    assert_eq!(rules(&cell), ["limit reached: bytes of this run"]);
}

#[tokio::test]
async fn a_tunnel_that_carries_much_and_then_nothing_ends() {
    const MUCH: usize = 1 << 20;
    let listener = TcpListener::bind((ALLOWED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let host = tokio::spawn(async move {
        let mut stream = listener.accept().await.unwrap().0;
        let _ = stream.write_all(&vec![b'x'; MUCH]).await;
        // Silent from here on, but still there.
        let _ = stream.read(&mut [0]).await;
    });
    let mut limits = Limits::default();
    limits.idle = Duration::from_millis(200);
    let (_cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED]]), limits);
    let mut seen = Vec::new();
    let _ = open_plain(address, port).await.read_to_end(&mut seen).await;
    // How much came through before depends on the machine. That both ends see the end does not.
    assert!(seen.len() <= MUCH);
    host.await.unwrap();
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() {
    let mut limits = Limits::default();
    limits.head_time = Duration::from_millis(20);
    let (cell, address) = proxy(policy(&[80]), Script::default(), limits);
    for beginning in [&b"GET http://good.test/ HTTP/1.1\r\n"[..], &[5, 1], &[5, 1, 0, 5, 1]] {
        let mut stream = connect_saying(address, beginning);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
    }
    let rules = rules(&cell);
    assert_eq!(rules.len(), 2, "of the three, two came to the same: {rules:?}");
    assert!(rules.iter().all(|rule| rule.starts_with("limit reached: time for a ")), "{rules:?}");
}

#[tokio::test]
async fn a_tunnel_that_carries_nothing_ends() {
    let host = Host::start().await;
    let mut limits = Limits::default();
    limits.idle = Duration::from_millis(20);
    let (_cell, address) = proxy(policy(&[host.port]), Script::new(vec![vec![ALLOWED]]), limits);
    let mut rest = Vec::new();
    let _ = open_plain(address, host.port).await.read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn no_connection_outlives_its_time() {
    let mut limits = Limits::default();
    limits.total = Duration::from_millis(20);
    let (_cell, address) = proxy(policy(&[80]), Script::default(), limits);
    for beginning in [&b"GET http://good.test/ HTTP/1.1\r\n"[..], &[5], b""] {
        let mut answer = Vec::new();
        let _ = connect_saying(address, beginning).read_to_end(&mut answer).await;
        assert_eq!(answer, b"", "nobody has time to say a thing");
    }
}

#[tokio::test]
async fn more_connections_than_allowed_wait_for_their_turn() {
    let host = Host::start().await;
    let mut limits = Limits::default();
    limits.connections = 1;
    let (_cell, address) = proxy(policy(&[host.port]), Script::new(vec![vec![ALLOWED]]), limits);
    let first = open_plain(address, host.port).await;
    let second = tokio::spawn(open_plain(address, host.port));
    let mut third = TcpStream::connect(address).await.unwrap();
    third.write_all(b"CONNECT evil.test:1 HTTP/1.1\r\n\r\n").await.unwrap();
    // Nobody is served besides the first. Its own exchange still works, and theirs has not begun.
    let mut first = first;
    first.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(read_answer(&mut first).await.ends_with("hello"));
    assert!(!second.is_finished());
    drop(first);
    drop(second.await.unwrap());
    assert!(read_answer(&mut third).await.starts_with("HTTP/1.1 403 "));
}

#[tokio::test]
async fn dropping_the_cell_ends_its_connections_and_its_listener() {
    let host = Host::start().await;
    let (cell, address) = proxy(policy(&[host.port]), Script::new(vec![vec![ALLOWED]]), Limits::default());
    let mut stream = open_plain(address, host.port).await;
    drop(cell);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert_eq!(rest, b"", "the tunnel is closed");
    // The listener is closed with the task. Until then a connection may be queued, but nobody
    // answers.
    if let Ok(mut late) = TcpStream::connect(address).await {
        let _ = late.write_all(b"CONNECT plain.test:1 HTTP/1.1\r\n\r\n").await;
        let mut answer = Vec::new();
        let _ = late.read_to_end(&mut answer).await;
        assert_eq!(answer, b"");
    }
}

#[tokio::test]
async fn denials_are_told_as_they_happen() {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let egress = Egress::new(policy(&[80]), EgressOptions::new(Script::default())).unwrap();
    let tell = told.clone();
    let cell = egress
        .serve_reporting(listener, move |denial| tell.lock().unwrap().push(denial.host.clone()))
        .unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"CONNECT evil.test:1 HTTP/1.1\r\n\r\n").await.unwrap();
    read_answer(&mut stream).await;
    assert_eq!(*told.lock().unwrap(), ["evil.test"]);
    assert_eq!(cell.take_decisions().len(), 1);
}

#[tokio::test]
async fn a_policy_that_contradicts_itself_serves_nobody() {
    let mut policy = policy(&[80]);
    policy.plain_hosts.push("other.test".into());
    assert!(Egress::new(policy, EgressOptions::new(Script::default())).is_err());
}
