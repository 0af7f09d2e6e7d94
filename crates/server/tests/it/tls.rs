//! TLS by the server itself.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use belljar_server::{Server, ServerOptions, TlsFiles};
use belljar_testing::{in_time, runtime};
use reqwest::Certificate;

/// Makes a certificate for this machine. Returns what a client must trust.
fn certify(directory: &Path) -> Certificate {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(directory.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(directory.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    Certificate::from_pem(made.cert.pem().as_bytes()).unwrap()
}

async fn is_trusted(url: &str, root: Certificate) -> bool {
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([root]).build().unwrap();
    in_time(client.get(url).send()).await.is_ok_and(|response| response.status() == 200)
}

#[tokio::test]
async fn a_certificate_is_shown_and_a_renewed_one_after_it_was_read_again() {
    let Some(runtime) = runtime() else { return };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let state = tempfile::tempdir().unwrap();
    let old = certify(state.path());
    let mut options = ServerOptions::new(state.path());
    options.address = "127.0.0.1:0".parse().unwrap();
    options.tls =
        Some(TlsFiles { certificate: state.path().join("cert.pem"), key: state.path().join("key.pem") });
    let server = Arc::new(Server::bind(runtime, options, None).await.unwrap());
    let url = format!("https://localhost:{}/healthz", server.address().port());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = server.clone();
    let serving = tokio::spawn(async move { serving.run(async { drop(stopped.await) }).await });
    assert!(is_trusted(&url, old.clone()).await);
    let new = certify(state.path());
    assert!(!is_trusted(&url, new.clone()).await, "it was not read yet");
    assert!(server.reload_tls().unwrap());
    assert!(is_trusted(&url, new.clone()).await && !is_trusted(&url, old).await);
    fs::write(state.path().join("key.pem"), "nothing").unwrap();
    assert!(server.reload_tls().is_err());
    assert!(is_trusted(&url, new).await, "the old one stays");
    drop(stop);
    in_time(serving).await.unwrap();
}
