//! Claims about the parsers that hold for every input. The fuzz targets in `fuzz/` call these
//! functions, and so does the replay of their corpus below. They are here because nothing else has
//! access to the parsers.
//!
//! Each function takes any bytes and panics if a claim does not hold.

use crate::head::{self, Framing};
use crate::sni::{self, Hello, MAX_HELLO};
use crate::socks;

/// A request head: its end is found however it arrives, and what is accepted has one reading.
pub fn request_head(input: &[u8]) {
    let whole = head::find_end(input, 0);
    for seen in cuts(input.len()) {
        match head::find_end(&input[..seen], 0) {
            // Bytes that were looked at need not be looked at again.
            Ok(None) => assert_eq!(head::find_end(input, seen), whole, "after {seen}"),
            early => assert_eq!(early, whole, "an end at {seen} that is none later"),
        }
    }
    let Ok(Some(end)) = whole else { return };
    assert!(end <= input.len() && input[..end].ends_with(b"\r\n"));
    let Ok(parsed) = head::parse(&input[..end]) else { return };
    assert!(parsed.target.bytes().all(|byte| byte.is_ascii_graphic()), "{:?}", parsed.target);
    assert!(parsed.method.as_str().bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-'));
    let lengths = ["content-length", "transfer-encoding", "host"];
    assert!(lengths.iter().all(|name| parsed.headers.get_all(*name).iter().count() <= 1), "{parsed:?}");
    let is_chunked = parsed.headers.contains_key("transfer-encoding");
    assert_eq!(parsed.framing == Framing::Chunked, is_chunked);
    assert!(!is_chunked || !parsed.headers.contains_key("content-length"), "{parsed:?}");
    // Written out plainly, it is the same request.
    let version = if parsed.modern { "HTTP/1.1" } else { "HTTP/1.0" };
    let mut plain = format!("{} {} {version}\r\n", parsed.method, parsed.target).into_bytes();
    for (name, value) in &parsed.headers {
        let value = value.as_bytes();
        assert!(!value.iter().any(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 127), "{value:?}");
        plain.extend([name.as_str().as_bytes(), b": ", value, b"\r\n"].concat());
    }
    plain.extend(b"\r\n");
    let again = head::parse(&plain).expect("what was accepted is accepted again");
    assert_eq!((again.method, again.target, again.modern), (parsed.method, parsed.target, parsed.modern));
    assert_eq!(
        (again.framing, again.host, again.keep_alive),
        (parsed.framing, parsed.host, parsed.keep_alive)
    );
    assert_eq!(again.headers, parsed.headers);
}

/// A TLS greeting: the first answer that is not "more" is final. The same holds for whether a host
/// answers in TLS.
pub fn client_hello(input: &[u8]) {
    let whole = sni::read(input);
    for end in cuts(input.len()) {
        match (sni::read(&input[..end]), &whole) {
            (Hello::Incomplete, _) => assert!(end < MAX_HELLO, "{end} bytes are held back"),
            (Hello::NotTls | Hello::Malformed, Hello::NotTls | Hello::Malformed) => {}
            (early, whole) => assert_eq!(early, *whole, "an answer after {end} that is another later"),
        }
    }
    let answers = sni::is_answer(input);
    for end in cuts(input.len()) {
        assert!(sni::is_answer(&input[..end]).is_none_or(|early| Some(early) == answers), "after {end}");
    }
    if let Hello::Complete { length, .. } = whole {
        assert!(length <= input.len() && sni::read(&input[..length]) == whole, "it ends at {length}");
    }
    if let Hello::Complete { server_name: Some(name), .. } = whole {
        assert!(name.len() < input.len().min(MAX_HELLO), "a name of {} bytes", name.len());
    }
}

/// A SOCKS greeting and request: there is no answer before all of it has arrived, and then always
/// the same one.
pub fn socks_handshake(input: &[u8]) {
    let whole = socks::greeting(input);
    for end in cuts(input.len()) {
        if let Some((anonymous, used)) = socks::greeting(&input[..end]) {
            assert!(used <= end);
            assert_eq!(whole, Some((anonymous, used)), "after {end}");
        }
    }
    let Some((_, used)) = whole else { return };
    let rest = &input[used..];
    let whole = socks::request(rest);
    for end in cuts(rest.len()) {
        let Some((asked, used)) = socks::request(&rest[..end]) else { continue };
        assert!(used <= end);
        assert_eq!(Some(&asked), whole.as_ref().map(|(asked, _)| asked), "after {end}");
        if let socks::Asked::NotOffered(_, words) = &asked {
            assert!(words[0] == 5 && words[1] != 0, "a refusal that grants: {words:?}");
        }
    }
    assert!(whole.is_some() || rest.len() < 5 + 255 + 2, "{} bytes are held back", rest.len());
}

/// Some places to cut. Not all, because each costs as much as the whole.
fn cuts(length: usize) -> impl Iterator<Item = usize> {
    (0..=length).step_by(1 + length / 64).chain([length])
}

#[cfg(test)]
mod tests {
    use crate::fuzz_entries as entries;

    /// The parts that the formats are made of, and input that breaks readers.
    const WORDS: &[&[u8]] = &[
        b"\r\n",
        b"\n",
        b"\r",
        b"\r\n\r\n",
        b"\0",
        b" ",
        b"\t",
        b":",
        b"http://",
        b"@",
        b"HTTP/1.1",
        b"HTTP/1.0",
        b"CONNECT ",
        b"Host: a\r\n",
        b"Content-Length: 1\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"\xff",
        b"\x16\x03\x01",
        b"\x16\x03\x01\x00\x01",
        b"\x01\x00\x00",
        b"\x00\x00",
        b"\xfe\x0d",
        b"\x05\x01\x00",
        b"\x03\x09good.test",
    ];

    belljar_testing::replay_targets! {
        heads: request_head, "request_head";
        hellos: client_hello, "client_hello";
        handshakes: socks_handshake, "socks_handshake";
    }
}
