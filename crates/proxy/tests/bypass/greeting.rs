//! A tunnel carries TLS from both sides, or nothing.

use std::time::Duration;

use belljar_core::NetworkVerdict;
use belljar_proxy::Limits;
use belljar_testing::bypass::{hello, server_name};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::world::{ALLOWED, Script, policy, proxy, read_answer};

const HANG: Duration = Duration::from_secs(60);

struct Tunnelled {
    /// What came before the host had answered, and after.
    heard: [Vec<u8>; 2],
    seen: Vec<u8>,
    verdict: NetworkVerdict,
}

/// A guest that sends a greeting and more at once, and a host that gives this answer.
async fn tunnel(target: &str, greeting: Vec<u8>, more: &'static [u8], answer: &'static [u8]) -> Tunnelled {
    let listener = TcpListener::bind((ALLOWED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let length = greeting.len();
    let host = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut before = vec![0; length];
        stream.read_exact(&mut before).await.unwrap();
        // Anything sent besides the greeting would be here with it, or a moment later.
        let _ = timeout(Duration::from_millis(100), stream.read_buf(&mut before)).await;
        for piece in answer.chunks(3) {
            stream.write_all(piece).await.unwrap();
        }
        let mut after = Vec::new();
        if !more.is_empty() {
            let _ = timeout(HANG, stream.read_buf(&mut after)).await.expect("it comes, or the tunnel ends");
        }
        [before, after]
    });
    let (cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED]]), Limits::default());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let at = format!("{target}:{port}");
    stream.write_all(format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes()).await.unwrap();
    assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200 "));
    stream.write_all(&[&greeting[..], more].concat()).await.unwrap();
    let heard = timeout(HANG, host).await.unwrap().unwrap();
    let mut seen = Vec::new();
    let _ = timeout(HANG, stream.read_to_end(&mut seen)).await.unwrap();
    Tunnelled { heard, seen, verdict: cell.take_decisions().remove(0).verdict }
}

fn greeting() -> Vec<u8> {
    hello(&[server_name(b"good.test")], 16_000)
}

#[tokio::test]
async fn what_follows_a_greeting_waits_for_the_hosts_word() {
    // A client that sends early data does this. It arrives once the host has shown that it speaks
    // TLS.
    const ANSWER: &[u8] = b"\x16\x03\x03\x00\x05\x02\x00\x00\x01x";
    let tunnelled = tunnel("good.test", greeting(), b"\x17\x03\x03\x00\x05early", ANSWER).await;
    assert_eq!(tunnelled.heard[0], greeting());
    assert_eq!(tunnelled.heard[1], b"\x17\x03\x03\x00\x05early");
    assert_eq!((tunnelled.seen, tunnelled.verdict), (ANSWER.to_vec(), NetworkVerdict::Allowed));
}

#[tokio::test]
async fn a_host_that_does_not_answer_in_tls_is_not_heard() {
    for answer in [
        &b"220 tolerant\r\n"[..],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"-ERR unknown command\r\n",
        b"\x15\x03\x03\x00\x03\x02\x28x",
        b"\x16\x03\x03\x00\x05\x01\x00\x00\x01x",
        b"\x17\x03\x03\x00\x05hello",
        b"\x80\x2e\x04\x00\x02",
    ] {
        // By name and by address. That an address needs no name does not mean that it may speak any
        // protocol.
        for target in ["good.test", "127.0.0.77"] {
            let tunnelled = tunnel(target, greeting(), b"EHLO evil.test\r\n", answer).await;
            assert_eq!(tunnelled.seen, b"", "{answer:?} came back");
            assert_eq!(tunnelled.heard, [greeting(), Vec::new()], "{answer:?}");
            let NetworkVerdict::Denied { rule } = tunnelled.verdict else {
                panic!("{:?}", tunnelled.verdict)
            };
            assert!(rule.contains("not TLS"), "{rule}");
        }
    }
}

#[tokio::test]
async fn an_alert_of_the_hosts_is_an_answer() {
    const ALERT: &[u8] = b"\x15\x03\x03\x00\x02\x02\x28";
    let tunnelled = tunnel("good.test", greeting(), b"", ALERT).await;
    assert_eq!(tunnelled.seen, ALERT);
}
