//! Hosts on loopback, a resolver that knows them, and sandboxes that may talk to some of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use belljar_core::Secret;
use belljar_core::config::Injection;
use belljar_engine::docker::Docker;
use belljar_engine::egress::{Resolve, ResolveError, Resolving, Roots};
use belljar_engine::native::Native;
use belljar_runtime::{
    ExecutionResult, FileResource, NetworkPolicy, Runtime, RuntimeBuilder, Sandbox, SandboxConfig,
};
use belljar_testing::bypass::Odd;
use belljar_testing::{HANG, build_with, config};
use rcgen::{CertifiedKey, KeyPair};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// Where all hosts of this world live. Loopback is refused unless it is listed, so every policy
/// here lists it.
pub(crate) const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 88));

/// Names that tests use here.
const KNOWN: [&str; 3] = ["api.test", "other.test", "evil.test"];

/// A credential that no guest may see.
pub(crate) const SECRET: &str = "hunter2-hunter2";

/// Every name leads there.
struct Everywhere;

impl Resolve for Everywhere {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        let answer = if name.ends_with(".test") { Ok(vec![HOME]) } else { Err(ResolveError::NotFound) };
        Box::pin(async move { answer })
    }
}

pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) http: u16,
    pub(crate) https: u16,
    /// A host that misbehaves, by the same names.
    pub(crate) odd: Odd,
    certificates: tempfile::TempDir,
    keys: Keys,
}

/// The values of `X-Key` that reached a host.
type Keys = Arc<Mutex<Vec<String>>>;

impl World {
    /// `None` where cells cannot be made. The proxy believes the hosts of this world.
    pub(crate) async fn new() -> Option<Self> {
        let made = certificate();
        let roots = made.cert.pem();
        Self::believing(roots, made).await
    }

    /// The same with a proxy that has never heard of them.
    pub(crate) async fn of_strangers() -> Option<Self> {
        Self::believing(certificate().cert.pem(), certificate()).await
    }

    /// The same where a sandbox has as many cells as its stock: a container is then used again and
    /// again.
    pub(crate) async fn without_overflow() -> Option<Self> {
        let made = certificate();
        let roots = made.cert.pem();
        Self::build(Runtime::builder().max_overflow(0), roots, made).await
    }

    async fn believing(roots: String, made: CertifiedKey<KeyPair>) -> Option<Self> {
        Self::build(Runtime::builder(), roots, made).await
    }

