//! Which hosts a sandbox may talk to.
//!
//! This file holds the list and the rules for writing it. [`policy`](crate::policy) decides whether
//! one connection is allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::{ConfigError, Injection, injection};
use crate::policy::{is_label, is_number};

/// Which hosts a sandbox may talk to. By default there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkPolicy {
    /// DNS names, `*.suffix` for every name below a suffix, or IP addresses. An address that is not
    /// listed is never reached by number. TLS to a listed address may name any server, or none,
    /// because only the address is known.
    #[serde(alias = "allowed-hosts")]
    pub allowed_hosts: Vec<String>,
    /// Ports of some of those hosts. The others have only [`default_port`](Self::default_port).
    #[serde(alias = "allowed-ports")]
    pub allowed_ports: BTreeMap<String, Vec<u16>>,
    /// The port of a host without a list of its own.
    #[serde(alias = "default-port")]
    pub default_port: u16,
    /// Entries of `allowed_hosts` whose tunnels may carry something other than TLS with that host's
    /// name (a database, SSH). They may also get plain HTTP on port 443. Only the address of such a
    /// tunnel's other end is known.
    #[serde(alias = "plain-hosts")]
    pub plain_hosts: Vec<String>,
    /// Credentials that some of those hosts get and the guest never sees.
    pub inject: Vec<Injection>,
}

impl Default for NetworkPolicy {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_ports: BTreeMap::new(),
            default_port: 443,
            plain_hosts: Vec::new(),
            inject: Vec::new(),
        }
    }
}

impl NetworkPolicy {
    /// Whether no host is allowed. Then the sandbox needs no egress at all.
    pub fn is_isolated(&self) -> bool {
        self.allowed_hosts.is_empty()
    }

    /// Whether the proxy adds this secret to requests. Then it must know the value.
    pub fn injects(&self, secret: &str) -> bool {
        self.inject.iter().any(|injection| injection.secret == secret)
    }

    /// The ports of one entry of `allowed_hosts`, spelled in any case. A host that is not an entry
    /// has none.
    pub fn ports_of(&self, host: &str) -> &[u16] {
        let same = |entry: &String| entry.eq_ignore_ascii_case(host);
        if !self.allowed_hosts.iter().any(same) {
            return &[];
        }
        match self.allowed_ports.iter().find(|(entry, _)| same(entry)) {
            Some((_, ports)) => ports,
            None => std::slice::from_ref(&self.default_port),
        }
    }

    /// The policy in one line for a proxy: `host:port,host:port`, in the order written, each pair
    /// once.
    pub fn allowlist_env(&self) -> String {
        let mut seen = BTreeSet::new();
        let mut pairs = Vec::new();
        for host in &self.allowed_hosts {
            for port in self.ports_of(host) {
                let pair = match host.parse::<Ipv6Addr>() {
                    Ok(address) => format!("[{address}]:{port}"),
                    Err(_) => format!("{}:{port}", host.to_ascii_lowercase()),
                };
                if seen.insert(pair.clone()) {
                    pairs.push(pair);
                }
            }
        }
        pairs.join(",")
    }

    /// Refuses entries that are not hosts, and ports without a host.
    pub fn validate(&self) -> Result<(), ConfigError> {
        for (index, host) in self.allowed_hosts.iter().enumerate() {
            check_host(host)
                .map_err(|rule| ConfigError::invalid(format!("allowed_hosts[{index}]"), host, rule))?;
        }
        let mut listed = BTreeSet::new();
        for (host, ports) in &self.allowed_ports {
            let invalid =
                |rule: &str| Err(ConfigError::invalid(format!("allowed_ports.{host:?}"), ports, rule));
            if !self.allowed_hosts.iter().any(|entry| entry.eq_ignore_ascii_case(host)) {
                return invalid("its host must be in allowed_hosts too");
            }
            if !listed.insert(host.to_ascii_lowercase()) {
                return invalid("its host must be listed once, and letter case makes no difference");
            }
            if ports.is_empty() {
                return invalid("must name a port; leave the host out to give it default_port");
            }
            if ports.contains(&0) {
                return invalid("must not hold port 0, which nothing listens on");
            }
        }
        for (index, host) in self.plain_hosts.iter().enumerate() {
            if !self.allowed_hosts.iter().any(|entry| entry.eq_ignore_ascii_case(host)) {
                let rule = "must be in allowed_hosts too";
                return Err(ConfigError::invalid(format!("plain_hosts[{index}]"), host, rule));
            }
        }
        injection::validate(self)?;
        ConfigError::unless_in(1..=u16::MAX, "default_port", self.default_port, "nothing listens on port 0")
    }
}

