//! Decides about a host, and checks the addresses that its name leads to.

use std::net::IpAddr;

use super::{Host, Rule, kind_of};
use crate::NetworkPolicy;

/// A destination that a cell may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The host, in its only spelling.
    pub host: Host,
    /// The port.
    pub port: u16,
    /// The entry of `allowed_hosts` that allows it.
    pub entry: String,
    /// Whether that entry lets a tunnel carry something other than TLS for this host.
    pub plain: bool,
}

/// A refusal, in words that a guest may see.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host}:{port} is denied: {rule}")]
pub struct Denial {
    /// What was asked for. It is safe to print, and never long.
    pub host: String,
    /// The port that was asked for.
    pub port: u16,
    /// The reason.
    pub rule: Rule,
}

impl Denial {
    /// Refuses a host that a guest wrote. Text that cannot be printed is escaped, and long text is
    /// cut.
    pub fn new(host: &str, port: u16, rule: Rule) -> Self {
        let mut shown = String::new();
        for part in host.chars().flat_map(char::escape_default) {
            if shown.len() >= 253 {
                shown.push_str("...");
                break;
            }
            shown.push(part);
        }
        Self { host: shown, port, rule }
    }
}

/// Whether a host, as the guest wrote it, may be reached on a port.
///
/// A name is allowed if any entry that matches it has the port. An entry for the name itself and
/// one for everything below a suffix add up, as in [`NetworkPolicy::allowlist_env`].
pub fn decide(policy: &NetworkPolicy, host: &str, port: u16) -> Result<Target, Denial> {
    let denied = |rule| Denial::new(host, port, rule);
    let wanted = Host::parse(host).map_err(|error| denied(error.into()))?;
    let mut named = false;
    for entry in policy.allowed_hosts.iter().filter(|entry| covers(entry, &wanted)) {
        named = true;
        if policy.ports_of(entry).contains(&port) {
            let plain = policy.plain_hosts.iter().any(|plain| plain.eq_ignore_ascii_case(entry));
            return Ok(Target { host: wanted, port, entry: entry.clone(), plain });
        }
    }
    Err(denied(match wanted {
        _ if named => Rule::Port,
        Host::Address(_) => Rule::AddressNotListed,
        Host::Name(_) => Rule::NotListed,
    }))
}

/// Whether an address that a target's name led to may be dialled. Check every address of an answer:
/// one bad address means that somebody manipulates the name.
pub fn vet(policy: &NetworkPolicy, target: &Target, address: IpAddr) -> Result<(), Rule> {
    let Some(kind) = kind_of(address) else { return Ok(()) };
    let literal = Host::Address(address.to_canonical());
    let listed = |entry: &String| covers(entry, &literal) && policy.ports_of(entry).contains(&target.port);
    if policy.allowed_hosts.iter().any(listed) { Ok(()) } else { Err(Rule::Address(kind)) }
}

