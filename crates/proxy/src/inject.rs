//! Sets credentials on the way out, so that a guest can use what it cannot read.
//!
//! Plain HTTP gets its headers as it passes. HTTPS is terminated only for hosts whose entry asks
//! for it. The cell then talks TLS to the proxy, with a certificate from an authority that was made
//! for this template and exists nowhere else. The proxy talks TLS to the host. What is inside is
//! checked request by request, like plain HTTP.
//!
//! A credential gets into a request in one place, [`Injections::apply`]. The connection itself says
//! how it is protected, so a credential that demands TLS never leaves without it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use belljar_core::config::Injection;
use belljar_core::policy::{Target, covers, folded};
use belljar_core::{NetworkPolicy, Secret};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use crate::error::EgressError;
use crate::upstream::{CertificateAuthority, Protection};

/// Everything a policy injects, with the values filled in.
pub(crate) struct Injections {
    rules: Vec<Ready>,
    /// Present if a rule terminates TLS.
    pub(crate) authority: Option<Arc<CertificateAuthority>>,
}

struct Ready {
    entry: String,
    ports: Vec<u16>,
    header: HeaderName,
    value: HeaderValue,
    terminate_tls: bool,
}

impl Injections {
    /// Fills in the values. A missing secret is an error now, not a request without its credential
    /// later.
    pub(crate) fn new(
        policy: &NetworkPolicy,
        secrets: &BTreeMap<String, Secret>,
        roots: Option<rustls::RootCertStore>,
    ) -> Result<Self, EgressError> {
        let rules = policy.inject.iter().map(|injection| Ready::new(policy, injection, secrets));
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        let terminates = rules.iter().any(|rule| rule.terminate_tls);
        let authority = if terminates { Some(Arc::new(CertificateAuthority::new(roots)?)) } else { None };
        Ok(Self { rules, authority })
    }

    /// Sets the headers of a target, over whatever the guest has set, if the connection protects
    /// them well enough.
    pub(crate) fn apply(&self, target: &Target, protection: Protection, headers: &mut HeaderMap) {
        for rule in self.of(target) {
            remove_look_alikes(headers, &rule.header);
            if protection.is_verified_tls() || !rule.terminate_tls {
                headers.insert(rule.header.clone(), rule.value.clone());
            }
        }
    }

    /// Whether a target gets a credential.
    pub(crate) fn are_for(&self, target: &Target) -> bool {
        self.of(target).next().is_some()
    }

    /// The authority that terminates TLS to a target, if any. Then the target is reached over TLS
    /// only.
    pub(crate) fn authority_for(&self, target: &Target) -> Option<Arc<CertificateAuthority>> {
        self.authority.clone().filter(|_| self.of(target).any(|rule| rule.terminate_tls))
    }

    fn of<'a>(&'a self, target: &'a Target) -> impl Iterator<Item = &'a Ready> {
        let is_for = |rule: &&Ready| covers(&rule.entry, &target.host) && rule.ports.contains(&target.port);
        self.rules.iter().filter(is_for)
    }
}

/// Removes every header that some server could take for this one.
fn remove_look_alikes(headers: &mut HeaderMap, name: &HeaderName) {
    let name = folded(name.as_str());
    let alike: Vec<_> = headers.keys().filter(|other| folded(other.as_str()) == name).cloned().collect();
    for other in alike {
        headers.remove(other);
    }
}

impl Ready {
    fn new(
        policy: &NetworkPolicy,
        injection: &Injection,
        secrets: &BTreeMap<String, Secret>,
    ) -> Result<Self, EgressError> {
        let Injection { host, header, secret: name, prefix, terminate_tls, .. } = injection;
        let secret = secrets.get(name).ok_or_else(|| EgressError::MissingSecret { name: name.clone() })?;
        let unusable = || EgressError::UnusableSecret { name: name.clone() };
        let mut value =
            HeaderValue::try_from(format!("{prefix}{}", secret.expose())).map_err(|_| unusable())?;
        // Keeps the value out of hyper's own debug output.
        value.set_sensitive(true);
        let header = HeaderName::try_from(header.as_str()).map_err(|_| unusable())?;
        let ports = policy.ports_of_injection(injection).to_vec();
        Ok(Self { entry: host.clone(), ports, header, value, terminate_tls: *terminate_tls })
    }
}