/// Returns the rule that a host entry breaks. The most helpful rule is checked first.
fn check_host(host: &str) -> Result<(), &'static str> {
    if host.parse::<IpAddr>().is_ok() {
        return Ok(());
    }
    let name = host.strip_prefix("*.").unwrap_or(host);
    if name.is_empty() {
        return Err("must not be empty; leave allowed_hosts empty to allow nobody");
    }
    if name.contains("://") {
        return Err("must be a host without a scheme, such as \"api.example.com\"");
    }
    if name.contains('/') {
        return Err("must be a host without a path or prefix length");
    }
    if name.contains('@') {
        return Err("must be a host without a user name");
    }
    if name.contains(['[', ']', ':']) {
        return Err("must be a host without a port or brackets; ports go in allowed_ports");
    }
    if name.contains('*') {
        return Err("must have its `*` alone in front, as in \"*.example.com\"");
    }
    if name.len() > 253 {
        return Err("must be at most 253 bytes long, because DNS names are");
    }
    if !name.split('.').all(is_label) {
        return Err(
            "must be a DNS name (ASCII labels of at most 63 letters, digits, `-` and `_`, joined by dots), \
                    `*.` and such a name, or an IP address",
        );
    }
    if name.rsplit('.').next().is_some_and(is_number) {
        return Err(
            "must not end in a number unless it is a whole IP address, because resolvers disagree on what it means",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Ports<'a> = &'a [(&'a str, &'a [u16])];

    fn policy(hosts: &[&str], ports: Ports) -> NetworkPolicy {
        NetworkPolicy {
            allowed_hosts: hosts.iter().map(ToString::to_string).collect(),
            allowed_ports: ports.iter().map(|(host, ports)| (host.to_string(), ports.to_vec())).collect(),
            ..NetworkPolicy::default()
        }
    }

    #[test]
    fn nobody_is_allowed_by_default() {
        let policy = NetworkPolicy::default();
        assert!(policy.is_isolated() && policy.validate().is_ok());
        assert_eq!((policy.allowlist_env().as_str(), policy.ports_of("example.com")), ("", &[][..]));
    }

    #[test]
    fn the_allowlist_keeps_the_order_written_and_says_each_pair_once() {
        let policy = policy(
            &["API.example.com", "1.2.3.4", "api.example.com", "2001:DB8::1", "*.b.com"],
            &[("1.2.3.4", &[8080, 80, 80])],
        );
        assert_eq!(policy.validate(), Ok(()));
        assert_eq!(
            policy.allowlist_env(),
            "api.example.com:443,1.2.3.4:8080,1.2.3.4:80,[2001:db8::1]:443,*.b.com:443"
        );
    }

    #[test]
    fn ports_belong_to_entries_in_any_letter_case() {
        let policy = policy(&["a.com", "b.com"], &[("A.com", &[1, 2])]);
        assert_eq!(policy.validate(), Ok(()));
        assert_eq!(policy.ports_of("a.COM"), [1, 2]);
        assert_eq!(policy.ports_of("b.com"), [443]);
        assert!(policy.ports_of("c.com").is_empty());
    }

    #[test]
    fn hosts_are_names_suffixes_or_addresses() {
        for host in [
            "localhost",
            "a-b.example.com",
            "_dmarc.example.com",
            "*.example.com",
            "3com.net",
            "::1",
            "10.0.0.1",
        ] {
            assert_eq!(policy(&[host], &[]).validate(), Ok(()), "{host}");
        }
    }

    #[test]
    fn each_bad_host_is_refused_by_field_value_and_rule() {
        let long = format!("{}.com", "a.".repeat(150));
        let label = format!("{}.com", "a".repeat(64));
        let table = [
            ("", "must not be empty"),
            ("*.", "must not be empty"),
            ("*", "must have its `*` alone in front"),
            ("a.*.com", "must have its `*` alone in front"),
            ("https://a.com", "without a scheme"),
            ("a.com/x", "without a path"),
            ("10.0.0.0/8", "without a path or prefix length"),
            ("me@a.com", "without a user name"),
            ("a.com:443", "without a port"),
            ("[::1]", "without a port or brackets"),
            ("fe80::1%eth0", "without a port or brackets"),
            ("a b.com", "must be a DNS name"),
            ("a.com\n", "must be a DNS name"),
            ("a..com", "must be a DNS name"),
            ("a.com.", "must be a DNS name"),
            ("-a.com", "must be a DNS name"),
            ("bücher.de", "must be a DNS name"),
            ("a,b", "must be a DNS name"),
            ("127.1", "must not end in a number"),
            ("0x7f000001", "must not end in a number"),
            ("*.1.2.3.4", "must not end in a number"),
            (&long, "at most 253 bytes"),
            (&label, "at most 63"),
        ];
        for (host, rule) in table {
            let text = policy(&["ok.com", host], &[]).validate().unwrap_err().to_string();
            assert!(text.starts_with(&format!("allowed_hosts[1] = {host:?} is invalid: ")), "{text}");
            assert!(text.contains(rule), "{text}");
        }
    }

    #[test]
    fn each_bad_port_is_refused_by_field_value_and_rule() {
        let table: [(Ports, &str); 4] = [
            (
                &[("b.com", &[80])],
                r#"allowed_ports."b.com" = [80] is invalid: its host must be in allowed_hosts too"#,
            ),
            (&[("a.com", &[])], r#"allowed_ports."a.com" = [] is invalid: must name a port"#),
            (&[("a.com", &[80, 0])], r#"allowed_ports."a.com" = [80, 0] is invalid: must not hold port 0"#),
            (
                &[("A.com", &[80]), ("a.com", &[80])],
                r#"allowed_ports."a.com" = [80] is invalid: its host must be listed once"#,
            ),
        ];
        for (ports, expected) in table {
            let text = policy(&["a.com"], ports).validate().unwrap_err().to_string();
            assert!(text.starts_with(expected), "{text}");
        }
        let plain = NetworkPolicy { plain_hosts: vec!["b.com".into()], ..policy(&["a.com"], &[]) };
        let text = plain.validate().unwrap_err().to_string();
        assert_eq!(text, r#"plain_hosts[0] = "b.com" is invalid: must be in allowed_hosts too"#);
        let text =
            NetworkPolicy { default_port: 0, ..NetworkPolicy::default() }.validate().unwrap_err().to_string();
        assert!(text.starts_with("default_port = 0 is invalid: must be from 1 to 65535"), "{text}");
    }
}
