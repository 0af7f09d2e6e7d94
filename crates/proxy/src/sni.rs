//! Reads a TLS ClientHello to see whom it is for, and tells whether a host's answer is TLS. Pure:
//! bytes in, answer out, called again when more have come.
//!
//! A greeting may arrive one byte at a time, or be cut over several records. Both tricks hide a
//! name from anyone who looks at the first packet only. So records are joined first, and nothing is
//! forwarded until the whole greeting is read.

/// The longest accepted greeting, in bytes on the wire.
pub(crate) const MAX_HELLO: usize = 16 * 1024;

/// The state of the bytes so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hello {
    /// Valid so far, but not complete.
    Incomplete,
    /// Not TLS.
    NotTls,
    /// TLS that breaks its own rules, or is too long.
    Malformed,
    /// A whole greeting.
    Complete {
        /// The server name, exactly as sent.
        server_name: Option<String>,
        /// Whether an encrypted greeting with another name may be inside.
        encrypted: bool,
        /// Its length on the wire. What comes after it is not part of it.
        length: usize,
    },
}

/// Reads a greeting from the start of a stream.
pub(crate) fn read(bytes: &[u8]) -> Hello {
    match join_records(bytes) {
        Err(hello) => hello,
        Ok((message, length)) => parse_hello(&message, length).unwrap_or(Hello::Malformed),
    }
}

/// The handshake message, taken out of its records, and the length of those records.
fn join_records(bytes: &[u8]) -> Result<(Vec<u8>, usize), Hello> {
    const HANDSHAKE: u8 = 22;
    const CLIENT_HELLO: u8 = 1;
    let mut message = Vec::new();
    let mut rest = bytes;
    loop {
        let wrong =
            if message.is_empty() && rest.len() == bytes.len() { Hello::NotTls } else { Hello::Malformed };
        let head = &rest[..rest.len().min(5)];
        let plausible = head.iter().zip([HANDSHAKE, 3]).all(|(have, want)| *have == want);
        if !plausible || head.get(2).is_some_and(|minor| *minor > 4) {
            return Err(wrong);
        }
        let [_, _, _, high, low] = *head else { return Err(incomplete(bytes)) };
        let length = usize::from(u16::from_be_bytes([high, low]));
        // An empty record is never legal in a handshake, and would let a greeting go on for ever.
        if length == 0 || length > MAX_HELLO {
            return Err(Hello::Malformed);
        }
        let payload = &rest[5..rest.len().min(5 + length)];
        message.extend_from_slice(payload);
        if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return Err(Hello::Malformed);
        }
        if let [_, a, b, c, ..] = message[..] {
            let total = 4 + (usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c));
            if total > MAX_HELLO {
                return Err(Hello::Malformed);
            }
            // The record holds more than the greeting. Nobody sends a second message before the
            // server has answered.
            if message.len() >= total {
                let alone = message.len() == total && payload.len() == length;
                let end = bytes.len() - rest.len() + 5 + length;
                return if alone { Ok((message, end)) } else { Err(Hello::Malformed) };
            }
        }
        if payload.len() < length {
            return Err(incomplete(bytes));
        }
        rest = &rest[5 + length..];
    }
}

fn incomplete(bytes: &[u8]) -> Hello {
    if bytes.len() >= MAX_HELLO { Hello::Malformed } else { Hello::Incomplete }
}

/// Whether the first bytes of a host's answer are TLS: a handshake that begins with a ServerHello,
/// or an alert. `None` until there are enough bytes.
pub(crate) fn is_answer(bytes: &[u8]) -> Option<bool> {
    const ALERT: u8 = 21;
    const HANDSHAKE: u8 = 22;
    const SERVER_HELLO: u8 = 2;
    // Judge bytes as they come: a host that speaks first in another protocol is not waited for.
    let expected: [&dyn Fn(u8) -> bool; 3] =
        [&|kind| matches!(kind, ALERT | HANDSHAKE), &|major| major == 3, &|minor| minor <= 4];
    if !bytes.iter().zip(expected).all(|(byte, is_good)| is_good(*byte)) {
        return Some(false);
    }
    let [kind, _, _, high, low, first] = *bytes.first_chunk()?;
    let length = u16::from_be_bytes([high, low]);
    Some(match kind {
        ALERT => length == 2 && matches!(first, 1 | 2),
        _ => (4..=1 << 14).contains(&length) && first == SERVER_HELLO,
    })
}

