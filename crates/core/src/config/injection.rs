//! Credentials that a host gets and a guest never sees: the proxy adds them on the way out.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{ConfigError, NetworkPolicy};

/// A header that the proxy sets on every request to a host. It holds the name of a secret, never its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Injection {
    /// An entry of `allowed_hosts`.
    pub host: String,
    /// The header, such as `Authorization`; one the guest sends is replaced.
    pub header: String,
    /// The name of the secret that is its value.
    pub secret: String,
    /// What stands before the secret, such as `Bearer `.
    #[serde(default)]
    pub prefix: String,
    /// Whether HTTPS to this host is opened by the proxy, with a certificate of its own, to set the header there too.
    /// Without it only plain HTTP gets the header.
    #[serde(default, alias = "terminate-tls")]
    pub terminate_tls: bool,
}

/// Headers by which a message is framed or routed. Setting them would undo what the proxy checks.
const NOT_INJECTED: [&str; 9] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "keep-alive",
];

/// Refuses headers that no request may get, and hosts that are not allowed in the first place.
pub(super) fn validate(policy: &NetworkPolicy) -> Result<(), ConfigError> {
    let mut seen = BTreeSet::new();
    for (index, injection) in policy.inject.iter().enumerate() {
        let Injection { host, header, secret, prefix, .. } = injection;
        let invalid = |field: &str, value: &str, rule: &str| {
            Err(ConfigError::invalid(format!("inject[{index}].{field}"), value, rule))
        };
        let name = header.to_ascii_lowercase();
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if !policy.allowed_hosts.iter().any(|entry| entry.eq_ignore_ascii_case(host)) {
            return invalid("host", host, "must be in allowed_hosts too");
        }
        if name.is_empty() || !name.bytes().all(is_token) {
            return invalid("header", header, "must be the name of a header");
        }
        if NOT_INJECTED.contains(&name.as_str()) || name.starts_with("proxy-") {
            return invalid("header", header, "must not be a header that frames or routes a request");
        }
        if secret.is_empty() {
            return invalid("secret", secret, "must name a secret");
        }
        if !prefix.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return invalid("prefix", prefix, "must be printable ASCII");
        }
        if !seen.insert((host.to_ascii_lowercase(), name)) {
            return invalid("header", header, "must be set once for each host");
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
            header: header.to_string(),
            secret: secret.to_string(),
            prefix: prefix.to_string(),
            terminate_tls: false,
        };
        NetworkPolicy {
            allowed_hosts: vec!["a.com".into(), "*.b.com".into()],
            inject: injections.iter().map(injection).collect(),
            ..NetworkPolicy::default()
        }
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
            (("a.com", "Proxy-X", "KEY", ""), r#"inject[1].header = "Proxy-X" is invalid: must not be"#),
            (("a.com", "X-Key", "", ""), r#"inject[1].secret = "" is invalid: must name a secret"#),
            (
                ("a.com", "X-Key", "KEY", "a\r\n"),
                r#"inject[1].prefix = "a\r\n" is invalid: must be printable"#,
            ),
            (("A.COM", "x-first", "KEY", ""), r#"inject[1].header = "x-first" is invalid: must be set once"#),
        ];
        for (injection, expected) in table {
            let text =
                policy(&[("a.com", "X-First", "KEY", ""), injection]).validate().unwrap_err().to_string();
            assert!(text.starts_with(expected), "{text}");
        }
    }
}