impl fmt::Debug for Injections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|rule| (&rule.entry, &rule.header))).finish()
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::policy::decide;

    use super::*;

    fn policy(terminate_tls: bool) -> NetworkPolicy {
        let [host, header, secret, prefix] = ["*.a.com", "X-Key", "KEY", "k="].map(String::from);
        NetworkPolicy {
            allowed_hosts: vec!["*.a.com".into(), "x.a.com".into(), "b.com".into()],
            allowed_ports: [("*.a.com".into(), vec![443, 8443]), ("x.a.com".into(), vec![80])].into(),
            inject: vec![Injection { host, ports: vec![8443], header, secret, prefix, terminate_tls }],
            ..NetworkPolicy::default()
        }
    }

    fn secrets(value: &str) -> BTreeMap<String, Secret> {
        [("KEY".to_owned(), Secret::new(value))].into()
    }

    fn injections(terminate_tls: bool) -> Injections {
        let mut roots = rustls::RootCertStore::empty();
        let own = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
        roots.add(own.cert.der().clone()).unwrap();
        Injections::new(&policy(terminate_tls), &secrets("hunter2"), Some(roots)).unwrap()
    }

    /// What goes out of `X-Key` and its look-alikes when the guest has sent some of its own.
    fn sent(injections: &Injections, host: &str, port: u16, protection: Protection) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in [("x-key", "forged"), ("x-key", "twice"), ("x_key", "like"), ("x.key", "alike")]
        {
            headers.append(name, HeaderValue::from_static(value));
        }
        injections.apply(&decide(&policy(false), host, port).unwrap(), protection, &mut headers);
        headers.values().map(|value| value.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_header_goes_to_its_host_and_ports_alone_and_replaces_the_guests_own() {
        let injections = injections(false);
        assert_eq!(sent(&injections, "x.a.com", 8443, Protection::PLAIN), ["k=hunter2"]);
        let untouched = ["forged", "twice", "like", "alike"];
        assert_eq!(sent(&injections, "b.com", 443, Protection::PLAIN), untouched);
        assert_eq!(
            sent(&injections, "x.a.com", 443, Protection::PLAIN),
            untouched,
            "another port of its entry"
        );
        assert_eq!(sent(&injections, "x.a.com", 80, Protection::PLAIN), untouched, "a port of another entry");
        assert!(!format!("{injections:?}").contains("hunter2"));
    }

    #[test]
    fn what_demands_tls_goes_nowhere_else() {
        let injections = injections(true);
        assert_eq!(sent(&injections, "x.a.com", 8443, Protection::VERIFIED_TLS), ["k=hunter2"]);
        assert_eq!(sent(&injections, "x.a.com", 8443, Protection::PLAIN), [""; 0]);
        let target = |port| decide(&policy(true), "x.a.com", port).unwrap();
        assert!(
            injections.authority_for(&target(8443)).is_some()
                && injections.authority_for(&target(443)).is_none()
        );
        assert!(injections.are_for(&target(8443)) && !injections.are_for(&target(80)));
    }

    #[test]
    fn a_secret_that_is_missing_or_no_header_value_is_named_and_never_shown() {
        let missing = Injections::new(&policy(false), &BTreeMap::new(), None).unwrap_err();
        assert_eq!(missing.to_string(), "the secret KEY that is to be injected is missing");
        let broken = Injections::new(&policy(false), &secrets("hunter2\r\nX: y"), None).unwrap_err();
        assert!(!format!("{broken} {broken:?}").contains("hunter2"), "{broken:?}");
    }
}
