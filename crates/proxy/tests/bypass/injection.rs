//! Credentials that a host gets and a guest does not. They are set on the way out, over whatever
//! the guest says, and for that host alone.

use std::net::SocketAddr;

use belljar_core::config::Injection;
use belljar_core::{Decision, NetworkVerdict, Secret};
use belljar_proxy::{CellEgress, Egress, EgressError, EgressOptions};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::{ALLOWED, Host, Script, connector, policy, read_answer, tls_host};

/// A proxy that gives `good.test` its key.
pub(crate) struct World {
    pub(crate) cell: CellEgress,
    address: SocketAddr,
    /// The root certificates the guest trusts.
    trust: RootCertStore,
}

pub(crate) fn injecting(port: u16, terminate_tls: bool, roots: RootCertStore) -> World {
    let mut policy = policy(&[port]);
    let [host, header, secret, prefix] = ["good.test", "Authorization", "KEY", "Bearer "].map(String::from);
    policy.inject = vec![Injection { host, ports: Vec::new(), header, secret, prefix, terminate_tls }];
    let mut options = EgressOptions::new(Script::new(vec![vec![ALLOWED]]));
    options.secrets = [("KEY".to_owned(), Secret::new("hunter2"))].into();
    options.roots = Some(roots);
    let egress = Egress::new(policy, options).unwrap();
    let mut trust = RootCertStore::empty();
    if let Some(pem) = egress.ca_pem() {
        trust.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    World { cell: egress.serve(listener).unwrap(), address, trust }
}

impl World {
    /// A tunnel to a host, as a guest opens it.
    async fn tunnel(&self, host: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream
            .write_all(format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200 "));
        stream
    }

    /// One request inside TLS that the proxy terminates.
    pub(crate) async fn ask(&self, port: u16, request: &str) -> String {
        let stream = self.tunnel(&format!("good.test:{port}")).await;
        let name = ServerName::try_from("good.test").unwrap();
        let mut stream = connector(self.trust.clone()).connect(name, stream).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        read_answer(&mut stream).await
    }
}

#[tokio::test]
async fn plain_requests_get_the_header_for_their_host_alone() {
    let host = Host::start().await;
    let port = host.port;
    let world = injecting(port, false, RootCertStore::empty());
    for name in ["good.test", "a.wild.test"] {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        let request = format!(
            "GET http://{name}:{port}/{name} HTTP/1.1\r\nHost: {name}:{port}\r\nAuthorization: forged\r\n\
             Connection: authorization\r\nX-Other: 1\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200 "));
    }
    let heard = host.heard();
    let (good, other) = heard.split_at(heard.find("GET /a.wild.test").unwrap());
    assert!(good.contains("authorization: Bearer hunter2\r\n") && !good.contains("forged"), "{good}");
    assert!(!other.contains("hunter2"), "{other}");
}

#[tokio::test]
async fn opened_tls_gets_the_header_and_answers_come_back() {
    let (host, roots) = tls_host().await;
    let world = injecting(host.port, true, roots);
    let port = host.port;
    let request = format!("GET /x HTTP/1.1\r\nHost: good.test:{port}\r\nAuthorization: forged\r\n\r\n");
    let answer = world.ask(port, &request).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{answer}");
    let heard = host.heard();
    assert!(
        heard.starts_with("GET /x HTTP/1.1\r\n") && heard.contains("authorization: Bearer hunter2\r\n"),
        "{heard}"
    );
    assert!(!heard.contains("forged"), "{heard}");
    let decisions = world.cell.take_decisions();
    assert_eq!(decisions.len(), 1);
    assert!(
        decisions[0].verdict == NetworkVerdict::Allowed && decisions[0].bytes_received > 0,
        "{decisions:?}"
    );
}

#[tokio::test]
async fn what_demands_tls_is_refused_in_clear_and_reaches_nobody() {
    let (host, roots) = tls_host().await;
    let plain = Host::start().await;
    for port in [host.port, plain.port] {
        let world = injecting(port, true, roots.clone());
        for request in [
            format!("GET http://good.test:{port}/ HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n"),
            format!("GET http://GOOD.test.:{port}/ HTTP/1.0\r\n\r\n"),
            format!("PURGE http://good.test:{port}/ HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n"),
        ] {
            let mut stream = TcpStream::connect(world.address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let answer = read_answer(&mut stream).await;
            assert!(
                answer.starts_with("HTTP/1.1 403 ") && answer.contains("by TLS only"),
                "{request:?} gave {answer:?}"
            );
        }
        // The same host by its address is another entry, and gets nothing.
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        let at = format!("127.0.0.77:{port}");
        let request = format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        read_answer(&mut stream).await;
    }
    assert!(!(host.heard() + &plain.heard()).contains("hunter2"), "{} {}", host.heard(), plain.heard());
    assert_eq!(plain.heard().matches("HTTP/1.1").count(), 1, "{}", plain.heard());
}

#[tokio::test]
async fn a_host_with_a_credential_is_asked_by_usual_methods_only() {
    let host = Host::start().await;
    let port = host.port;
    let world = injecting(port, false, RootCertStore::empty());
    for (method, name, told) in [
        ("PURGE", "good.test", "403"),
        ("DEBUG", "good.test", "403"),
        ("TRACE", "good.test", "403"),
        ("PURGE", "a.wild.test", "200"),
        ("DELETE", "good.test", "200"),
    ] {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        let at = format!("{name}:{port}");
        stream
            .write_all(format!("{method} http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {told} ")), "{method} {name}: {answer}");
    }
}

#[tokio::test]
async fn a_header_that_names_another_method_is_held_to_the_same_list() {
    let host = Host::start().await;
    let port = host.port;
    let world = injecting(port, false, RootCertStore::empty());
    for (field, name, told) in [
        ("X-HTTP-Method-Override: TRACE", "good.test", "403"),
        ("x_http_method: PURGE", "good.test", "403"),
        ("X-Method-Override: GET, TRACE", "good.test", "403"),
        ("X-HTTP-Method: GET\r\nX-HTTP-Method: TRACE", "good.test", "403"),
        ("X-Verb: TRACE", "good.test", "403"),
        ("X-HTTP-Method-Override: PATCH", "good.test", "200"),
        ("X-Verbose: yes", "good.test", "200"),
        ("X-HTTP-Method-Override: TRACE", "a.wild.test", "200"),
    ] {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        let at = format!("{name}:{port}");
        let request =
            format!("POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\nContent-Length: 0\r\n{field}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {told} ")), "{field} {name}: {answer}");
    }
}

