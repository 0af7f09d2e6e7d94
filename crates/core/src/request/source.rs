//! Scripts as they come from files and pipes.

use encoding_rs::Encoding;

use super::{ExecutionRequest, ScriptError};

impl ExecutionRequest {
    /// Takes a script from a file or a pipe, as Python does: with or without a byte order mark, in
    /// UTF-8 or in the encoding that one of its first two lines names. Those that web pages may
    /// have are known.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ScriptError> {
        let (bytes, is_marked) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => (rest.to_vec(), true),
            None => (bytes, false),
        };
        match encoding_of(&bytes).as_deref() {
            None | Some("utf-8" | "utf8" | "ascii" | "us-ascii" | "utf-8-sig") => {}
            Some(encoding) if is_marked => {
                return Err(ScriptError::MarkedOtherwise { encoding: encoding.to_owned() });
            }
            Some("latin-1" | "latin1" | "iso-8859-1" | "iso8859-1") => {
                return Ok(Self::new(bytes.iter().map(|byte| char::from(*byte)).collect::<String>()));
            }
            Some(encoding) => {
                let known = Encoding::for_label(encoding.as_bytes())
                    .ok_or_else(|| ScriptError::Encoding { encoding: encoding.to_owned() })?;
                let text = known.decode_without_bom_handling_and_without_replacement(&bytes);
                let other = || ScriptError::OtherEncoding { encoding: encoding.to_owned() };
                return text.map(|text| Self::new(text.into_owned())).ok_or_else(other);
            }
        }
        String::from_utf8(bytes).map(Self::new).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            ScriptError::NotUtf8 { byte: bytes[offset], offset, line: line_of(bytes, offset) }
        })
    }
}

/// The encoding that a comment in one of the first two lines names (PEP 263), in small letters.
fn encoding_of(script: &[u8]) -> Option<String> {
    script.split(|byte| *byte == b'\n').take(2).find_map(|line| {
        let line = String::from_utf8_lossy(line);
        let (before, rest) = line.split_once("coding")?;
        let rest = rest.strip_prefix([':', '='])?.trim_start_matches([' ', '\t']);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name: String = rest.chars().take_while(|c| is_part(*c)).collect();
        let is_comment = before.trim_start().starts_with('#');
        (is_comment && !name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
    })
}

/// The line that a byte is in, from 1.
pub(super) fn line_of(bytes: &[u8], offset: usize) -> usize {
    1 + bytes[..offset].iter().filter(|&&byte| byte == b'\n').count()
}
