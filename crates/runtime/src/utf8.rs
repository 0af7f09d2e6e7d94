//! Decodes bytes that arrive in pieces.

/// Decodes UTF-8 whose characters may be cut between reads. What is not UTF-8 becomes U+FFFD.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The beginning of a character whose rest has not come yet.
    rest: Vec<u8>,
}

impl Decoder {
    /// The text that is complete so far.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let mut whole = std::mem::take(&mut self.rest);
        whole.extend_from_slice(bytes);
        let mut text = String::with_capacity(whole.len());
        let mut remaining = whole.as_slice();
        loop {
            match std::str::from_utf8(remaining) {
                Ok(valid) => {
                    text.push_str(valid);
                    return text;
                }
                Err(error) => {
                    let (valid, after) = remaining.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    match error.error_len() {
                        Some(length) => {
                            text.push(char::REPLACEMENT_CHARACTER);
                            remaining = &after[length..];
                        }
                        None => {
                            self.rest = after.to_vec();
                            return text;
                        }
                    }
                }
            }
        }
    }

    /// What is left at the end of the input.
    pub(crate) fn finish(&mut self) -> String {
        match self.rest.is_empty() {
            true => String::new(),
            false => {
                self.rest.clear();
                char::REPLACEMENT_CHARACTER.to_string()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_cut_in_two_arrives_whole() {
        let bytes = "a€😀z".as_bytes();
        for cut in 0..=bytes.len() {
            let mut decoder = Decoder::default();
            let text = decoder.push(&bytes[..cut]) + &decoder.push(&bytes[cut..]) + &decoder.finish();
            assert_eq!(text, "a€😀z", "cut at {cut}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_not_lost() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"a\xffb\xc3"), "a\u{fffd}b");
        assert_eq!(decoder.finish(), "\u{fffd}");
    }
}
