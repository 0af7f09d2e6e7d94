//! A name whose answer changes between check and use, and redirects that lead out.

use std::net::SocketAddr;

use belljar_core::NetworkVerdict;
use belljar_proxy::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::world::{ALLOWED, Host, Script, policy, proxy, read_answer};

/// Asks for a URL on a new connection, and on a new one to the host as well: a request with a body
/// never uses an existing one.
async fn get(address: SocketAddr, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\n\r\nx");
    stream.write_all(request.as_bytes()).await.unwrap();
    read_answer(&mut stream).await
}

#[tokio::test]
async fn a_name_is_resolved_once_and_only_that_answer_is_dialled() {
    let host = Host::start().await;
    // The same port on an address that is not listed. Whoever resolves again ends up here.
    let trap = std::net::TcpListener::bind(("127.0.0.66", host.port)).unwrap();
    trap.set_nonblocking(true).unwrap();
    let resolver = Script::new(vec![vec![ALLOWED], vec!["127.0.0.66".parse().unwrap()]]);
    let (cell, address) = proxy(policy(&[host.port]), resolver.clone(), Limits::default());
    let name = format!("good.test:{}", host.port);

    assert!(get(address, &name, "/").await.starts_with("HTTP/1.1 200 "));
    assert_eq!(resolver.calls(), 1, "one answer is one decision");
    let second = get(address, &name, "/").await;
    assert!(second.starts_with("HTTP/1.1 403 ") && second.contains("leads to a loopback"), "{second}");
    assert_eq!(resolver.calls(), 2);
    let verdicts: Vec<_> = cell.take_decisions().into_iter().map(|decision| decision.verdict).collect();
    assert!(matches!(verdicts[..], [NetworkVerdict::Allowed, NetworkVerdict::Denied { .. }]), "{verdicts:?}");
    assert_eq!(trap.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "the trap was dialled");
}

#[tokio::test]
async fn a_denied_name_is_never_resolved() {
    let resolver = Script::new(vec![vec![ALLOWED]]);
    let (_cell, address) = proxy(policy(&[80]), resolver.clone(), Limits::default());
    for host in ["evil.test", "good.test:81", "2130706433", "good.test%00"] {
        assert!(get(address, host, "/").await.starts_with("HTTP/1.1 403 "), "{host}");
    }
    assert_eq!(resolver.calls(), 0, "a resolver that is asked is a way to send data out");
}

#[tokio::test]
async fn a_redirect_to_a_denied_host_ends_there() {
    let host = Host::start().await;
    let (_cell, address) = proxy(policy(&[host.port]), Script::new(vec![vec![ALLOWED]]), Limits::default());
    let answer = get(address, &format!("good.test:{}", host.port), "/redirect").await;
    assert!(answer.starts_with("HTTP/1.1 302 "), "{answer}");
    let location = answer.lines().find_map(|line| line.strip_prefix("location: http://")).unwrap();
    let answer = get(address, location.trim_end_matches('/'), "/").await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("not in allowed_hosts"), "{answer}");
    assert_eq!(host.heard().matches("HTTP/1.1").count(), 1);
}

#[tokio::test]
async fn a_failure_is_told_as_one_and_not_as_a_denial() {
    // A port that is ours, so that nobody else can listen on it, and on which we do not listen.
    let held = TcpSocket::new_v4().unwrap();
    held.bind(SocketAddr::new(ALLOWED, 0)).unwrap();
    let port = held.local_addr().unwrap().port();
    let (cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED], vec![]]), Limits::default());
    let refused = get(address, &format!("good.test:{port}"), "/").await;
    assert!(refused.starts_with("HTTP/1.1 502 ") && refused.contains("cannot connect"), "{refused}");
    let unknown = get(address, &format!("good.test:{port}"), "/").await;
    assert!(unknown.starts_with("HTTP/1.1 502 ") && unknown.contains("no such host"), "{unknown}");
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 77]).await.unwrap();
    stream.write_all(&port.to_be_bytes()).await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.unwrap();
    assert_eq!(reply[..4], [5, 0, 5, 5], "SOCKS says that the connection was refused");
    for decision in cell.take_decisions() {
        assert!(matches!(decision.verdict, NetworkVerdict::Failed { .. }), "{decision:?}");
    }
}
