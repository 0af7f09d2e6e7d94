//! A host that counts what reaches it, and the policy that allows it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use belljar_core::NetworkPolicy;
use belljar_core::config::Injection;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The address of the allowed hosts: a loopback address of its own, so that no other spelling of
/// loopback is allowed with it.
pub const ALLOWED: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77));

/// All bytes that reached a host.
pub type Heard = Arc<Mutex<Vec<u8>>>;

/// A host that counts. It answers HTTP requests one by one, and answers nothing else.
pub struct Host {
    /// Its port on [`ALLOWED`].
    pub port: u16,
    /// All bytes that reached it.
    pub heard: Heard,
}

impl Host {
    /// A host for plain HTTP. `/redirect` leads to a host that is not allowed.
    pub async fn start() -> Self {
        Self::start_with(answer).await
    }

    /// A host that answers each connection with `answer`, which is told the port and where to keep
    /// what it hears.
    pub async fn start_with<F>(answer: impl Fn(TcpStream, u16, Heard) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(SocketAddr::new(ALLOWED, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Heard::default();
        let all = heard.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, port, all.clone()));
            }
        });
        Self { port, heard }
    }

    /// Everything that reached it, as text.
    pub fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap()).into_owned()
    }

    /// The same, and forgets it.
    pub fn take_heard(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut *self.heard.lock().unwrap())).into_owned()
    }
}

/// Answers requests one by one.
pub async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, port: u16, all: Heard) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        all.lock().unwrap().extend_from_slice(&buffer[..count]);
        request.extend_from_slice(&buffer[..count]);
        if is_whole(&request) {
            let reply = match request.starts_with(b"GET /redirect") {
                true => format!(
                    "HTTP/1.1 302 Found\r\nLocation: http://evil.test:{port}/\r\nContent-Length: 0\r\n\r\n"
                ),
                false => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Host: yes\r\n\r\nhello".to_owned(),
            };
            request.clear();
            if stream.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

/// Whether a request is complete, with its body.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    match head.split("content-length: ").nth(1) {
        Some(rest) => body.len() >= rest.lines().next().unwrap().parse().unwrap(),
        None => !head.contains("transfer-encoding: chunked") || body.ends_with("0\r\n\r\n"),
    }
}

/// A policy that allows the hosts of this world on some ports.
pub fn policy(ports: &[u16]) -> NetworkPolicy {
    let hosts = ["good.test", "*.wild.test", "127.0.0.77", "xn--bcher-kva.test", "plain.test"];
    NetworkPolicy {
        allowed_hosts: hosts.map(String::from).to_vec(),
        allowed_ports: hosts.map(|host| (host.to_owned(), ports.to_vec())).into(),
        plain_hosts: vec!["plain.test".into()],
        ..NetworkPolicy::default()
    }
}

/// The same with two more hosts that get a credential: `vault.test` over TLS only, `keyed.test` in
/// clear text. The secret is `KEY`.
pub fn policy_with_credentials(ports: &[u16]) -> NetworkPolicy {
    let mut policy = policy(ports);
    for (name, terminate_tls) in [("vault.test", true), ("keyed.test", false)] {
        policy.allowed_hosts.push(name.to_owned());
        policy.allowed_ports.insert(name.to_owned(), ports.to_vec());
        let [host, header, secret, prefix] = [name, "X-Key", "KEY", ""].map(String::from);
        policy.inject.push(Injection { host, ports: Vec::new(), header, secret, prefix, terminate_tls });
    }
    policy
}
