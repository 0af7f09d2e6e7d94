//! Reads the head of a request so that it has only one meaning.
//!
//! Lenient readers repair what guests send. Request smuggling needs two readers that repair
//! differently. So everything that is not plainly right is refused: line feeds without carriage
//! return, folded lines, spaces before colons, two lengths, encodings other than one `chunked`,
//! control characters.

use belljar_core::policy::{Rule, folded, is_for_the_proxy};
use hyper::Method;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use tokio::time::timeout;

use crate::limits::Limits;
use crate::wire::{Reader, Stream};

const MOST_HEADERS: usize = 100;

/// A request's head.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: Method,
    /// The target, as written.
    pub(crate) target: String,
    /// The header fields, as written.
    pub(crate) headers: HeaderMap,
    /// How the body ends.
    pub(crate) framing: Framing,
    /// The `Host` header. HTTP/1.0 may lack it.
    pub(crate) host: Option<String>,
    /// Whether the guest speaks HTTP/1.1.
    pub(crate) modern: bool,
    /// Whether the guest wants to send another request on this connection.
    pub(crate) keep_alive: bool,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// After that many bytes.
    Length(u64),
    /// With a chunk of no bytes.
    Chunked,
}

/// Reads the next head. `None` if the guest has nothing more to ask: it left, or was silent for too
/// long.
pub(crate) async fn read<S: Stream>(reader: &mut Reader<S>, limits: &Limits) -> Result<Option<Head>, Rule> {
    if reader.buffer.is_empty() {
        match timeout(limits.idle, reader.fill()).await {
            Ok(Ok(1..)) => {}
            _ => return Ok(None),
        }
    }
    let bytes = timeout(limits.head_time, read_bytes(reader, limits.head_bytes))
        .await
        .map_err(|_| Rule::Limit("time for a request's head"))??;
    parse(&bytes).map(Some)
}

/// Everything up to and including the empty line.
async fn read_bytes<S: Stream>(reader: &mut Reader<S>, most: usize) -> Result<bytes::BytesMut, Rule> {
    let mut seen = 0;
    loop {
        // Report broken line ends at once. A head with only line feeds would never be complete.
        if let Some(end) = find_end(&reader.buffer, seen)? {
            if end > most {
                return Err(Rule::Limit("bytes of a request's head"));
            }
            return Ok(reader.buffer.split_to(end));
        }
        seen = reader.buffer.len();
        if seen >= most {
            return Err(Rule::Limit("bytes of a request's head"));
        }
        if !matches!(reader.fill().await, Ok(1..)) {
            return Err(Rule::Http("it ends before its head does"));
        }
    }
}

/// Where the head ends. Looks only at bytes that were not looked at before.
pub(crate) fn find_end(bytes: &[u8], seen: usize) -> Result<Option<usize>, Rule> {
    for at in seen..bytes.len() {
        if bytes[at] != b'\n' {
            continue;
        }
        if at == 0 || bytes[at - 1] != b'\r' {
            return Err(Rule::Http("a line feed without a carriage return"));
        }
        if bytes[..=at].ends_with(b"\r\n\r\n") || at == 1 {
            return Ok(Some(at + 1));
        }
    }
    Ok(None)
}

pub(crate) fn parse(bytes: &[u8]) -> Result<Head, Rule> {
    const CONTROL: Rule = Rule::Http("a control character");
    let lines = bytes.strip_suffix(b"\r\n").and_then(|lines| lines.strip_suffix(b"\n"));
    let lines = lines.ok_or(Rule::Http("an empty line in front"))?;
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 11..=12 | 14..=31 | 127);
    if lines.iter().any(is_control) {
        return Err(CONTROL);
    }
    // Each line has exactly one carriage return, at its end. Another reader could take a second one
    // for the end of a line.
    let lines = lines.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").ok_or(CONTROL));
    let lines = lines.collect::<Result<Vec<_>, _>>()?;
    if lines.iter().any(|line| line.contains(&b'\r')) {
        return Err(CONTROL);
    }
    let mut lines = lines.into_iter();
    let (method, target, modern) = parse_request_line(lines.next().unwrap_or_default())?;
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = parse_field(line)?;
        if headers.len() == MOST_HEADERS {
            return Err(Rule::Limit("header fields of a request"));
        }
        headers.append(name, value);
    }
    let framing = framing(&headers, modern)?;
    let host = match single(&headers, header::HOST, "two Host headers")? {
        Some(host) => Some(host.to_owned()),
        None if modern && method != Method::CONNECT => return Err(Rule::Http("no Host header")),
        None => None,
    };
    let keep_alive = modern && !connection_says(&headers, "close");
    Ok(Head { method, target, headers, framing, host, modern, keep_alive })
}