/// Takes what is asked for off the front. `None` means that the message ends too early.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<usize> {
        self.take(1).map(|bytes| usize::from(bytes[0]))
    }

    fn u16(&mut self) -> Option<usize> {
        self.take(2).map(|bytes| usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    }
}

fn parse_hello(message: &[u8], length: usize) -> Option<Hello> {
    const SERVER_NAME: usize = 0;
    const ENCRYPTED_HELLO: usize = 0xfe0d;
    const ENCRYPTED_NAME: usize = 0xffce;
    let mut hello = Reader(message.get(4..)?);
    hello.take(2 + 32)?;
    let session = hello.u8()?;
    hello.take(session)?;
    let ciphers = hello.u16()?;
    hello.take(ciphers)?;
    let compressions = hello.u8()?;
    hello.take(compressions)?;
    let (mut server_name, mut encrypted) = (None, false);
    if hello.0.is_empty() {
        return Some(Hello::Complete { server_name, encrypted, length });
    }
    let extensions = hello.u16()?;
    let mut extensions = Reader(hello.take(extensions)?);
    if !hello.0.is_empty() {
        return None;
    }
    while !extensions.0.is_empty() {
        let kind = extensions.u16()?;
        let body = extensions.u16()?;
        let body = extensions.take(body)?;
        match kind {
            // There are two of them, and it is unclear which one the server would take.
            SERVER_NAME if server_name.is_some() => return None,
            SERVER_NAME => server_name = Some(parse_server_name(body)?),
            ENCRYPTED_HELLO | ENCRYPTED_NAME => encrypted = true,
            _ => {}
        }
    }
    Some(Hello::Complete { server_name, encrypted, length })
}

