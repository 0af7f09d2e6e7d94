//! Shortens what a model is shown.

/// The text, or its beginning and its end with a line between them that says how much is missing.
/// The end gets more room: the last lines say how something ended.
pub(crate) fn clip(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = floor(text, most / 3);
    let tail = ceil(text, text.len() - (most - most / 3));
    format!("{}\n… {} bytes are left out …\n{}", &text[..head], tail - head, &text[tail..])
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_left_out() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcdefghij", 6), "ab\n… 4 bytes are left out …\nghij");
        assert_eq!(clip("ééééé", 5), "\n… 6 bytes are left out …\néé");
        assert_eq!(clip("abc", 0), "\n… 3 bytes are left out …\n");
    }
}
