//! Credentials that a host gets and a guest never sees. The proxy adds them to requests.

use serde::{Deserialize, Serialize};

use super::{ConfigError, NetworkPolicy};
use crate::policy::{folded, is_for_the_proxy};

/// A header that the proxy sets on requests to a host. It holds the name of a secret, never its
/// value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Injection {
    /// An entry of `allowed_hosts`. Requests that another entry allows get nothing, even if they go
    /// to the same host.
    pub host: String,
    /// Ports of that entry whose requests get the header. If this is empty, all ports do.
    #[serde(default)]
    pub ports: Vec<u16>,
    /// The header, such as `Authorization`. If the guest sends it, it is replaced. So are headers
    /// that look like it (`X_Key` for `X-Key`).
    pub header: String,
    /// The name of the secret whose value the header gets.
    pub secret: String,
    /// Text before the secret, such as `Bearer `.
    #[serde(default)]
    pub prefix: String,
    /// Whether TLS must protect the secret. If true, the proxy opens HTTPS to this host with a
    /// certificate of its own and sets the header inside. It refuses plain HTTP to the host. If
    /// false, only plain HTTP gets the header.
    #[serde(default, alias = "terminate-tls")]
    pub terminate_tls: bool,
}

impl NetworkPolicy {
    /// The ports whose requests get an injection's header.
    pub fn ports_of_injection<'a>(&'a self, injection: &'a Injection) -> &'a [u16] {
        if injection.ports.is_empty() { self.ports_of(&injection.host) } else { &injection.ports }
    }
}

/// Refuses headers that no request may get, hosts that are not allowed anyway, and credentials that
/// would never be sent.
pub(super) fn validate(policy: &NetworkPolicy) -> Result<(), ConfigError> {
    for (index, injection) in policy.inject.iter().enumerate() {
        let Injection { host, ports, header, secret, prefix, terminate_tls } = injection;
        let invalid = |field: &str, value: &dyn std::fmt::Debug, rule: &str| {
            Err(ConfigError::invalid(format!("inject[{index}].{field}"), value, rule))
        };
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let same_host = |other: &String| other.eq_ignore_ascii_case(host);
        if !policy.allowed_hosts.iter().any(same_host) {
            return invalid("host", host, "must be in allowed_hosts too");
        }
        if ports.iter().any(|port| !policy.ports_of(host).contains(port)) {
            return invalid("ports", ports, "must be ports that the host has in allowed_ports");
        }
        if header.is_empty() || !header.bytes().all(is_token) {
            return invalid("header", header, "must be the name of a header");
        }
        if is_for_the_proxy(&folded(header)) {
            return invalid("header", header, "must not be a header that frames or routes a request");
        }
        if secret.is_empty() {
            return invalid("secret", secret, "must name a secret");
        }
        if !prefix.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return invalid("prefix", prefix, "must be printable ASCII");
        }
        let own_ports = policy.ports_of_injection(injection);
        let is_plain = policy.plain_hosts.iter().any(same_host);
        if !terminate_tls && !is_plain && own_ports.iter().all(|port| *port == 443) {
            let rule = "must be true here: without it only plain HTTP gets the header, and there is none on port 443";
            return invalid("terminate_tls", terminate_tls, rule);
        }
        let clashes = policy.inject[..index].iter().any(|earlier| {
            same_host(&earlier.host)
                && folded(&earlier.header) == folded(header)
                && policy.ports_of_injection(earlier).iter().any(|port| own_ports.contains(port))
        });
        if clashes {
            return invalid("header", header, "must be set once for each host and port");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(injections: &[(&str, &str, &str, &str)]) -> NetworkPolicy {
        let injection = |(host, header, secret, prefix): &(&str, &str, &str, &str)| Injection {
            host: host.to_string(),
            ports: Vec::new(),
            header: header.to_string(),
            secret: secret.to_string(),
            prefix: prefix.to_string(),
            terminate_tls: true,
        };
        NetworkPolicy {
            allowed_hosts: vec!["a.com".into(), "*.b.com".into()],
            allowed_ports: [("a.com".into(), vec![80, 443])].into(),
            inject: injections.iter().map(injection).collect(),
            ..NetworkPolicy::default()
        }
    }

    fn complaint(policy: &NetworkPolicy) -> String {
        policy.validate().unwrap_err().to_string()
    }

    #[test]
    fn a_header_is_injected_for_allowed_hosts_once() {
        let good =
            policy(&[("A.com", "Authorization", "KEY", "Bearer "), ("*.b.com", "authorization", "KEY", "")]);
        assert_eq!(good.validate(), Ok(()));
        let table = [
            (
                ("c.com", "X-Key", "KEY", ""),
                r#"inject[1].host = "c.com" is invalid: must be in allowed_hosts"#,
            ),
            (("a.com", "X Key", "KEY", ""), r#"inject[1].header = "X Key" is invalid: must be the name"#),
            (("a.com", "", "KEY", ""), r#"inject[1].header = "" is invalid: must be the name"#),
            (
                ("a.com", "Host", "KEY", ""),
                r#"inject[1].header = "Host" is invalid: must not be a header that"#,
            ),
            (
                ("a.com", "Content_Length", "KEY", ""),
                r#"inject[1].header = "Content_Length" is invalid: must not"#,
            ),
            (("a.com", "Proxy-X", "KEY", ""), r#"inject[1].header = "Proxy-X" is invalid: must not be"#),
            (("a.com", "X-Key", "", ""), r#"inject[1].secret = "" is invalid: must name a secret"#),
            (
                ("a.com", "X-Key", "KEY", "a\r\n"),
                r#"inject[1].prefix = "a\r\n" is invalid: must be printable"#,
            ),
            (("A.COM", "x-first", "KEY", ""), r#"inject[1].header = "x-first" is invalid: must be set once"#),
            (("a.com", "x_first", "KEY", ""), r#"inject[1].header = "x_first" is invalid: must be set once"#),
        ];
        for (injection, expected) in table {
            let text = complaint(&policy(&[("a.com", "X-First", "KEY", ""), injection]));
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn ports_are_those_of_the_entry_and_the_same_header_may_differ_by_them() {
        let mut two = policy(&[("a.com", "X-Key", "ONE", ""), ("a.com", "X-Key", "TWO", "")]);
        two.inject[0].ports = vec![80];
        two.inject[1].ports = vec![443];
        assert_eq!(two.validate(), Ok(()));
        assert_eq!(two.ports_of_injection(&two.inject[0]), [80]);
        two.inject[1].ports = Vec::new();
        assert!(complaint(&two).starts_with("inject[1].header"), "{}", complaint(&two));
        two.inject[1].ports = vec![8443];
        assert!(complaint(&two).starts_with("inject[1].ports = [8443] is invalid: must be ports that"));
    }

    #[test]
    fn a_credential_that_would_never_be_sent_is_refused() {
        let mut policy = policy(&[("*.b.com", "X-Key", "KEY", "")]);
        policy.inject[0].terminate_tls = false;
        let text = complaint(&policy);
        assert!(text.starts_with("inject[0].terminate_tls = false is invalid: must be true here"), "{text}");
        policy.plain_hosts = vec!["*.b.com".into()];
        assert_eq!(policy.validate(), Ok(()));
        policy.plain_hosts.clear();
        policy.inject[0].host = "a.com".into();
        assert_eq!(policy.validate(), Ok(()), "it has port 80 too");
    }
}
