//! What is allowed passes. A proxy that refuses everything would be safe too.

use belljar_core::NetworkVerdict;
use belljar_proxy::Limits;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use crate::world::{ALLOWED, Host, Script, connector, policy, proxy, read_answer, tls_host};

async fn say_hello(connector: &TlsConnector, stream: TcpStream, name: &str) -> String {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut stream = connector.connect(name, stream).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    read_answer(&mut stream).await
}

#[tokio::test]
async fn tls_passes_by_connect_for_names_and_for_listed_addresses() {
    let (host, roots) = tls_host().await;
    let (port, connector) = (host.port, connector(roots));
    let (cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED]]), Limits::default());
    for (asked, name) in
        [("good.test", "good.test"), ("GOOD.test.", "good.test"), ("127.0.0.77", "127.0.0.77")]
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // HTTP/1.0 without a Host, as older clients send it.
        stream.write_all(format!("CONNECT {asked}:{port} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
        assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200 "), "{asked}");
        assert!(say_hello(&connector, stream, name).await.ends_with("hello"), "{asked}");
    }
    let decisions = cell.take_decisions();
    assert_eq!(
        decisions.iter().map(|line| line.count).collect::<Vec<_>>(),
        [2, 1],
        "by name, and by address"
    );
    for decision in decisions {
        assert_eq!(decision.verdict, NetworkVerdict::Allowed);
        assert!(decision.bytes_sent > 100 && decision.bytes_received > 100, "{decision:?}");
    }
}

#[tokio::test]
async fn tls_passes_by_socks_for_names_and_for_listed_addresses() {
    let (host, roots) = tls_host().await;
    let (port, connector) = (host.port, connector(roots));
    let (_cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED]]), Limits::default());
    let by_name = [&[3, 9][..], b"good.test"].concat();
    for (kind, name) in [(by_name, "good.test"), (vec![1, 127, 0, 0, 77], "127.0.0.77")] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = [&[5, 2, 0, 2, 5, 1, 0][..], &kind, &port.to_be_bytes()].concat();
        stream.write_all(&request).await.unwrap();
        let mut reply = [0; 12];
        stream.read_exact(&mut reply).await.unwrap();
        assert_eq!(reply[..4], [5, 0, 5, 0]);
        assert!(say_hello(&connector, stream, name).await.ends_with("hello"));
    }
}

#[tokio::test]
async fn plain_requests_pass_again_and_again_without_what_is_meant_for_the_proxy() {
    let host = Host::start().await;
    let port = host.port;
    let (cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED]]), Limits::default());
    let mut stream = TcpStream::connect(address).await.unwrap();
    for name in ["good.test", "a.wild.test", "127.0.0.77", "xn--bcher-kva.test"] {
        let request = format!(
            "GET http://{name}:{port}?q=1 HTTP/1.1\r\nHost: {name}:{port}\r\nProxy-Authorization: secret\r\n\
             Proxy-Connection: keep-alive\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-Kept: 1\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"), "{answer}");
        assert!(answer.contains("x-host: yes"), "{answer}");
    }
    let heard = host.heard().to_ascii_lowercase();
    assert_eq!(heard.matches("get /?q=1 http/1.1").count(), 4, "{heard}");
    assert_eq!(heard.matches("x-kept: 1").count(), 4, "{heard}");
    for gone in ["proxy-", "secret", "x-hop", "http://"] {
        assert!(!heard.contains(gone), "{gone} in {heard}");
    }
    assert_eq!(cell.take_decisions().len(), 4, "each request is a decision");
}

#[tokio::test]
async fn bodies_pass_whole_in_either_framing() {
    let host = Host::start().await;
    let port = host.port;
    let (_cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED]]), Limits::default());
    for (fields, body) in
        [("Content-Length: 5", "12345"), ("Transfer-Encoding: chunked", "5\r\n12345\r\n0\r\n\r\n")]
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let url = format!("good.test:{port}");
        let request =
            format!("POST http://{url}/ HTTP/1.1\r\nHost: {url}\r\nExpect: 100-continue\r\n{fields}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        assert_eq!(read_answer(&mut stream).await, "HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(body.as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let heard = host.heard();
    assert_eq!(heard.matches("12345").count(), 2, "{heard}");
    assert!(!heard.to_ascii_lowercase().contains("expect"), "{heard}");
}

#[tokio::test]
async fn a_host_listed_as_plain_may_be_talked_to_in_any_protocol() {
    let host = Host::start().await;
    let port = host.port;
    let (_cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED]]), Limits::default());
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("CONNECT plain.test:{port} HTTP/1.1\r\nHost: plain.test\r\n\r\n").as_bytes())
        .await
        .unwrap();
    assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200 "));
    stream.write_all(b"GET / HTTP/1.1\r\nHost: anything\r\n\r\n").await.unwrap();
    assert!(read_answer(&mut stream).await.ends_with("hello"));
}

/// A host that reads to the end and only then answers, with as much as it got.
async fn patient() -> u16 {
    let listener = TcpListener::bind((ALLOWED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut heard = Vec::new();
                stream.read_to_end(&mut heard).await.unwrap();
                heard.reverse();
                stream.write_all(&heard).await.unwrap();
            });
        }
    });
    port
}

#[tokio::test]
async fn one_side_may_be_done_while_the_other_goes_on() {
    let port = patient().await;
    let (cell, address) = proxy(policy(&[port]), Script::new(vec![vec![ALLOWED]]), Limits::default());
    // Short ones are copied, long ones spliced.
    for length in [0, 5, 4 << 20] {
        let message: Vec<u8> = (0..length).map(|at| (at ^ at >> 8) as u8).collect();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("CONNECT plain.test:{port} HTTP/1.1\r\nHost: plain.test\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200 "));
        stream.write_all(&message).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        answer.reverse();
        assert!(answer == message, "{} bytes of {length}, or not the same", answer.len());
        let decision = cell.take_decisions().pop().unwrap();
        assert_eq!((decision.bytes_sent, decision.bytes_received), (length as u64, length as u64));
    }
}
