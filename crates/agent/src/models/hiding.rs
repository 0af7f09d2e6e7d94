//! Takes a model's key out of what its server says.
//!
//! The key is looked for as it is. A server that wants to can spell it in another way.

use belljar_core::Secret;

/// What stands in its place.
const HIDDEN: &str = "***";
/// A shorter key is a word like `none` or `EMPTY`, for servers that want any key at all. Scripts
/// have such words in them, so it is hidden in errors alone.
const SHORTEST: usize = 12;

/// A key that nobody is to see.
#[derive(Debug)]
pub(super) struct Hiding {
    key: Option<Secret>,
}

impl Hiding {
    pub(super) fn new(key: Option<Secret>) -> Self {
        Self { key: key.filter(|key| !key.expose().is_empty()) }
    }

    pub(super) fn key(&self) -> Option<&Secret> {
        self.key.as_ref()
    }

    fn long_key(&self) -> Option<&str> {
        self.key.as_ref().map(Secret::expose).filter(|key| key.len() >= SHORTEST)
    }

    /// What is said about a failure, without the key.
    pub(super) fn in_error(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.expose(), HIDDEN),
            None => text.to_owned(),
        }
    }

    /// A reply, or the bytes of one, without the key.
    pub(super) fn in_reply(&self, text: String) -> String {
        match self.long_key() {
            Some(key) if text.contains(key) => text.replace(key, HIDDEN),
            _ => text,
        }
    }

    /// Like [`Self::in_reply`], before anything is cut out of it.
    pub(super) fn in_body(&self, body: Vec<u8>) -> Vec<u8> {
        let Some(key) = self.long_key() else { return body };
        let text = String::from_utf8_lossy(&body);
        if text.contains(key) { text.replace(key, HIDDEN).into_bytes() } else { body }
    }

    /// For a reply that comes in pieces.
    pub(super) fn pieces(&self) -> Pieces<'_> {
        Pieces { key: self.long_key(), held: String::new() }
    }
}

/// Hides a key that may come in several pieces. What may be its beginning is held back.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    key: Option<&'a str>,
    held: String,
}

impl Pieces<'_> {
    /// Takes a piece. Returns what can be shown by now.
    pub(super) fn push(&mut self, piece: String) -> String {
        let Some(key) = self.key else { return piece };
        self.held.push_str(&piece);
        let mut shown = String::new();
        while let Some(at) = self.held.find(key) {
            shown.push_str(&self.held[..at]);
            shown.push_str(HIDDEN);
            self.held.drain(..at + key.len());
        }
        let begins = |length: &usize| key.is_char_boundary(*length) && self.held.ends_with(&key[..*length]);
        let kept = (1..key.len()).rev().find(begins).unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - kept);
        shown.push_str(&std::mem::replace(&mut self.held, rest));
        shown
    }

    /// What was held back and was no key.
    pub(super) fn finish(self) -> String {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn in_pieces(hiding: &Hiding, pieces: &[&str]) -> String {
        let mut filter = hiding.pieces();
        let mut shown: String = pieces.iter().map(|piece| filter.push((*piece).to_owned())).collect();
        shown.push_str(&filter.finish());
        shown
    }

    #[test]
    fn a_key_in_pieces_is_hidden_and_what_only_begins_like_it_is_not() {
        let hiding = Hiding::new(Some(Secret::new("sk-aab-sk-aac")));
        assert_eq!(in_pieces(&hiding, &["x sk-a", "ab-sk", "-aac y"]), "x *** y");
        assert_eq!(in_pieces(&hiding, &["sk-aab-sk-aab-sk-aac"]), "sk-aab-***");
        assert_eq!(in_pieces(&hiding, &["sk-aab-s", "nake"]), "sk-aab-snake");
        assert_eq!(in_pieces(&hiding, &["sk-aab-sk-aa"]), "sk-aab-sk-aa");
        let mut filter = hiding.pieces();
        assert_eq!(filter.push("print('sk-".into()), "print('", "nothing else waits");
    }

    #[test]
    fn a_word_in_place_of_a_key_is_hidden_in_errors_alone() {
        let hiding = Hiding::new(Some(Secret::new("none")));
        assert_eq!(hiding.in_error("no such key: none"), "no such key: ***");
        assert_eq!(hiding.in_reply("x = 'none'".into()), "x = 'none'");
        assert_eq!(in_pieces(&hiding, &["none"]), "none");
        assert_eq!(Hiding::new(Some(Secret::new(""))).in_error("abc"), "abc");
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_text_as_the_whole(pieces in proptest::collection::vec("[aé]{0,9}b?", 0..8)) {
            let hiding = Hiding::new(Some(Secret::new("aéaaaéaaéab")));
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(in_pieces(&hiding, &pieces), hiding.in_reply(pieces.concat()));
        }
    }
}
