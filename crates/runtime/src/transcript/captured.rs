//! One stream of a script's output: secrets hidden, text decoded, all of it kept.

use crate::mask::{Mask, MaskedStream};
use crate::utf8::Decoder;

#[derive(Debug)]
pub(super) struct Captured {
    pub(super) text: String,
    masked: MaskedStream,
    decoder: Decoder,
}

impl Captured {
    pub(super) fn new(mask: &Mask) -> Self {
        Self { text: String::new(), masked: mask.stream(), decoder: Decoder::default() }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<String> {
        let text = self.decoder.push(&self.masked.push(bytes));
        self.keep(text)
    }

    pub(super) fn finish(&mut self) -> Option<String> {
        let text = self.decoder.push(&self.masked.finish()) + &self.decoder.finish();
        self.keep(text)
    }

    fn keep(&mut self, text: String) -> Option<String> {
        self.text.push_str(&text);
        (!text.is_empty()).then_some(text)
    }
}