/// Whether an entry of a policy matches a host. `*.suffix` matches what is below, never the suffix
/// itself and never an address.
pub fn covers(entry: &str, host: &Host) -> bool {
    match (entry.strip_prefix("*."), host) {
        (Some(suffix), Host::Name(name)) => {
            let above = name.len().checked_sub(suffix.len());
            above.is_some_and(|at| {
                at > 1 && name.as_bytes()[at - 1] == b'.' && name[at..].eq_ignore_ascii_case(suffix)
            })
        }
        (Some(_), Host::Address(_)) => false,
        (None, host) => Host::parse(entry).as_ref() == Ok(host),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy() -> NetworkPolicy {
        NetworkPolicy {
            allowed_hosts: [
                "api.example.com",
                "*.Example.org",
                "10.1.2.3",
                "2001:db8::1",
                "a.example.org",
                "localhost",
            ]
            .map(String::from)
            .to_vec(),
            allowed_ports: [("api.example.com".into(), vec![443, 8080]), ("a.example.org".into(), vec![80])]
                .into(),
            plain_hosts: vec!["A.example.org".into()],
            ..NetworkPolicy::default()
        }
    }

    fn rule(host: &str, port: u16) -> Rule {
        decide(&policy(), host, port).unwrap_err().rule
    }

    #[test]
    fn names_are_allowed_by_entry_and_port() {
        let target = decide(&policy(), "API.example.com.", 8080).unwrap();
        assert_eq!(
            (target.host.to_string().as_str(), target.entry.as_str()),
            ("api.example.com", "api.example.com")
        );
        assert_eq!(rule("api.example.com", 80), Rule::Port);
        assert_eq!(rule("api.example.com", 0), Rule::Port);
        assert_eq!(rule("evil.com", 443), Rule::NotListed);
        assert_eq!(rule("api.example.com.evil.com", 443), Rule::NotListed);
        assert_eq!(rule("xapi.example.com", 443), Rule::NotListed);
    }

    #[test]
    fn a_suffix_names_what_is_below_it_only() {
        for name in ["b.example.org", "b.c.EXAMPLE.org"] {
            assert_eq!(decide(&policy(), name, 443).unwrap().entry, "*.Example.org");
        }
        for name in ["example.org", "badexample.org", "b.example.org.evil.com"] {
            assert_eq!(rule(name, 443), Rule::NotListed, "{name}");
        }
        assert_eq!(rule(".example.org", 443), Rule::Malformed(crate::policy::HostError::Label));
    }

    #[test]
    fn an_entry_and_a_suffix_add_up() {
        assert!(!decide(&policy(), "a.example.org", 443).unwrap().plain);
        assert!(decide(&policy(), "a.example.org", 80).unwrap().plain);
        assert_eq!(rule("b.example.org", 80), Rule::Port);
    }

    #[test]
    fn addresses_are_allowed_only_when_listed_whatever_their_spelling() {
        for host in ["10.1.2.3", "167838211", "0xa010203", "012.1.2.3", "[::ffff:10.1.2.3]", "10.66051"] {
            assert_eq!(
                decide(&policy(), host, 443).map(|target| target.entry),
                Ok("10.1.2.3".into()),
                "{host}"
            );
        }
        assert!(decide(&policy(), "[2001:DB8:0::1]", 443).is_ok());
        for host in ["10.1.2.4", "127.0.0.1", "[::1]", "8.8.8.8", "0", "2130706433"] {
            assert_eq!(rule(host, 443), Rule::AddressNotListed, "{host}");
        }
    }

    #[test]
    fn a_name_must_not_lead_inside_unless_the_address_is_listed_with_the_port() {
        let target = decide(&policy(), "localhost", 443).unwrap();
        let vet = |port, address: &str| {
            vet(&policy(), &Target { port, ..target.clone() }, address.parse().unwrap())
        };
        assert_eq!(vet(443, "127.0.0.1"), Err(Rule::Address(super::super::AddressKind::Loopback)));
        assert_eq!(vet(443, "8.8.8.8"), Ok(()));
        assert_eq!(vet(443, "10.1.2.3"), Ok(()));
        assert_eq!(vet(443, "::ffff:10.1.2.3"), Ok(()));
        assert!(vet(80, "10.1.2.3").is_err());
    }

    #[test]
    fn a_denial_shows_hostile_names_harmlessly() {
        let denial = Denial::new("evil\0\r\n\u{202e}", 1, Rule::NotListed);
        assert_eq!(denial.host, "evil\\u{0}\\r\\n\\u{202e}");
        assert!(Denial::new(&"\0".repeat(70_000), 1, Rule::NotListed).host.len() < 300);
    }

    proptest! {
        #[test]
        fn only_what_is_listed_is_allowed(host in "[a-cA-C.@%:\\[\\]0-9x*-]{0,12}(example\\.(com|org))?\\.?", port: u16) {
            if let Ok(target) = decide(&policy(), &host, port) {
                let name = target.host.to_string();
                let listed = match target.entry.as_str() {
                    "*.Example.org" => name.ends_with(".example.org") && port == 443,
                    "api.example.com" => name == "api.example.com" && (port == 443 || port == 8080),
                    "a.example.org" => name == "a.example.org" && port == 80,
                    entry => name == entry && port == 443,
                };
                prop_assert!(listed, "{} {} by {}", name, port, target.entry);
            }
        }

        #[test]
        fn an_empty_policy_allows_nothing(host in "\\PC{0,30}", port: u16) {
            prop_assert!(decide(&NetworkPolicy::default(), &host, port).is_err());
        }

        #[test]
        fn letter_case_and_one_trailing_dot_never_matter(host in "[a-c]{1,3}\\.(example\\.(org|com)|com)", port in 440..446u16) {
            let plain = decide(&policy(), &host, port).map_err(|denial| denial.rule);
            let loud = decide(&policy(), &format!("{}.", host.to_uppercase()), port).map_err(|denial| denial.rule);
            prop_assert_eq!(plain, loud);
        }
    }
}
