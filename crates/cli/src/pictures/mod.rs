//! Pictures on a terminal that can show them.
//!
//! ```text
//!  environment ──► Protocol::found ──► picture(display) ──► the sequence to write, or None
//! ```
//!
//! A script's picture goes to the terminal's own decoder. So only PNG is passed on, of a size that
//! no decoder has trouble with, and in base64 that was written here: nothing of a script is read as
//! a sequence. Terminals without a decoder get sixels (`sixel`). A picture can look like anything,
//! also like lines of ours. It begins two columns to the right, where none of ours does.

mod sixel;

use std::ffi::OsStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use belljar::{Display, DisplayData};

/// Columns between the edge of the screen and a picture.
const INDENT: &str = "  ";
/// The largest picture that is passed on.
const MOST_BYTES: usize = 16 << 20;
const MOST_PIXELS: u64 = 50_000_000;

/// How a terminal takes pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// kitty's own, which Ghostty speaks too.
    Kitty,
    /// iTerm2's own, which WezTerm speaks too.
    ITerm2,
    /// Sixels, which foot, mlterm, contour, Konsole and an xterm that was told to understand.
    Sixel,
}

/// Says how the terminal takes pictures where it does not say so itself.
const CHOICE: &str = "BELLJAR_PICTURES";

impl Protocol {
    /// What the user says of the terminal, or what it says of itself in the environment. `None` if
    /// it shows no pictures, or if something stands between it and us.
    pub(crate) fn found(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<Self> {
        match variable(CHOICE).unwrap_or_default().to_str() {
            Some("kitty") => return Some(Self::Kitty),
            Some("iterm2") => return Some(Self::ITerm2),
            Some("sixel") => return Some(Self::Sixel),
            Some("none") => return None,
            _ => {}
        }
        let is = |name: &str, value: &str| variable(name).as_deref() == Some(OsStr::new(value));
        let term = variable("TERM").unwrap_or_default();
        let term = term.to_string_lossy();
        // These take pictures in an envelope only, and only if told so.
        if variable("TMUX").is_some() || term.starts_with("screen") || term.starts_with("tmux") {
            return None;
        }
        if is("TERM_PROGRAM", "iTerm.app") || is("TERM_PROGRAM", "WezTerm") {
            return Some(Self::ITerm2);
        }
        /// The first Konsole that shows sixels.
        const KONSOLE: u32 = 220_400;
        let konsole = variable("KONSOLE_VERSION").and_then(|version| version.to_str()?.parse().ok());
        let knows_sixel = ["foot", "mlterm", "contour", "yaft"].iter().any(|name| term.starts_with(name));
        if knows_sixel || konsole.is_some_and(|version: u32| version >= KONSOLE) {
            return Some(Self::Sixel);
        }
        let is_kitty = variable("KITTY_WINDOW_ID").is_some() || is("TERM_PROGRAM", "ghostty");
        (is_kitty || term == "xterm-kitty" || term == "xterm-ghostty").then_some(Self::Kitty)
    }

    /// What shows the picture of a display. `None` if it has none that can be shown.
    pub(crate) fn picture(self, display: &Display) -> Option<String> {
        let data = match display.get("image/png") {
            Some(DisplayData::Bytes(bytes)) if is_modest(bytes) => bytes,
            _ => return None,
        };
        let encoded = STANDARD.encode(data);
        Some(match self {
            Self::Kitty => kitty(&encoded),
            Self::Sixel => format!("{INDENT}{}\n", sixel::sixels(data)?),
            Self::ITerm2 => {
                let size = data.len();
                format!("{INDENT}\x1b]1337;File=inline=1;preserveAspectRatio=1;size={size}:{encoded}\x07\n")
            }
        })
    }
}

/// In pieces, as the protocol demands. `q=2`: the terminal must not type an answer.
fn kitty(encoded: &str) -> String {
    const PIECE: usize = 4096;
    let pieces: Vec<_> = encoded.as_bytes().chunks(PIECE).collect();
    let mut text = INDENT.to_owned();
    for (number, piece) in pieces.iter().enumerate() {
        let first = if number == 0 { "a=T,f=100,q=2," } else { "" };
        let more = u8::from(number + 1 < pieces.len());
        let piece = std::str::from_utf8(piece).expect("base64 is ASCII");
        text.push_str(&format!("\x1b_G{first}m={more};{piece}\x1b\\"));
    }
    text.push('\n');
    text
}

/// Whether it is a PNG, and not so large that a terminal would choke on it.
fn is_modest(bytes: &[u8]) -> bool {
    bytes.len() <= MOST_BYTES
        && png_size(bytes).is_some_and(|[width, height]| {
            width > 0 && height > 0 && u64::from(width) * u64::from(height) <= MOST_PIXELS
        })
}

/// Width and height, from the header that every PNG begins with.
fn png_size(bytes: &[u8]) -> Option<[u32; 2]> {
    let header = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR")?;
    let number = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some([number(0)?, number(4)?])
}

/// One line for a display whose picture cannot be shown here. `None` if it has no picture.
pub(crate) fn notice(display: &Display) -> Option<String> {
    let (mime, data) = display.forms().find(|(mime, _)| mime.starts_with("image/"))?;
    Some(format!("[{mime}, {}: --out DIR saves it]", size(data.as_bytes().len())))
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<Protocol> {
        Protocol::found(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).into())
        })
    }

    fn display(mime: &str, bytes: &[u8]) -> Display {
        let data = serde_json::json!({ "data": { mime: STANDARD.encode(bytes), "text/plain": "x" } });
        serde_json::from_value(data).unwrap()
    }

    fn png(width: u32, height: u32, length: usize) -> Vec<u8> {
        let header = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
        let mut png = [&header[..], &width.to_be_bytes(), &height.to_be_bytes()].concat();
        png.resize(length.max(png.len()), 7);
        png
    }

    #[test]
    fn a_terminal_is_known_by_what_it_says_of_itself() {
        for (variables, expected) in [
            (&[("TERM", "xterm-kitty")][..], Some(Protocol::Kitty)),
            (&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Some(Protocol::Kitty)),
            (&[("TERM_PROGRAM", "iTerm.app")], Some(Protocol::ITerm2)),
            (&[("TERM_PROGRAM", "WezTerm")], Some(Protocol::ITerm2)),
            (&[("TERM", "foot")], Some(Protocol::Sixel)),
            (&[("TERM", "xterm-256color"), ("KONSOLE_VERSION", "230801")], Some(Protocol::Sixel)),
            (&[("TERM", "xterm-256color"), ("KONSOLE_VERSION", "211200")], None),
            (&[("TERM", "xterm-256color"), ("BELLJAR_PICTURES", "sixel")], Some(Protocol::Sixel)),
            (&[("TERM", "xterm-kitty"), ("BELLJAR_PICTURES", "none")], None),
            (&[("TERM", "foot"), ("BELLJAR_PICTURES", "iterm2")], Some(Protocol::ITerm2)),
            (&[("TERM", "xterm-256color")], None),
            (&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")], None),
            (&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/t")], None),
            (&[], None),
        ] {
            assert_eq!(found(variables), expected, "{variables:?}");
        }
    }

    #[test]
    fn a_picture_is_sent_in_pieces_that_ask_for_no_answer() {
        let shown = Protocol::Kitty.picture(&display("image/png", &png(10, 10, 5_000))).unwrap();
        let pieces: Vec<_> = shown.trim_end().split("\x1b\\").filter(|piece| !piece.is_empty()).collect();
        assert_eq!(pieces.len(), 2);
        assert!(pieces[0].starts_with("  \x1b_Ga=T,f=100,q=2,m=1;iVBORw0KGgo"), "{}", pieces[0]);
        assert!(pieces[1].starts_with("\x1b_Gm=0;"), "{}", pieces[1]);
    }

    #[test]
    fn what_is_not_a_modest_picture_is_not_passed_on() {
        for (mime, bytes) in [
            ("image/png", b"\x89PNG\r\n\x1a\nGIF89a".to_vec()),
            ("image/png", png(100_000, 100_000, 0)),
            ("image/png", png(0, 5, 0)),
            ("image/png", png(1, 1, MOST_BYTES + 1)),
            ("image/jpeg", b"\xff\xd8\xff\xe0".to_vec()),
            ("image/gif", b"GIF89a".to_vec()),
        ] {
            assert_eq!(Protocol::ITerm2.picture(&display(mime, &bytes)), None, "{mime}");
        }
    }

    #[test]
    fn a_picture_that_is_not_shown_is_named() {
        let notice_of = |length| notice(&display("image/png", &png(1, 1, length))).unwrap();
        assert_eq!(notice_of(22_001), "[image/png, 23 KB: --out DIR saves it]");
        assert_eq!(notice_of(40), "[image/png, 40 bytes: --out DIR saves it]");
        assert_eq!(notice_of(2_340_000), "[image/png, 2.3 MB: --out DIR saves it]");
    }
}
