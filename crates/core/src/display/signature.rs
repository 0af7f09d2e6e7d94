//! How well-known binary types begin. A form that begins otherwise is not what its type says.

/// Within so many bytes a PDF says that it is one. Readers take what comes before.
const PDF_BEGINS_WITHIN: usize = 1024;

/// Whether data can be of a type. There is none without any data.
pub(super) fn fits(mime: &str, bytes: &[u8]) -> bool {
    match mime {
        "image/png" => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
        "image/jpeg" => bytes.starts_with(b"\xff\xd8\xff"),
        "image/gif" => bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a"),
        "image/webp" => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
        "application/pdf" => {
            let head = &bytes[..bytes.len().min(PDF_BEGINS_WITHIN)];
            head.windows(5).any(|window| window == b"%PDF-")
        }
        _ => !bytes.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [(&str, &[u8]); 6] = [
        ("image/png", b"\x89PNG\r\n\x1a\n\0"),
        ("image/jpeg", b"\xff\xd8\xff\xe0"),
        ("image/gif", b"GIF87a"),
        ("image/gif", b"GIF89a"),
        ("image/webp", b"RIFF\0\0\0\0WEBPVP8 "),
        ("application/pdf", b"junk\n%PDF-1.7"),
    ];

    #[test]
    fn each_known_type_is_known_by_how_it_begins_and_no_other_passes_for_it() {
        for (mime, bytes) in KNOWN {
            assert!(fits(mime, bytes), "{mime}");
            for (other, _) in KNOWN.iter().filter(|(other, _)| *other != mime) {
                assert!(!fits(other, bytes), "{mime} as {other}");
            }
            assert!(!fits(mime, b"") && !fits(mime, b"notpng") && !fits(mime, &bytes[..2]), "{mime}");
        }
    }

    #[test]
    fn a_type_that_is_not_known_may_be_anything_but_nothing() {
        assert!(fits("application/octet-stream", b"x"));
        assert!(!fits("application/octet-stream", b""));
    }
}
