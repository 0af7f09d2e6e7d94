//! `host:port`, as in a URL, in CONNECT and in a `Host` header.

use belljar_core::policy::{Host, HostError, Rule};

/// Splits off the port. [`decide`](belljar_core::policy::decide) judges the host.
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

/// The part of a guest's text for a host that may appear in a record or an answer: the host as
/// written, or nothing.
///
/// Any other text may be a secret. If it were escaped or cut, it would not be recognised when
/// secrets are hidden. A valid host needs neither.
pub(crate) fn loggable_host(host: &str) -> &str {
    if Host::parse(host).is_ok() { host } else { "" }
}

/// The same for a URL that was refused before its host was looked at. There is no user name, path
/// or query in it. An `@` leaves doubt, so then it is empty.
pub(crate) fn loggable_host_of_url(url: &str) -> (&str, u16) {
    let Some((_, rest)) = url.split_once("://").filter(|_| !url.contains('@')) else { return ("", 0) };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    match split(authority) {
        Ok((host, port)) => (loggable_host(host), port.unwrap_or(0)),
        Err(_) => ("", 0),
    }
}

/// A port has one spelling: no sign, no leading zero, at most 65535.
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
    fn of_a_refused_url_its_host_alone_is_on_record() {
        for (url, host, port) in [
            ("https://Evil.com:8443/path?query", "Evil.com", 8443),
            ("ftp://evil.com", "evil.com", 0),
            ("http://user:hunter2@evil.com/", "", 0),
            ("http://hunt/er2@evil.com/", "", 0),
            ("http://hunter2\"\\/", "", 0),
            ("/hunter2", "", 0),
            ("hunter2", "", 0),
        ] {
            assert_eq!(loggable_host_of_url(url), (host, port), "{url}");
        }
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
