//! Daemons behind a network: plain TCP, and TLS with certificates on both sides.
//!
//! What is remote here is a forwarder to the daemon's own socket; everything before it is as on any
//! network.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::world::{answer, config, runtime, sandbox};

/// Tells a child of these tests that it is one.
const CLIENT: &str = "BELLJAR_TEST_REMOTE_CLIENT";

/// Not a test by itself: a program whose environment names a remote daemon.
#[tokio::test]
async fn as_the_client_of_another_test() {
    if std::env::var(CLIENT).is_err() {
        return;
    }
    let runtime = runtime().expect("the environment names a daemon");
    let sandbox = sandbox(&runtime, config("remote")).await;
    assert_eq!(answer(&sandbox, "print('x' * 100_000)\nemit_result(7)").await, 7);
    drop(sandbox);
    runtime.shutdown().await;
    println!("served");
}

/// What such a program says.
async fn client(port: u16, certificates: Option<&Path>) -> String {
    let mut client = Command::new(std::env::current_exe().unwrap());
    client
        .args(["--exact", "remote::as_the_client_of_another_test", "--nocapture"])
        .env(CLIENT, "1")
        .env("BELLJAR_TEST_REQUIRE", "docker")
        .env("DOCKER_HOST", format!("tcp://localhost:{port}"))
        .env_remove("DOCKER_TLS_VERIFY");
    if let Some(directory) = certificates {
        client.env("DOCKER_TLS_VERIFY", "1").env("DOCKER_CERT_PATH", directory);
    }
    let output = tokio::task::spawn_blocking(move || client.output().unwrap()).await.unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Forwards to the daemon, through TLS if there is any; the port.
async fn forwarder(tls: Option<TlsAcceptor>) -> u16 {
    let listener = TcpListener::bind("localhost:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let tls = tls.clone();
            tokio::spawn(async move {
                let mut daemon = UnixStream::connect("/var/run/docker.sock").await.unwrap();
                let _ = match tls {
                    None => copy_bidirectional(&mut stream, &mut daemon).await.map(drop),
                    Some(tls) => match tls.accept(stream).await {
                        Ok(mut stream) => copy_bidirectional(&mut stream, &mut daemon).await.map(drop),
                        Err(error) => Err(error),
                    },
                };
            });
        }
    });
    port
}

fn local_daemon() -> bool {
    let there = Path::new("/var/run/docker.sock").exists() && std::env::var("DOCKER_HOST").is_err();
    if !there {
        println!("remote: skipped (the daemon is not at its usual socket)");
    }
    there && runtime().is_some()
}

#[tokio::test]
async fn a_daemon_over_tcp_serves_as_a_local_one_does() {
    if !local_daemon() {
        return;
    }
    let said = client(forwarder(None).await, None).await;
    assert!(said.contains("served"), "{said}");
}

#[tokio::test]
async fn a_daemon_over_tls_serves_whom_it_knows_and_is_believed_only_with_its_certificate() {
    if !local_daemon() {
        return;
    }
    let authority = authority();
    let server = signed(&authority);
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let tls = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = server.1.serialize_der().try_into().unwrap();
    let tls =
        tls.with_client_cert_verifier(verifier).with_single_cert(vec![server.0.der().clone()], key).unwrap();
    let port = forwarder(Some(TlsAcceptor::from(Arc::new(tls)))).await;

    let good = tempfile::tempdir().unwrap();
    let ours = signed(&authority);
    std::fs::write(good.path().join("ca.pem"), authority.pem()).unwrap();
    std::fs::write(good.path().join("cert.pem"), ours.0.pem()).unwrap();
    std::fs::write(good.path().join("key.pem"), ours.1.serialize_pem()).unwrap();
    let said = client(port, Some(good.path())).await;
    assert!(said.contains("served"), "{said}");

    // Another authority is not believed, and without a certificate of our own we are not.
    let bad = tempfile::tempdir().unwrap();
    std::fs::write(bad.path().join("ca.pem"), self::authority().pem()).unwrap();
    let said = client(port, Some(bad.path())).await;
    assert!(said.contains("invalid peer certificate") && said.contains("DOCKER_CERT_PATH"), "{said}");
    std::fs::write(bad.path().join("ca.pem"), authority.pem()).unwrap();
    let said = client(port, Some(bad.path())).await;
    assert!(said.contains("must have cert.pem and key.pem too"), "{said}");
    // Speaking plainly to it gets a hint.
    let said = client(port, None).await;
    assert!(said.contains("DOCKER_TLS_VERIFY=1"), "{said}");
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn signed(authority: &CertifiedIssuer<'_, KeyPair>) -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    (params.signed_by(&key, authority).unwrap(), key)
}
