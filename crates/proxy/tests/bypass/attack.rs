//! Runs the corpus against a real proxy.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use belljar_proxy::Limits;
use belljar_testing::bypass::{
    ALLOWED, Case, Host, Opening, Shape, cases, denial, policy_with_credentials, refusal, silence,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::{Script, proxy, read_answer};

/// Ports that are allowed besides the real one, so that a case can be about something other than
/// its port.
const PORTS: [u16; 2] = [80, 443];

#[tokio::test]
async fn every_attack_is_refused_by_the_rule_it_breaks_and_reaches_nobody() {
    let cases = cases();
    let mut failures = Vec::new();
    for case in &cases {
        // Long enough for any machine. It only ends a test that would hang.
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
    assert!(cases.len() >= 370, "only {} cases are left", cases.len());
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
    let policy = policy_with_credentials(&[PORTS[0], PORTS[1], host.port]);
    let (cell, address) = proxy(policy, resolver, Limits::default());
    let seen = attack(case, address, host.port).await;

    let checked = denial(case, &cell.take_decisions()).and_then(|()| silence(case, &host.take_heard()));
    checked.and_then(|()| refusal(case, &seen)).map_err(|why| format!("{why}; the guest saw {seen:?}"))
}

/// Sends what the case says. Returns what came back after the allowed part.
async fn attack(case: &Case, proxy: SocketAddr, port: u16) -> Vec<u8> {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    let shape = Shape::of(case, port, "good.test");
    match &shape.opening {
        None => {}
        Some(Opening::Http(opening)) => {
            send(&mut stream, opening).await;
            assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200 "), "{}", case.id);
        }
        Some(Opening::Socks(opening)) => {
            send(&mut stream, opening).await;
            let mut granted = [0; 12];
            stream.read_exact(&mut granted).await.unwrap();
            assert_eq!(granted[3], 0, "{}", case.id);
        }
    }
    send(&mut stream, &shape.message).await;
    let _ = stream.shutdown().await;
    let mut seen = Vec::new();
    let _ = stream.read_to_end(&mut seen).await;
    seen
}

/// A proxy that has already refused may close while a long message is still being written.
async fn send(stream: &mut TcpStream, message: &[u8]) {
    let _ = stream.write_all(message).await;
}