    async fn build(builder: RuntimeBuilder, roots: String, made: CertifiedKey<KeyPair>) -> Option<Self> {
        let secrets = BTreeMap::from([("KEY".to_owned(), Secret::new(SECRET))]);
        let native = Native::new().resolver(Everywhere).roots(Roots::from_pem(&roots).unwrap());
        // A proxy in a container is told in other words: it has no resolver of ours, and reaches
        // this world on the host's network.
        let docker = Docker::new()
            .egress_network("host")
            .known_hosts(KNOWN.map(|name| (name.to_owned(), HOME)))
            .roots_pem(roots);
        let runtime = build_with(builder.secrets(secrets), native, docker)?;
        let certificates = tempfile::tempdir().unwrap();
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(certificates.path(), readable).unwrap();
        std::fs::write(certificates.path().join("ca.pem"), made.cert.pem()).unwrap();
        let key = made.signing_key.serialize_der().try_into().unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let tls =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let tls = tls.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let (plain, secure) = (listener().await, listener().await);
        let (http, https) = (plain.local_addr().unwrap().port(), secure.local_addr().unwrap().port());
        let keys = Keys::default();
        let (plain_keys, secure_keys) = (keys.clone(), keys.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = plain.accept().await {
                tokio::spawn(greet(stream, plain_keys.clone()));
            }
        });
        tokio::spawn(async move {
            while let Ok((stream, _)) = secure.accept().await {
                let (acceptor, keys) = (acceptor.clone(), secure_keys.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        greet(stream, keys).await;
                    }
                });
            }
        });
        Some(Self { runtime, http, https, odd: Odd::start(HOME).await, certificates, keys })
    }

    /// A sandbox that may talk to one host, on both ports.
    pub(crate) async fn sandbox(&self, host: &str) -> Sandbox {
        self.sandbox_injecting(host, Vec::new()).await
    }

    /// The same, and the proxy sets a header there, over plain HTTP.
    pub(crate) async fn sandbox_with_credential(&self, host: &str) -> Sandbox {
        self.sandbox_injecting(host, credential(host, false)).await
    }

    /// The same, and over HTTPS too.
    pub(crate) async fn sandbox_opening_tls(&self, host: &str) -> Sandbox {
        self.sandbox_injecting(host, credential(host, true)).await
    }

    /// What stood in `X-Key` in the requests that reached a host, in order; nothing where there was
    /// no such header.
    pub(crate) fn take_keys(&self) -> Vec<String> {
        std::mem::take(&mut self.keys.lock().unwrap())
    }

    /// A sandbox that may talk to one host, with packages; `None` where they cannot be installed.
    pub(crate) async fn sandbox_with_packages(&self, host: &str, packages: &[&str]) -> Option<Sandbox> {
        self.install(self.config(host, Vec::new()), packages).await
    }

    /// The same, and the proxy sets a header there, over HTTPS too.
    pub(crate) async fn sandbox_opening_tls_with_packages(
        &self,
        host: &str,
        packages: &[&str],
    ) -> Option<Sandbox> {
        self.install(self.config(host, credential(host, true)), packages).await
    }

    async fn install(&self, config: SandboxConfig, packages: &[&str]) -> Option<Sandbox> {
        let dependencies = packages.iter().map(|name| (*name).to_owned()).collect();
        let config = SandboxConfig { dependencies, ..config };
        match self.runtime.sandbox(config).await {
            Ok(sandbox) => Some(sandbox),
            Err(error) => {
                println!("packages: skipped ({})", error.to_string().lines().next().unwrap_or_default());
                None
            }
        }
    }

    async fn sandbox_injecting(&self, host: &str, inject: Vec<Injection>) -> Sandbox {
        self.runtime.sandbox(self.config(host, inject)).await.unwrap()
    }

    pub(crate) fn config(&self, host: &str, inject: Vec<Injection>) -> SandboxConfig {
        let ports = vec![self.http, self.https, self.odd.port, self.odd.silent];
        let hosts = [host.to_owned(), HOME.to_string()];
        let network_policy = NetworkPolicy {
            allowed_ports: hosts.iter().map(|host| (host.clone(), ports.clone())).collect::<BTreeMap<_, _>>(),
            allowed_hosts: hosts.into(),
            inject,
            ..NetworkPolicy::default()
        };
        let resources = vec![FileResource {
            host_path: self.certificates.path().to_owned(),
            container_path: "/data/certificates".into(),
            read_only: true,
            docker_host_path: None,
        }];
        SandboxConfig { name: host.replace('.', "-"), network_policy, resources, ..config() }
    }

    /// A script that knows the ports, and how to speak to the proxy in its own words.
    pub(crate) fn script(&self, script: &str) -> String {
        let ports = [self.http, self.https, self.odd.port, self.odd.silent];
        format!("HTTP, HTTPS, ODD, SILENT = {ports:?}\nCA = '/data/certificates/ca.pem'\n{DRIVER}\n{script}")
    }

    /// Runs such a script.
    pub(crate) async fn run(&self, sandbox: &Sandbox, script: &str) -> ExecutionResult {
        let script = self.script(script);
        tokio::time::timeout(HANG, sandbox.run(script)).await.expect("the run hangs").unwrap()
    }
}

