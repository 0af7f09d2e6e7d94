//! Media types of files.
//!
//! One rule for all engines. If the name has a known extension, that says what the file is.
//! Otherwise its first bytes do. A type that begins with `text/` also says `charset=utf-8` if the
//! bytes that were read are UTF-8. What nothing says is `application/octet-stream`.

/// What a file is that nothing is known about.
const UNKNOWN: &str = "application/octet-stream";

/// How many bytes decide, at most.
const LOOKED_AT: usize = 512;

/// Bytes that a file begins with, after so many others, and what it is then.
const SIGNATURES: [(usize, &[u8], &str); 29] = [
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"%!PS-Adobe-", "application/postscript"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"\0asm", "application/wasm"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
    (0, b"\x89HDF\r\n\x1a\n", "application/x-hdf5"),
    (0, b"\x93NUMPY", "application/x-npy"),
    (0, b"OggS\0", "application/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (4, b"ftyp", "video/mp4"),
    (0, b"wOF2", "font/woff2"),
];

/// The media type of a file, by its name and its content or the beginning of that.
pub fn mime_type(name: &str, content: &[u8]) -> String {
    let by_name = belljar_core::media_type(name);
    let is = if by_name == UNKNOWN { sniff(content) } else { by_name };
    if is.starts_with("text/") && !is.contains(';') && is_utf8(content) {
        format!("{is}; charset=utf-8")
    } else {
        is.to_owned()
    }
}

/// What the bytes say.
fn sniff(content: &[u8]) -> &'static str {
    let begins = |(skipped, signature, _): &&(usize, &[u8], &str)| {
        content.get(*skipped..).is_some_and(|rest| rest.starts_with(signature))
    };
    // Two letters alone are as likely to be text.
    let is_text = is_text(content);
    if let Some((_, signature, kind)) = SIGNATURES.iter().find(begins)
        && !(is_text && signature.len() < 5)
    {
        return kind;
    }
    match content {
        [0xff, 0xfe, ..] => "text/plain; charset=utf-16le",
        [0xfe, 0xff, ..] => "text/plain; charset=utf-16be",
        _ if is_text => markup(content).unwrap_or("text/plain"),
        _ => UNKNOWN,
    }
}

/// What a text is, by its first tag.
fn markup(content: &[u8]) -> Option<&'static str> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content).trim_ascii_start();
    let begins = |tag: &[u8]| {
        content.get(..tag.len()).is_some_and(|found| found.eq_ignore_ascii_case(tag))
            && content.get(tag.len()).is_none_or(|next| matches!(next, b'>' | b' ' | b'\t' | b'\r' | b'\n'))
    };
    let kinds: [(&[u8], &str); 4] = [
        (b"<!doctype html", "text/html"),
        (b"<html", "text/html"),
        (b"<svg", "image/svg+xml"),
        (b"<?xml", "application/xml"),
    ];
    kinds.into_iter().find(|(tag, _)| begins(tag)).map(|(_, kind)| kind)
}

/// Whether there are no control characters that no text has.
fn is_text(content: &[u8]) -> bool {
    let content = &content[..content.len().min(LOOKED_AT)];
    !content.iter().any(|byte| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

/// Whether it is UTF-8, up to a character that may go on where no more was read.
fn is_utf8(content: &[u8]) -> bool {
    str::from_utf8(content).err().is_none_or(|error| error.error_len().is_none())
}

/// Whether files of a media type can be shown to a model as text: `text/…`, and JSON in all its
/// kinds. Parameters do not matter.
pub fn is_text_mime(mime_type: &str) -> bool {
    let kind = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind.starts_with("text/") || kind == "application/json" || kind.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_14_text_is_what_a_model_can_read() {
        for text in ["  text/plain  ", "application/json; charset=utf-8", "application/ld+json", "TEXT/CSV"] {
            assert!(is_text_mime(text), "{text}");
        }
        for other in ["image/png", "", "application/xml", "application/javascript", "image/svg+xml", ";"] {
            assert!(!is_text_mime(other), "{other}");
        }
    }

    #[test]
    fn a_known_extension_decides() {
        assert_eq!(mime_type("out/a.csv", b"a,b"), "text/csv; charset=utf-8");
        assert_eq!(mime_type("a.csv", b"\xff"), "text/csv");
        assert_eq!(mime_type("a.PNG", b"not really"), "image/png");
        assert_eq!(mime_type("a.json", b"{}"), "application/json");
    }

    #[test]
    fn otherwise_the_content_decides() {
        for (content, expected) in [
            (&b""[..], "text/plain; charset=utf-8"),
            (b"#!/bin/sh\n", "text/plain; charset=utf-8"),
            ("caf\u{e9}".as_bytes(), "text/plain; charset=utf-8"),
            (b"caf\xc3", "text/plain; charset=utf-8"),
            (b"caf\xe9 au lait", "text/plain"),
            (b"BMW and ID3", "text/plain; charset=utf-8"),
            (b"\xff\xfea\0", "text/plain; charset=utf-16le"),
            (&[1, 2, 3], UNKNOWN),
            (b"\x89PNG\r\n\x1a\n", "image/png"),
            (b"%PDF-1.7\n", "application/pdf"),
            (b"PK\x03\x04", "application/zip"),
            (b"RIFF\0\0\0\0WEBP", "image/webp"),
            (b"  <!DOCTYPE html>", "text/html; charset=utf-8"),
            (b"<?xml version='1.0'?>", "application/xml"),
        ] {
            assert_eq!(mime_type("file", content), expected, "{content:?}");
        }
    }
}
