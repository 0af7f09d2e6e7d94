//! The corpus as data. One line per case: `id | action | what is sent | rule that must be given`.
//!
//! | action | meaning |
//! |---|---|
//! | `raw` | these bytes, from the start of a connection |
//! | `get` | a GET of this URL, with the `Host` that fits it |
//! | `connect` | CONNECT to this authority |
//! | `socks` | a SOCKS5 request for this name and port |
//! | `socks-raw` | these bytes after the SOCKS5 greeting |
//! | `tunnel` | CONNECT to the allowed host, then these bytes |
//! | `socks-tunnel` | the same by SOCKS5 |
//! | `tls` | CONNECT to the allowed host, then a ClientHello with these extensions |
//! | `vault` | CONNECT to a host whose TLS is terminated, then these bytes |
//! | `second` | an allowed request first, then these bytes on the same connection |
//! | `leads` | CONNECT to an allowed name that leads to these addresses |
//!
//! The extensions of `tls` are `sni=…`, `ech`, `esni` and `records=n`. `{P}` is the allowed port,
//! `{a*300}` is 300 times `a`, and escapes are those of Rust.

/// One attack.
#[derive(Debug)]
pub struct Case {
    /// Its name, which no other case has.
    pub id: &'static str,
    /// What is done, from the table above.
    pub action: &'static str,
    /// What is sent, with its escapes.
    pub sent: &'static str,
    /// The rule that must be given for the refusal, or a part of it.
    pub rule: &'static str,
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let lines = include_str!("cases.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let case = |line: &'static str| {
        let parts: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let [id, action, sent, rule] = parts[..] else { panic!("not a case: {line}") };
        Case { id, action, sent, rule }
    };
    lines.map(case).collect()
}

/// The bytes that an escaped text stands for.
pub(super) fn bytes(text: &str, port: u16) -> Vec<u8> {
    let text = text.replace("{P}", &port.to_string());
    let mut out = Vec::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        if let Some((what, after)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            let (unit, times) = what.split_once('*').expect("{unit*times}");
            out.extend(unit.repeat(times.parse().unwrap()).bytes());
            rest = after;
            continue;
        }
        rest = &rest[first.len_utf8()..];
        if first != '\\' {
            out.extend(first.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let (code, after) = rest.split_at(1);
        rest = after;
        out.push(match code {
            "r" => b'\r',
            "n" => b'\n',
            "t" => b'\t',
            "0" => 0,
            "s" => b' ',
            "\\" => b'\\',
            "x" => {
                let (digits, after) = rest.split_at(2);
                rest = after;
                u8::from_str_radix(digits, 16).unwrap()
            }
            other => panic!("unknown escape {other:?}"),
        });
    }
    out
}
