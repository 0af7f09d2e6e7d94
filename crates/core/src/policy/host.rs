//! A host as a guest wrote it, read once. The result is a name or an address in one spelling.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::number::parse_ipv4;

/// A host in its only spelling. Two hosts are the same exactly if they are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A DNS name in lower case, without the trailing dot.
    Name(String),
    /// An address. An IPv4 address written as `::ffff:a.b.c.d` becomes that IPv4 address.
    Address(IpAddr),
}

/// Why a text is not a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It is longer than any DNS name.
    #[error("it is longer than 253 bytes")]
    TooLong,
    /// It has a byte outside ASCII.
    #[error("it is not ASCII; write its xn-- form")]
    NotAscii,
    /// It has a user name in front.
    #[error("it has a user name or an `@` in it")]
    UserInfo,
    /// It has a percent sign: an escape, or the zone of an IPv6 address.
    #[error("it has a percent sign in it")]
    Percent,
    /// It has a NUL, a tab, a line break or a space.
    #[error("it has a space or a control character in it")]
    Control,
    /// It has brackets around something that is not an IPv6 address, or a colon in a name.
    #[error("it has brackets or colons but is no IPv6 address")]
    Brackets,
    /// It has a label that DNS does not allow.
    #[error(
        "a part between its dots is empty, longer than 63 bytes or has characters that names do not have"
    )]
    Label,
    /// It ends in a number, but is not an address.
    #[error("it ends in a number but is no IPv4 address")]
    Number,
}

impl Host {
    /// Reads a host without its port. The most helpful error is checked first.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if !text.is_ascii() {
            return Err(HostError::NotAscii);
        }
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(HostError::Control);
        }
        if text.contains('@') {
            return Err(HostError::UserInfo);
        }
        if text.contains('%') {
            return Err(HostError::Percent);
        }
        if text.contains(['[', ']', ':']) {
            let bare = match text.strip_prefix('[') {
                Some(rest) => rest.strip_suffix(']').ok_or(HostError::Brackets)?,
                None => text,
            };
            let address: Ipv6Addr = bare.parse().map_err(|_| HostError::Brackets)?;
            return Ok(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.len() > 253 {
            return Err(HostError::TooLong);
        }
        if !name.split('.').all(is_label) {
            return Err(HostError::Label);
        }
        if name.rsplit('.').next().is_some_and(is_number) {
            return parse_ipv4(name).map(|address| Self::Address(address.into())).ok_or(HostError::Number);
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }

    /// The host and a port in a URL's notation.
    pub fn with_port(&self, port: u16) -> String {
        match self {
            Self::Address(IpAddr::V6(address)) => format!("[{address}]:{port}"),
            other => format!("{other}:{port}"),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// Whether DNS and every parser agree that this is one part of a name.
pub(crate) fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Whether a label is a decimal, octal or hexadecimal number, as the C library's address parser
/// reads them: `127.1` and `0x7f000001` are 127.0.0.1.
pub(crate) fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x").or_else(|| label.strip_prefix("0X")) {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_has_one_spelling() {
        for text in ["example.com", "EXAMPLE.com", "Example.Com."] {
            assert_eq!(Host::parse(text), Ok(Host::Name("example.com".into())), "{text}");
        }
        assert_eq!(Host::parse("xn--bcher-kva.DE"), Ok(Host::Name("xn--bcher-kva.de".into())));
    }

    #[test]
    fn an_address_has_one_spelling() {
        for text in ["127.0.0.1", "127.1", "0x7f000001", "127.0.0.1.", "::ffff:127.0.0.1", "[::ffff:7f00:1]"]
        {
            assert_eq!(Host::parse(text), Ok(Host::Address("127.0.0.1".parse().unwrap())), "{text}");
        }
        for text in ["::1", "[::1]", "0:0:0:0:0:0:0:1", "[0::0.0.0.1]"] {
            assert_eq!(Host::parse(text), Ok(Host::Address("::1".parse().unwrap())), "{text}");
        }
    }

    #[test]
    fn each_bad_host_is_refused_for_its_own_reason() {
        let label = format!("{}.com", "a".repeat(64));
        let long = format!("{}com", "a.".repeat(130));
        let table = [
            ("", HostError::Empty),
            ("bücher.de", HostError::NotAscii),
            ("examp\u{2024}le.com", HostError::NotAscii),
            ("evil.com\0.example.com", HostError::Control),
            ("example.com\r\nHost: evil.com", HostError::Control),
            ("example.com\t", HostError::Control),
            (" example.com", HostError::Control),
            ("me@example.com", HostError::UserInfo),
            ("evil.com%00.example.com", HostError::Percent),
            ("fe80::1%eth0", HostError::Percent),
            ("[::1", HostError::Brackets),
            ("::1]", HostError::Brackets),
            ("[example.com]", HostError::Brackets),
            ("[127.0.0.1]", HostError::Brackets),
            ("[]", HostError::Brackets),
            ("example.com:443", HostError::Brackets),
            (".", HostError::Label),
            ("a..com", HostError::Label),
            (".example.com", HostError::Label),
            ("example.com..", HostError::Label),
            ("-a.com", HostError::Label),
            ("*.example.com", HostError::Label),
            ("example.com/x", HostError::Label),
            ("example.com\\x", HostError::Label),
            ("example.com#x", HostError::Label),
            (&label, HostError::Label),
            (&long, HostError::TooLong),
            ("256.0.0.1", HostError::Number),
            ("example.com.1", HostError::Number),
            ("1.2.3.4.5", HostError::Number),
        ];
        for (text, error) in table {
            assert_eq!(Host::parse(text), Err(error), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_read_reads_the_same_again(text in "\\PC{0,40}|[a-zA-Z0-9.:\\[\\]x-]{1,30}") {
            if let Ok(host) = Host::parse(&text) {
                prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
            }
        }

        #[test]
        fn a_name_that_was_read_is_safe_in_a_header(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(Host::Name(name)) = Host::parse(&String::from_utf8_lossy(&bytes)) {
                prop_assert!(name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.')));
            }
        }
    }
}
