//! MIME types of displays: which are valid, and how their data is written.

/// The longest type that is taken.
const LONGEST: usize = 100;

/// How data of a type is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Json,
    Bytes,
}

impl Kind {
    /// `None` if it is not a type: `type/subtype` in lower case, without parameters.
    pub(super) fn of(mime: &str) -> Option<Self> {
        let (top, sub) = mime.split_once('/')?;
        if mime.len() > LONGEST || !is_name(top) || !is_name(sub) {
            return None;
        }
        Some(match (top, sub) {
            ("application", "json") => Self::Json,
            _ if sub.ends_with("+json") => Self::Json,
            ("text", _) | ("application", "xml" | "javascript") => Self::Text,
            _ if sub.ends_with("+xml") => Self::Text,
            _ => Self::Bytes,
        })
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || b"!#$&^_.+-".contains(&byte))
}

/// The usual ending of a file of this type.
pub(super) fn extension(mime: &str) -> &'static str {
    match mime {
        "text/plain" => "txt",
        "text/html" => "html",
        "text/markdown" => "md",
        "text/latex" => "tex",
        "text/csv" => "csv",
        "text/javascript" | "application/javascript" => "js",
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "application/pdf" => "pdf",
        "application/vnd.plotly.v1+json" => "plotly.json",
        "application/json" => "json",
        "audio/wav" => "wav",
        "video/mp4" => "mp4",
        _ => match Kind::of(mime) {
            Some(Kind::Json) => "json",
            Some(Kind::Text) if mime.ends_with("xml") => "xml",
            Some(Kind::Text) => "txt",
            _ => "bin",
        },
    }
}
