//! How a case looks on the wire, and what its refusal looks like. Pure.

use belljar_core::{Decision, NetworkVerdict};

use super::corpus::{Case, bytes};
use super::hello::{extension, hello, server_name};

/// What a guest sends. The opening must be granted before it goes on.
pub struct Shape {
    /// What must be granted first, if anything.
    pub opening: Option<Opening>,
    /// What must be refused.
    pub message: Vec<u8>,
}

/// Something that is allowed, and how its answer is read.
pub enum Opening {
    /// Answered by a 200.
    Http(Vec<u8>),
    /// Answered by twelve bytes, of which the fourth is 0.
    Socks(Vec<u8>),
}

impl Shape {
    /// What a case describes, with the port of the allowed host and the name that leads to a case's
    /// addresses.
    pub fn of(case: &Case, port: u16, leads: &str) -> Self {
        let sent = bytes(case.sent, port);
        let text = String::from_utf8_lossy(&sent).into_owned();
        let connect = |to: &str| format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").into_bytes();
        let name = |host: &[u8], port: u16| {
            [&[5, 1, 0, 5, 1, 0, 3, host.len() as u8][..], host, &port.to_be_bytes()].concat()
        };
        let good = format!("good.test:{port}");
        let opening = match case.action {
            "tunnel" | "tls" => Some(Opening::Http(connect(&good))),
            "vault" => Some(Opening::Http(connect(&format!("vault.test:{port}")))),
            "socks-tunnel" => Some(Opening::Socks(name(b"good.test", port))),
            "second" => {
                let first = format!("GET http://{good}/first HTTP/1.1\r\nHost: {good}\r\n\r\n");
                Some(Opening::Http(first.into_bytes()))
            }
            _ => None,
        };
        let message = match case.action {
            "raw" | "tunnel" | "vault" | "socks-tunnel" | "second" => sent,
            "tls" => greeting(&text),
            "get" => {
                let host = text.split("//").nth(1).unwrap_or_default().split('/').next().unwrap_or_default();
                format!("GET {text} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
            }
            "connect" => connect(&text),
            "leads" => connect(&format!("{leads}:{port}")),
            "socks" => {
                let at = sent.iter().rposition(|byte| *byte == b':').unwrap();
                name(&sent[..at], text.rsplit(':').next().unwrap().parse().unwrap())
            }
            "socks-raw" => [&[5, 1, 0][..], &sent].concat(),
            other => panic!("unknown action {other}"),
        };
        Self { opening, message }
    }
}

/// Whether the guest was told of the refusal in its own protocol.
pub fn refusal(case: &Case, seen: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(seen);
    let told = match case.action {
        "get" | "connect" | "second" | "leads" => {
            text.starts_with("HTTP/1.1 403 ") && text.contains("\"allowed\":[") && text.contains(case.rule)
        }
        "raw" => {
            text.starts_with("HTTP/1.1 403 ") || seen.starts_with(&[0, 0x5b]) || seen.starts_with(&[21, 3, 3])
        }
        "socks" => seen == [5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0],
        "socks-raw" => matches!(seen, [5, 0, 5, 1..=255, ..] | [5, 0xff]),
        "tls" => seen == [21, 3, 3, 0, 2, 2, 49],
        "tunnel" | "vault" | "socks-tunnel" => seen.is_empty() || seen == [21, 3, 3, 0, 2, 2, 49],
        other => return Err(format!("unknown action {other}")),
    };
    if told { Ok(()) } else { Err(format!("the guest was told {text:?}")) }
}

/// Whether the allowed host heard nothing but what a case was allowed to say first.
pub fn silence(case: &Case, heard: &str) -> Result<(), String> {
    let fine = match case.action {
        "second" => heard.starts_with("GET /first") && heard.matches("HTTP/1.1").count() == 1,
        _ => heard.is_empty(),
    };
    if fine { Ok(()) } else { Err(format!("the host heard {heard:?}")) }
}

/// Whether the last decision is a denial by the rule of a case, with nothing carried.
pub fn denial(case: &Case, decisions: &[Decision]) -> Result<(), String> {
    let Some(last) = decisions.last() else { return Err("nothing on record".into()) };
    match &last.verdict {
        NetworkVerdict::Denied { rule } if rule.contains(case.rule) => {}
        other => return Err(format!("{other:?} instead of {:?}", case.rule)),
    }
    match last.bytes_sent + last.bytes_received {
        0 => Ok(()),
        carried => Err(format!("{carried} bytes were carried")),
    }
}

/// The ClientHello a `tls` case describes.
fn greeting(text: &str) -> Vec<u8> {
    let (mut extensions, mut size) = (vec![extension(43, &[2, 3, 4])], 16_000);
    for word in text.split(' ') {
        match word.split_once('=').unwrap_or((word, "")) {
            ("sni", name) => extensions.push(server_name(&bytes(name, 0))),
            ("ech", _) => extensions.push(extension(0xfe0d, &[0, 0, 1, 0, 1, 7])),
            ("esni", _) => extensions.push(extension(0xffce, &[1, 2, 3])),
            ("records", count) => size = count.parse().unwrap(),
            ("none", _) => {}
            other => panic!("unknown word {other:?}"),
        }
    }
    hello(&extensions, size)
}
