//! Reads a policy from the line that [`NetworkPolicy::allowlist_env`] writes for a proxy in another
//! process.

use std::collections::BTreeMap;

use crate::NetworkPolicy;
use crate::config::ConfigError;

impl NetworkPolicy {
    /// Reads `host:port,host:port` back into a policy that allows the same.
    pub fn from_allowlist_env(line: &str) -> Result<Self, ConfigError> {
        let mut policy = Self::default();
        let mut ports: BTreeMap<String, Vec<u16>> = BTreeMap::new();
        for pair in line.split(',').filter(|_| !line.is_empty()) {
            let invalid = |rule: &str| ConfigError::invalid("allowlist", pair, rule);
            let (host, port) = pair.rsplit_once(':').ok_or_else(|| invalid("must be host:port"))?;
            let port = match port.parse() {
                Ok(0) | Err(_) => return Err(invalid("must end in a port from 1 to 65535")),
                Ok(_) if port.starts_with('+') => return Err(invalid("must end in a port from 1 to 65535")),
                Ok(port) => port,
            };
            let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
            let listed = ports.entry(host.to_ascii_lowercase()).or_default();
            if listed.is_empty() {
                policy.allowed_hosts.push(host.to_ascii_lowercase());
            }
            if !listed.contains(&port) {
                listed.push(port);
            }
        }
        policy.allowed_ports = ports;
        policy.validate()?;
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::decide;

    #[test]
    fn a_line_that_is_not_a_list_is_refused() {
        for line in [
            "a.com",
            "a.com:",
            "a.com:0",
            "a.com:+1",
            "a.com:65536",
            ":1",
            "a.com:1,",
            ",",
            "a b:1",
            "[a.com:1",
            "[x]]:1",
        ] {
            assert!(NetworkPolicy::from_allowlist_env(line).is_err(), "{line:?}");
        }
        assert_eq!(NetworkPolicy::from_allowlist_env(""), Ok(NetworkPolicy::default()));
    }

    proptest! {
        #[test]
        fn a_policy_survives_its_line(
            hosts in proptest::collection::vec("[a-c]\\.com|\\*\\.[ab]\\.org|10\\.0\\.0\\.[1-3]|2001:DB8::[1-3]", 0..6),
            ports in proptest::collection::vec(1..5u16, 1..4),
            default_port in 1..5u16,
            host in "[A-C]\\.com|[ab]\\.[ab]\\.org|10\\.0\\.0\\.[1-3]|\\[2001:db8::[1-3]\\]",
            port in 1..5u16,
        ) {
            let allowed_ports = hosts.iter().take(1).map(|host| (host.clone(), ports.clone())).collect();
            let policy = NetworkPolicy { allowed_hosts: hosts, allowed_ports, default_port, ..NetworkPolicy::default() };
            let line = policy.allowlist_env();
            let again = NetworkPolicy::from_allowlist_env(&line).unwrap();
            prop_assert_eq!(again.allowlist_env(), line);
            prop_assert_eq!(decide(&again, &host, port).is_ok(), decide(&policy, &host, port).is_ok());
        }
    }
}