/// What scripts here begin with: `proxy()` is a connection to it, `ask()` sends bytes on one and
/// reads to the end, `get()` asks for a path of an odd host, `tunnel()` is one that was granted,
/// `hello()` is a ClientHello that names a server.
const DRIVER: &str = r"
import socket, struct
def proxy(): return socket.create_connection(('127.0.0.1', 3128))
def read_all(s):
    seen = b''
    try:
        while piece := s.recv(65536): seen += piece
    except OSError: pass
    return seen
def ask(message):
    with proxy() as s:
        s.sendall(message)
        return read_all(s)
def request(path, host='api.test', port=None, more='Connection: close\r\n'):
    at = f'{host}:{port or ODD}'
    return f'GET http://{at}{path} HTTP/1.1\r\nHost: {at}\r\n{more}\r\n'.encode()
def get(path): return ask(request(path))
def tunnel(host='api.test', port=None):
    s, at, head = proxy(), f'{host}:{port or ODD}', b''
    s.sendall(f'CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n'.encode())
    while not head.endswith(b'\r\n\r\n'):
        byte = s.recv(1)
        if not byte: raise OSError(head)
        head += byte
    if not head.startswith(b'HTTP/1.1 200 '): raise OSError(head)
    return s
def hello(name=b'api.test', size=16000):
    entry = b'\0' + struct.pack('>H', len(name)) + name
    names = struct.pack('>HHH', 0, len(entry) + 2, len(entry)) + entry
    versions = b'\0\x2b\0\x03\x02\x03\x04'
    body = b'\x03\x03' + b'7' * 32 + b'\0\0\x02\x13\x01\x01\0' + struct.pack('>H', len(names + versions)) + names + versions
    message = b'\x01\0' + struct.pack('>H', len(body)) + body
    parts = [message[at:at + size] for at in range(0, len(message), size)]
    return b''.join(b'\x16\x03\x01' + struct.pack('>H', len(part)) + part for part in parts)
";

/// What the hosts of a world say who they are with.
fn certificate() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(["api.test".to_owned(), "other.test".to_owned()]).unwrap()
}

/// The secret in `X-Key`, for one host.
fn credential(host: &str, terminate_tls: bool) -> Vec<Injection> {
    let [header, secret, prefix] = ["X-Key", "KEY", "Token "].map(String::from);
    vec![Injection { host: host.to_owned(), ports: Vec::new(), header, secret, prefix, terminate_tls }]
}

async fn listener() -> TcpListener {
    TcpListener::bind(SocketAddr::new(HOME, 0)).await.unwrap()
}

/// A wheel of one empty module, as small as they come: a zip archive with nothing compressed.
pub(crate) const WHEEL: &[u8] = include_bytes!("tiny-1.0-py3-none-any.whl");

/// Answers requests: an index with one package, an echo of one header, a greeting for everything
/// else.
async fn greet(mut stream: impl AsyncRead + AsyncWrite + Unpin, keys: Keys) {
    let mut request = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut request).await {
        if request.ends_with(b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&request).into_owned();
            request.clear();
            keys.lock().unwrap().push(header(&head, "x-key").collect::<Vec<_>>().join(", "));
            let (kind, body) = answer(&head);
            let answer =
                format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len());
            if stream.write_all(&[answer.as_bytes(), &body].concat()).await.is_err() {
                return;
            }
        }
    }
}

fn header<'a>(head: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.filter(move |(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn answer(head: &str) -> (&'static str, Vec<u8>) {
    match head.split(' ').nth(1).unwrap_or_default() {
        "/all" => ("text/plain", head.to_ascii_lowercase().into()),
        "/echo" => ("text/plain", header(head, "x-key").next().unwrap_or_default().into()),
        "/simple/tiny/" => {
            ("text/html", b"<a href=\"/tiny-1.0-py3-none-any.whl\">tiny-1.0-py3-none-any.whl</a>".to_vec())
        }
        "/tiny-1.0-py3-none-any.whl" => ("application/octet-stream", WHEEL.to_vec()),
        _ => ("text/plain", b"hello".to_vec()),
    }
}
