//! The TLS settings of a client.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::roots::{NoRoots, machine_roots};

/// The TLS settings of a client that trusts what this machine trusts. `scheme` is that of the
/// address it is for, in small letters.
///
/// A machine without root certificates is an error, except for `http`: what only speaks plain HTTP,
/// such as to a model on this machine, needs none. If such a client meets TLS all the same, as with
/// an HTTP proxy that wants it, it trusts nobody.
pub fn client_config(scheme: &str) -> Result<ClientConfig, NoRoots> {
    let roots = match (machine_roots(), scheme) {
        (Err(_), "http") => RootCertStore::empty(),
        (roots, _) => roots?,
    };
    Ok(client_config_trusting(roots))
}

/// The TLS settings of a client that trusts these root certificates and no others.
pub fn client_config_trusting(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has cipher suites for TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