/// Exactly one name, of the only kind there is.
fn parse_server_name(body: &[u8]) -> Option<String> {
    let mut list = Reader(body);
    let (length, kind, name) = (list.u16()?, list.u8()?, list.u16()?);
    let name = list.take(name)?;
    let whole = length + 2 == body.len() && kind == 0 && list.0.is_empty();
    if whole { String::from_utf8(name.to_vec()).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
        [&kind.to_be_bytes()[..], &(body.len() as u16).to_be_bytes(), body].concat()
    }

    fn server_name(name: &str) -> Vec<u8> {
        let name = name.as_bytes();
        let entry = [&[0][..], &(name.len() as u16).to_be_bytes(), name].concat();
        extension(0, &[&(entry.len() as u16).to_be_bytes()[..], &entry].concat())
    }

    fn message(extensions: &[u8]) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(extensions);
        [&[1, 0][..], &(body.len() as u16).to_be_bytes(), &body].concat()
    }

    /// The message in records of `size` bytes each.
    fn records(message: &[u8], size: usize) -> Vec<u8> {
        let record = |part: &[u8]| [&[22, 3, 1][..], &(part.len() as u16).to_be_bytes(), part].concat();
        message.chunks(size).flat_map(record).collect()
    }

    fn named(name: &str, length: usize) -> Hello {
        Hello::Complete { server_name: Some(name.into()), encrypted: false, length }
    }

    #[test]
    fn the_name_is_found_however_the_greeting_is_cut() {
        let message = message(&server_name("a.example.com"));
        for size in [1, 2, 3, 5, 40, 16_000] {
            let bytes = records(&message, size);
            let whole = named("a.example.com", bytes.len());
            assert_eq!(read(&bytes), whole, "records of {size}");
            assert_eq!(read(&[&bytes[..], b"EHLO"].concat()), whole, "what follows is not a part of it");
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), Hello::Incomplete, "{end} bytes of records of {size}");
            }
        }
    }

    #[test]
    fn no_name_and_hidden_names_are_told_apart() {
        let read = |extensions: &[u8]| match read(&records(&message(extensions), 9000)) {
            Hello::Complete { server_name, encrypted, .. } => (server_name, encrypted),
            other => panic!("{other:?}"),
        };
        assert_eq!(read(&extension(43, &[2, 3, 4])), (None, false));
        let both = [server_name("a.com"), extension(0xfe0d, &[0])].concat();
        assert_eq!(read(&both), (Some("a.com".into()), true));
    }

    #[test]
    fn greetings_that_can_be_read_two_ways_are_malformed() {
        let whole = |extensions: &[u8]| records(&message(extensions), 9000);
        let twice = [server_name("a.com"), server_name("b.com")].concat();
        assert_eq!(read(&whole(&twice)), Hello::Malformed, "two names");
        let two_in_one = extension(0, &[0, 12, 0, 0, 3, b'a', b'.', b'b', 0, 0, 3, b'c', b'.', b'd']);
        assert_eq!(read(&whole(&two_in_one)), Hello::Malformed, "two names in one list");
        assert_eq!(read(&whole(&[0, 0, 0, 9, 1])), Hello::Malformed, "an extension longer than the message");
        let message = message(&server_name("a.com"));
        assert_eq!(
            read(&records(&[&message[..], &[1]].concat(), 9000)),
            Hello::Malformed,
            "a second message"
        );
        assert_eq!(read(&[22, 3, 1, 0, 0]), Hello::Malformed, "an empty record");
        assert_eq!(read(&[22, 3, 1, 0, 4, 2, 0, 0, 0]), Hello::Malformed, "a ServerHello");
        assert_eq!(read(&[22, 3, 1, 0, 4, 1, 9, 0, 0]), Hello::Malformed, "too long");
        let mut other = records(&message, 10);
        other[15] = 23;
        assert_eq!(read(&other), Hello::Malformed, "another kind of record in between");
    }

    #[test]
    fn what_is_not_tls_is_known_by_its_first_bytes() {
        for bytes in
            [&b"GET / HTTP/1.1"[..], b"PRI * HTTP/2.0", b"SSH-2.0", &[22, 2], &[22, 3, 9], &[0x80, 46, 1]]
        {
            assert_eq!(read(bytes), Hello::NotTls, "{bytes:?}");
        }
    }

    #[test]
    fn a_hosts_answer_is_a_server_hello_or_an_alert() {
        for good in [
            &[22, 3, 3, 0, 90, 2][..],
            &[22, 3, 1, 0x40, 0, 2],
            &[21, 3, 3, 0, 2, 2],
            &[21, 3, 1, 0, 2, 1, 0],
        ] {
            assert_eq!(is_answer(good), Some(true), "{good:?}");
            assert!((0..6).all(|end| is_answer(&good[..end]).is_none()), "{good:?}");
        }
        for bad in [
            &b"220 tolerant"[..],
            b"H",
            b"\x16\x03\x09",
            &[22, 3, 3, 0, 90, 1],
            &[22, 3, 3, 0, 3, 2],
            &[22, 3, 3, 0x40, 1, 2],
            &[23, 3, 3, 0, 90, 2],
            &[20, 3, 3, 0, 1, 1],
            &[21, 3, 3, 0, 3, 2],
            &[21, 3, 3, 0, 2, 3],
        ] {
            assert_eq!(is_answer(bad), Some(false), "{bad:?}");
        }
    }

    #[test]
    fn a_greeting_that_never_ends_is_given_up() {
        let endless = [&[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc][..], &[0; MAX_HELLO]].concat();
        assert_eq!(read(&endless[..MAX_HELLO]), Hello::Malformed);
        assert_eq!(read(&endless[..MAX_HELLO - 1]), Hello::Incomplete);
    }

    proptest! {
        /// Whatever a guest sends, the answer is one of the four, and a greeting that was refused
        /// stays refused.
        #[test]
        fn garbage_is_read_without_harm_and_never_becomes_good(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
            at in 0..84usize,
            value: u8,
        ) {
            let mut broken = records(&message(&server_name("a.example.com")), 30);
            broken[at] = value;
            bytes.splice(0..0, broken);
            for end in 0..bytes.len() {
                if matches!(read(&bytes[..end]), Hello::NotTls | Hello::Malformed) {
                    let whole = read(&bytes);
                    prop_assert!(matches!(whole, Hello::NotTls | Hello::Malformed), "{:?} after {}", whole, end);
                    break;
                }
            }
        }
    }
}
