//! Credentials set on the way out, so that a guest can use what it cannot read.
//!
//! Plain HTTP gets its headers as it passes. HTTPS is opened only for hosts whose entry asks for it: the cell then talks
//! TLS to us, with a certificate of an authority that was made for this template and exists nowhere else, and we talk TLS
//! to the host. What is inside is checked request by request, like plain HTTP.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use belljar_core::config::Injection;
use belljar_core::policy::{Target, covers};
use belljar_core::{NetworkPolicy, Secret};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use crate::certify::Authority;
use crate::error::EgressError;

/// Everything a policy injects, with the values in place.
pub(crate) struct Injections {
    rules: Vec<Ready>,
    /// There when a rule opens TLS.
    pub(crate) authority: Option<Arc<Authority>>,
}

struct Ready {
    entry: String,
    header: HeaderName,
    value: HeaderValue,
    terminate_tls: bool,
}

impl Injections {
    /// Puts the values in. A secret that is missing is an error now, not a request without its credential later.
    pub(crate) fn new(
        policy: &NetworkPolicy,
        secrets: &BTreeMap<String, Secret>,
        roots: Option<rustls::RootCertStore>,
    ) -> Result<Self, EgressError> {
        let rules = policy.inject.iter().map(|injection| Ready::new(injection, secrets));
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        let opens = rules.iter().any(|rule| rule.terminate_tls);
        let authority = if opens { Some(Arc::new(Authority::new(roots)?)) } else { None };
        Ok(Self { rules, authority })
    }

    /// Sets the headers of a target, over whatever the guest has set.
    pub(crate) fn apply(&self, target: &Target, headers: &mut HeaderMap) {
        for rule in self.rules.iter().filter(|rule| covers(&rule.entry, &target.host)) {
            headers.insert(rule.header.clone(), rule.value.clone());
        }
    }

    /// Who opens TLS to a target, if anybody does.
    pub(crate) fn opens(&self, target: &Target) -> Option<Arc<Authority>> {
        let asked = |rule: &Ready| rule.terminate_tls && covers(&rule.entry, &target.host);
        self.authority.clone().filter(|_| self.rules.iter().any(asked))
    }
}

impl Ready {
    fn new(injection: &Injection, secrets: &BTreeMap<String, Secret>) -> Result<Self, EgressError> {
        let Injection { host, header, secret: name, prefix, terminate_tls } = injection;
        let secret = secrets.get(name).ok_or_else(|| EgressError::MissingSecret { name: name.clone() })?;
        let unusable = || EgressError::UnusableSecret { name: name.clone() };
        let mut value =
            HeaderValue::try_from(format!("{prefix}{}", secret.expose())).map_err(|_| unusable())?;
        // Keeps it out of hyper's own debug output.
        value.set_sensitive(true);
        let header = HeaderName::try_from(header.as_str()).map_err(|_| unusable())?;
        Ok(Self { entry: host.clone(), header, value, terminate_tls: *terminate_tls })
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

    fn policy() -> NetworkPolicy {
        let [host, header, secret, prefix] = ["*.a.com", "X-Key", "KEY", "k="].map(String::from);
        NetworkPolicy {
            allowed_hosts: vec!["*.a.com".into(), "b.com".into()],
            inject: vec![Injection { host, header, secret, prefix, terminate_tls: false }],
            ..NetworkPolicy::default()
        }
    }

    fn secrets(value: &str) -> BTreeMap<String, Secret> {
        [("KEY".to_owned(), Secret::new(value))].into()
    }

    #[test]
    fn a_header_goes_to_its_host_alone_and_replaces_the_guests_own() {
        let injections = Injections::new(&policy(), &secrets("hunter2"), None).unwrap();
        let headers_for = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.append("x-key", HeaderValue::from_static("forged"));
            headers.append("x-key", HeaderValue::from_static("twice"));
            injections.apply(&decide(&policy(), host, 443).unwrap(), &mut headers);
            headers
                .get_all("x-key")
                .iter()
                .map(|value| value.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(headers_for("x.a.com"), ["k=hunter2"]);
        assert_eq!(headers_for("b.com"), ["forged", "twice"]);
        assert!(!format!("{injections:?}").contains("hunter2"));
    }

    #[test]
    fn a_secret_that_is_missing_or_no_header_value_is_named_and_never_shown() {
        let missing = Injections::new(&policy(), &BTreeMap::new(), None).unwrap_err();
        assert_eq!(missing.to_string(), "the secret KEY that is to be injected is missing");
        let broken = Injections::new(&policy(), &secrets("hunter2\r\nX: y"), None).unwrap_err();
        assert!(!format!("{broken} {broken:?}").contains("hunter2"), "{broken:?}");
    }
}