#[tokio::test]
async fn a_tunnel_that_is_opened_counts_once_whether_anything_is_asked_in_it_or_not() {
    let (host, roots) = tls_host().await;
    let world = injecting(host.port, true, roots);
    let at = format!("good.test:{}", host.port);
    let counts = || world.cell.take_decisions().iter().map(|line| line.count).collect::<Vec<_>>();
    let by_connect = world.tunnel(&at).await;
    let mut by_socks = TcpStream::connect(world.address).await.unwrap();
    let asked = [&[5, 1, 0, 5, 1, 0, 3, 9][..], b"good.test", &host.port.to_be_bytes()].concat();
    by_socks.write_all(&asked).await.unwrap();
    by_socks.read_exact(&mut [0; 12]).await.unwrap();
    assert_eq!(counts(), [2], "granted, and nothing asked");
    // One of them continues in another step, where its request belongs to that step.
    let request = format!("GET / HTTP/1.1\r\nHost: {at}\r\n\r\n");
    let name = ServerName::try_from("good.test").unwrap();
    let mut inside = connector(world.trust.clone()).connect(name, by_connect).await.unwrap();
    for _ in 0..3 {
        inside.write_all(request.as_bytes()).await.unwrap();
        assert!(read_answer(&mut inside).await.ends_with("hello"));
    }
    drop(inside);
    assert_eq!(counts(), [3]);
    assert!(world.ask(host.port, &request).await.ends_with("hello"));
    assert_eq!(counts(), [1], "a tunnel and the request in it");
}

#[tokio::test]
async fn inside_opened_tls_only_the_tunnels_own_host_can_be_asked() {
    let (host, roots) = tls_host().await;
    let port = host.port;
    let world = injecting(port, true, roots);
    for (request, rule) in [
        (format!("GET / HTTP/1.1\r\nHost: evil.test:{port}\r\n\r\n"), "Host header differs"),
        ("GET / HTTP/1.1\r\nHost: good.test\r\n\r\n".to_owned(), "Host header differs"),
        (format!("GET http://evil.test/ HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n"), "must be for a path"),
        (
            format!("CONNECT evil.test:{port} HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n"),
            "must be for a path",
        ),
        (format!("TRACE / HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n"), "TRACE"),
        (format!("GET / HTTP/1.1\r\nHost: good.test:{port}\r\nUpgrade: websocket\r\n\r\n"), "upgrades"),
        (format!("GET / HTTP/1.1\nHost: good.test:{port}\n\n"), "line feed"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), "only HTTP/1.1"),
    ] {
        let answer = world.ask(port, &request).await;
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains(rule), "{request:?} gave {answer:?}");
    }
    assert_eq!(host.heard(), "");
    assert!(world.cell.take_decisions().iter().all(|d| matches!(d.verdict, NetworkVerdict::Denied { .. })));
}

#[tokio::test]
async fn a_host_that_is_not_who_it_says_gets_no_credential() {
    let (host, _roots) = tls_host().await;
    let world = injecting(host.port, true, RootCertStore::empty());
    let request = format!("GET / HTTP/1.1\r\nHost: good.test:{}\r\n\r\n", host.port);
    let answer = world.ask(host.port, &request).await;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("TLS with the host failed"), "{answer}");
    assert_eq!(host.heard(), "");
}

#[tokio::test]
async fn a_guest_that_does_not_trust_the_proxy_is_told_apart_from_a_denial() {
    let (host, roots) = tls_host().await;
    let world = injecting(host.port, true, roots.clone());
    let stream = world.tunnel(&format!("good.test:{}", host.port)).await;
    let name = ServerName::try_from("good.test").unwrap();
    assert!(connector(roots).connect(name, stream).await.is_err());
    // The proxy learns of it by the guest's alert, which may still be on its way. Until then the
    // tunnel counts as granted.
    let has_failed = async {
        let is_failure = |decision: &Decision| matches!(decision.verdict, NetworkVerdict::Failed { .. });
        while !world.cell.take_decisions().iter().any(is_failure) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), has_failed).await.expect("it is a failure");
    assert_eq!(host.heard(), "");
}

#[tokio::test]
async fn a_policy_whose_secret_is_missing_serves_nobody() {
    let mut policy = policy(&[80]);
    let [host, header, secret] = ["good.test", "X-Key", "KEY"].map(String::from);
    let prefix = String::new();
    policy.inject = vec![Injection { host, ports: Vec::new(), header, secret, prefix, terminate_tls: false }];
    let error = Egress::new(policy, EgressOptions::new(Script::default())).err();
    assert!(matches!(error, Some(EgressError::MissingSecret { .. })), "{error:?}");
}