fn parse_request_line(line: &[u8]) -> Result<(Method, String, bool), Rule> {
    const BROKEN: Rule = Rule::Http("the request line is not `METHOD target HTTP/1.1`");
    let line = std::str::from_utf8(line).map_err(|_| BROKEN)?;
    let parts: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = parts[..] else { return Err(BROKEN) };
    let modern = match version {
        "HTTP/1.1" => true,
        "HTTP/1.0" => false,
        _ => return Err(Rule::Http("only HTTP/1.1 is spoken here")),
    };
    let visible = !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_graphic());
    // Methods are upper case. hyper would take any token, and servers disagree on the others.
    let named = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    match Method::from_bytes(method.as_bytes()) {
        Ok(method) if visible && named => Ok((method, target.to_owned(), modern)),
        _ => Err(BROKEN),
    }
}

fn parse_field(line: &[u8]) -> Result<(HeaderName, HeaderValue), Rule> {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return Err(Rule::Http("a folded header line"));
    }
    let colon =
        line.iter().position(|byte| *byte == b':').ok_or(Rule::Http("a header line without a colon"))?;
    // A name is a token, so a space before the colon fails here.
    let name =
        HeaderName::from_bytes(&line[..colon]).map_err(|_| Rule::Http("a header name is not a token"))?;
    let spelled = name.as_str();
    let plainly = folded(spelled);
    if plainly != spelled && is_for_the_proxy(&plainly) {
        return Err(Rule::Http("a header that some servers take for one that frames or routes the request"));
    }
    let value = trim(&line[colon + 1..]);
    let value =
        HeaderValue::from_bytes(value).map_err(|_| Rule::Http("a header value has a control character"))?;
    Ok((name, value))
}

/// Only spaces and tabs may surround a value.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

fn framing(headers: &HeaderMap, modern: bool) -> Result<Framing, Rule> {
    let length = single(headers, header::CONTENT_LENGTH, "two Content-Length headers")?;
    let coding = single(headers, header::TRANSFER_ENCODING, "two Transfer-Encoding headers")?;
    match (length, coding) {
        (Some(_), Some(_)) => Err(Rule::Http("both Content-Length and Transfer-Encoding")),
        (None, Some(_)) if !modern => Err(Rule::Http("Transfer-Encoding in HTTP/1.0")),
        (None, Some(coding)) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
        (None, Some(_)) => Err(Rule::Http("a Transfer-Encoding other than chunked")),
        (None, None) => Ok(Framing::Length(0)),
        (Some(length), None) => {
            let plain = (1..=18).contains(&length.len()) && length.bytes().all(|byte| byte.is_ascii_digit());
            let length = length.parse().ok().filter(|_| plain);
            length.map(Framing::Length).ok_or(Rule::Http("a Content-Length that is not a plain number"))
        }
    }
}

/// The value of a header that must not be there twice.
fn single<'a>(
    headers: &'a HeaderMap,
    name: HeaderName,
    twice: &'static str,
) -> Result<Option<&'a str>, Rule> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(HeaderValue::to_str).transpose();
    if values.next().is_some() {
        return Err(Rule::Http(twice));
    }
    value.map_err(|_| Rule::Http("a header value is not ASCII"))
}

