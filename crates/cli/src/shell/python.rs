//! The little of Python's syntax that a prompt must know: strings, and which statements have a
//! block.

/// The words that Python keeps for itself.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Those of them that begin a compound statement, or a part of one.
const COMPOUND: [&str; 12] =
    ["async", "class", "def", "elif", "else", "except", "finally", "for", "if", "try", "while", "with"];

/// Whether Python keeps this word for itself.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Whether a statement that begins like this has a block.
pub(super) fn is_compound(statement: &str) -> bool {
    COMPOUND.contains(&word(statement))
}

/// The name, keyword or number that `text` begins with. It may be empty.
pub(super) fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// The length of the string literal that `text` begins with. `None` if it is still open. A one-line
/// string that is never closed ends with its line: Python will complain about it.
pub(super) fn string(text: &str) -> Option<usize> {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let is_triple = text.starts_with(&triple);
    let mut index = if is_triple { 3 } else { 1 };
    while let Some(c) = text[index..].chars().next() {
        let here = &text[index..];
        match c {
            '\\' => index += here.chars().nth(1).map_or(0, char::len_utf8),
            '\n' if !is_triple => return Some(index),
            _ if is_triple && here.starts_with(&triple) => return Some(index + 3),
            _ if !is_triple && here.starts_with(quote) => return Some(index + 1),
            _ => {}
        }
        index += c.len_utf8();
    }
    if is_triple { None } else { Some(text.len()) }
}
