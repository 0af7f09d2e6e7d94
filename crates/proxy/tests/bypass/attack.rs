//! Runs the corpus against a real proxy.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use belljar_core::NetworkVerdict;
use belljar_proxy::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::corpus::{Case, bytes, cases};
use crate::hello::{extension, hello, server_name};
use crate::world::{ALLOWED, Host, Script, policy, proxy, read_answer};

/// Ports that are allowed beside the real one, so that a case can be about something else than its port.
const PORTS: [u16; 2] = [80, 443];

#[tokio::test]
async fn every_attack_is_refused_by_the_rule_it_breaks_and_reaches_nobody() {
    let cases = cases();
    let mut failures = Vec::new();
    for case in &cases {
        // Long enough for any machine: it only ends a test that would hang.
        match timeout(Duration::from_secs(60), try_case(case)).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => failures.push(format!("{}: {why}", case.id)),
            Err(_) => failures.push(format!("{}: no end", case.id)),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} got it wrong:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
    assert!(cases.len() >= 150, "only {} cases are left", cases.len());
    let mut ids: Vec<_> = cases.iter().map(|case| case.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), cases.len(), "two cases have one id");
}

async fn try_case(case: &Case) -> Result<(), String> {
    let host = Host::start().await;
    let answers = match case.action {
        "leads" => case.sent.split(' ').map(|address| address.parse::<IpAddr>().unwrap()).collect(),
        _ => vec![ALLOWED],
    };
    let resolver = Script::new(vec![answers]);
    let (cell, address) = proxy(policy(&[PORTS[0], PORTS[1], host.port]), resolver, Limits::default());
    let seen = attack(case, address, host.port).await;

    let decisions = cell.take_decisions();
    let Some(last) = decisions.last() else {
        return Err(format!("nothing on record; the guest saw {seen:?}"));
    };
    match &last.verdict {
        NetworkVerdict::Denied { rule } if rule.contains(case.rule) => {}
        other => return Err(format!("{other:?} instead of {:?}; the guest saw {seen:?}", case.rule)),
    }
    if last.bytes_sent + last.bytes_received > 0 {
        return Err(format!("{} bytes were carried", last.bytes_sent + last.bytes_received));
    }
    let (expected, heard) = (if case.action == "second" { "GET /first" } else { "" }, host.heard());
    if heard.matches("HTTP/1.1").count() > usize::from(!expected.is_empty()) || !heard.starts_with(expected) {
        return Err(format!("the host heard {heard:?}"));
    }
    if expected.is_empty() && !heard.is_empty() {
        return Err(format!("the host heard {heard:?}"));
    }
    refusal(case, &seen)
}

/// Whether the guest was told so in the way of its protocol.
fn refusal(case: &Case, seen: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(seen);
    let told = match case.action {
        "get" | "connect" | "second" | "leads" => {
            text.starts_with("HTTP/1.1 403 ") && text.contains("\"allowed\":[") && text.contains(case.rule)
        }
        "raw" => {
            text.starts_with("HTTP/1.1 403 ") || seen.starts_with(&[0, 0x5b]) || seen.starts_with(&[21, 3, 3])
        }
        "socks" => seen == [5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0],
        "socks-raw" => matches!(seen, [5, 0, 5, 1..=255, ..] | [5, 0xff]),
        "tls" => seen == [21, 3, 3, 0, 2, 2, 49],
        "tunnel" | "socks-tunnel" => seen.is_empty() || seen == [21, 3, 3, 0, 2, 2, 49],
        other => return Err(format!("unknown action {other}")),
    };
    if told { Ok(()) } else { Err(format!("the guest was told {text:?}")) }
}

/// Sends what the case says; gives what came back that matters.
async fn attack(case: &Case, proxy: SocketAddr, port: u16) -> Vec<u8> {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    let sent = bytes(case.sent, port);
    let text = String::from_utf8_lossy(&sent).into_owned();
    let connect = |to: &str| format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").into_bytes();
    let name = |host: &[u8], port: u16| {
        [&[5, 1, 0, 5, 1, 0, 3, host.len() as u8][..], host, &port.to_be_bytes()].concat()
    };
    let message = match case.action {
        "raw" => sent,
        "get" => {
            let host = text.split("//").nth(1).unwrap_or_default().split('/').next().unwrap_or_default();
            format!("GET {text} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
        }
        "connect" => connect(&text),
        "leads" => connect(&format!("good.test:{port}")),
        "socks" => {
            let at = sent.iter().rposition(|byte| *byte == b':').unwrap();
            name(&sent[..at], text.rsplit(':').next().unwrap().parse().unwrap())
        }
        "socks-raw" => [&[5, 1, 0][..], &sent].concat(),
        "tunnel" | "tls" => {
            send(&mut stream, &connect(&format!("good.test:{port}"))).await;
            assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200 "), "{}", case.id);
            if case.action == "tls" { greeting(&text) } else { sent }
        }
        "socks-tunnel" => {
            send(&mut stream, &name(b"good.test", port)).await;
            let mut granted = [0; 12];
            stream.read_exact(&mut granted).await.unwrap();
            assert_eq!(granted[3], 0, "{}", case.id);
            sent
        }
        "second" => {
            let first =
                format!("GET http://good.test:{port}/first HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n");
            send(&mut stream, first.as_bytes()).await;
            assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200 "), "{}", case.id);
            sent
        }
        other => panic!("unknown action {other}"),
    };
    send(&mut stream, &message).await;
    let _ = stream.shutdown().await;
    let mut seen = Vec::new();
    let _ = stream.read_to_end(&mut seen).await;
    seen
}

/// A proxy that has refused already may close while a long message is still being written.
async fn send(stream: &mut TcpStream, message: &[u8]) {
    let _ = stream.write_all(message).await;
}

/// The ClientHello a `tls` case describes.
fn greeting(text: &str) -> Vec<u8> {
    let (mut extensions, mut size) = (vec![extension(43, &[2, 3, 4])], 16_000);
    for word in text.split(' ') {
        match word.split_once('=').unwrap_or((word, "")) {
            ("sni", name) => extensions.push(server_name(&bytes(name, 0))),
            ("ech", _) => extensions.push(extension(0xfe0d, &[0, 0, 1, 0, 1, 7])),
            ("esni", _) => extensions.push(extension(0xffce, &[1, 2, 3])),
            ("records", count) => size = count.parse().unwrap(),
            ("none", _) => {}
            other => panic!("unknown word {other:?}"),
        }
    }
    hello(&extensions, size)
}
