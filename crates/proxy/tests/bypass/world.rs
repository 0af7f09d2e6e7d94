//! The world of a test: a resolver that answers everything, hosts that count what reaches them, and
//! a proxy in between.
//!
//! The resolver gives the address of the *allowed* host for every name, and that address is listed.
//! So whatever slips past the decision really arrives, and is seen.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use belljar_core::{NetworkPolicy, Secret};
use belljar_proxy::{CellEgress, Egress, EgressOptions, Limits, Resolve, ResolveError, Resolving};
use rustls::RootCertStore;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use belljar_testing::bypass::answer;
pub(crate) use belljar_testing::bypass::{ALLOWED, Host, policy};

/// Answers from a script: the n-th call gets the n-th answer, and later calls get the last one.
#[derive(Clone, Default)]
pub(crate) struct Script {
    answers: Arc<Mutex<Vec<Vec<IpAddr>>>>,
    calls: Arc<AtomicUsize>,
}

impl Script {
    pub(crate) fn new(answers: Vec<Vec<IpAddr>>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers)), calls: Arc::default() }
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Resolve for Script {
    fn resolve<'a>(&'a self, _name: &'a str) -> Resolving<'a> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let answers = self.answers.lock().unwrap();
        let answer = answers.get(call).or(answers.last()).cloned().ok_or(ResolveError::NotFound);
        Box::pin(async move { answer })
    }
}

/// A host behind TLS, with a certificate for `good.test` and its address. Also returns the
/// roots that trust it.
pub(crate) async fn tls_host() -> (Host, RootCertStore) {
    let made = rcgen::generate_simple_self_signed(vec!["good.test".into(), ALLOWED.to_string()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let config = rustls::ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let host = Host::start_with(move |stream, port, heard| {
        let acceptor = acceptor.clone();
        async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                answer(stream, port, heard).await;
            }
        }
    })
    .await;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    (host, roots)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// A TLS client that trusts these roots.
pub(crate) fn connector(roots: RootCertStore) -> TlsConnector {
    let config = rustls::ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// A proxy on loopback, and where it listens.
pub(crate) fn proxy(
    policy: NetworkPolicy,
    resolver: impl Resolve + 'static,
    limits: Limits,
) -> (CellEgress, SocketAddr) {
    let mut options = EgressOptions::new(resolver);
    options.limits = limits;
    options.secrets = [("KEY".to_owned(), Secret::new("hunter2"))].into();
    // Nobody is trusted.
    options.roots = Some(RootCertStore::empty());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (Egress::new(policy, options).unwrap().serve(listener).unwrap(), address)
}

/// Reads until an HTTP head is there, and the body its length announces.
pub(crate) async fn read_answer(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut answer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length =
                lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        if stream.read_buf(&mut answer).await.unwrap_or(0) == 0 {
            return String::from_utf8_lossy(&answer).into_owned();
        }
    }
}
