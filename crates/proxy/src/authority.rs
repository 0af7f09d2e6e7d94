//! `host:port` as it stands in a URL, in CONNECT and in a `Host` header.

use belljar_core::policy::{HostError, Rule};

/// Splits off the port. What the host is, and whether it is one, is for [`decide`](belljar_core::policy::decide).
pub(crate) fn split(authority: &str) -> Result<(&str, Option<u16>), Rule> {
    if authority.contains('@') {
        return Err(HostError::UserInfo.into());
    }
    let (host, rest) = match authority.find(']') {
        Some(end) if authority.starts_with('[') => authority.split_at(end + 1),
        _ => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Ok((host, None)),
        None => Err(HostError::Brackets.into()),
        Some(port) => parse_port(port).map(|port| (host, Some(port))),
    }
}

/// One spelling a port: no sign, no leading zero, nothing beyond 65535.
fn parse_port(text: &str) -> Result<u16, Rule> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain).ok_or(Rule::Http("the port is not a number from 1 to 65535"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_split_off_at_the_only_place_it_can_be() {
        assert_eq!(split("a.com:80"), Ok(("a.com", Some(80))));
        assert_eq!(split("a.com"), Ok(("a.com", None)));
        assert_eq!(split("[::1]:443"), Ok(("[::1]", Some(443))));
        assert_eq!(split("[::1]"), Ok(("[::1]", None)));
    }

    #[test]
    fn anything_that_could_be_split_elsewhere_is_refused() {
        for authority in [
            "a@b.com:80",
            "a:b@c",
            "a.com:",
            "a.com:+80",
            "a.com:080",
            "a.com:65536",
            "a.com:80:80",
            "::1",
            "[::1]x",
            "a.com:8 0",
            "a.com:0",
        ] {
            assert!(split(authority).is_err(), "{authority}");
        }
    }
}