/// Whether `Connection` contains this word.
pub(crate) fn connection_says(headers: &HeaderMap, word: &str) -> bool {
    let values = headers.get_all(header::CONNECTION).iter();
    values
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .any(|item| trim(item).eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rule(text: &str) -> String {
        parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_plain_head_is_read() {
        let head =
            parse(b"POST http://a.com/x HTTP/1.1\r\nHost: a.com\r\nContent-Length: 3\r\n\r\n").unwrap();
        assert_eq!((head.method, head.target.as_str()), (Method::POST, "http://a.com/x"));
        assert_eq!((head.framing, head.host.as_deref()), (Framing::Length(3), Some("a.com")));
        assert!(head.modern && head.keep_alive);
        let old = parse(b"GET http://a.com/ HTTP/1.0\r\n\r\n").unwrap();
        assert!(!old.modern && !old.keep_alive && old.host.is_none());
    }

    #[test]
    fn each_shape_two_readers_could_read_differently_is_refused() {
        let get = |fields: &str| format!("GET http://a.com/ HTTP/1.1\r\nHost: a.com\r\n{fields}\r\n\r\n");
        for (fields, expected) in [
            ("Content-Length: 1\r\nContent-Length: 1", "two Content-Length"),
            ("Content-Length: 1, 1", "not a plain number"),
            ("Content-Length: +1", "not a plain number"),
            ("Content-Length: 0x1", "not a plain number"),
            ("Content-Length:", "not a plain number"),
            ("Content-Length: 99999999999999999999", "not a plain number"),
            ("Content-Length: 1\r\nTransfer-Encoding: chunked", "both"),
            ("Transfer-Encoding: gzip, chunked", "other than chunked"),
            ("Transfer-Encoding: identity", "other than chunked"),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "two Transfer-Encoding"),
            ("Transfer-Encoding : chunked", "not a token"),
            ("X Y: 1", "not a token"),
            (": 1", "not a token"),
            ("X", "without a colon"),
            ("X: 1\r\n folded", "folded"),
            ("X: 1\r\n\tfolded", "folded"),
            ("Host: b.com", "two Host"),
            ("X: a\0b", "control"),
            ("X: a\rb", "control"),
            ("X: a\r", "control"),
            ("X:\ra", "control"),
            ("X: \r \t", "control"),
            ("Content-Length: 0\r", "control"),
            ("Content_Length: 5", "some servers take"),
            ("transfer_encoding: chunked", "some servers take"),
            ("Transfer.Encoding: chunked", "some servers take"),
            ("Proxy_Authorization: x", "some servers take"),
        ] {
            assert!(rule(&get(fields)).contains(expected), "{fields:?}: {}", rule(&get(fields)));
        }
    }

    #[test]
    fn request_lines_have_three_words_and_one_version() {
        for line in [
            "GET  http://a.com/ HTTP/1.1",
            "GET http://a.com/ x HTTP/1.1",
            "GET\thttp://a.com/ HTTP/1.1",
            "GET http://a.com/",
            " GET http://a.com/ HTTP/1.1",
            "get http://a.com/ HTTP/1.1",
            "GET http://\u{e4}.com/ HTTP/1.1",
            "PRI * HTTP/2.0",
            "GET http://a.com/ HTTP/1.2",
            "GET http://a.com/ http/1.1",
        ] {
            assert!(parse(format!("{line}\r\nHost: a.com\r\n\r\n").as_bytes()).is_err(), "{line:?}");
        }
        assert!(rule("GET http://a.com/ HTTP/1.1\r\n\r\n").contains("no Host"));
    }

    #[test]
    fn the_end_is_found_however_the_head_arrives_and_bare_line_feeds_are_not_an_end() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
        for seen in 0..head.len() - 4 {
            assert_eq!(find_end(head, seen), if seen <= 26 { Ok(Some(27)) } else { Ok(None) }, "{seen}");
        }
        assert_eq!(find_end(b"\r\nGET", 0), Ok(Some(2)));
        assert!(find_end(b"GET / HTTP/1.1\n\n", 0).is_err());
    }

    proptest! {
        /// What passes contains nothing that another reader could take for the end of a line or a
        /// field.
        #[test]
        fn a_head_that_passes_has_no_second_reading(
            line in "(GET|POST) http://[a-z@:/?#]{1,9}[ \\t]?[a-z]? HTTP/1\\.[01]",
            fields in proptest::collection::vec("[A-Za-z -]{1,9}:[ -~\\t\\r\\n\\x00\\x0b]{0,9}", 0..4),
        ) {
            let text = format!("{line}\r\nHost: a\r\n{}\r\n\r\n", fields.join("\r\n"));
            if let Ok(head) = parse(text.as_bytes()) {
                prop_assert!(!head.target.contains(|c: char| c.is_whitespace() || c.is_control()));
                prop_assert!(head.headers.values().all(|value| value.as_bytes().iter().all(|byte| *byte == b'\t' || *byte >= b' ')));
                prop_assert!(head.headers.keys().all(|name| !name.as_str().contains(' ')));
            }
        }
    }
}
