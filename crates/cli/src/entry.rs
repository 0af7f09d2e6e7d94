//! Finds where one entry at the prompt ends.
//!
//! An entry is complete when nothing is left open: no bracket, no triple quote, no backslash at the
//! end. An entry with a line that ends in `:` or begins with `@` is a block. Only an empty line
//! completes a block, as at Python's own prompt. Python itself reports what is wrong inside an
//! entry.

/// The lines of one entry, typed so far.
#[derive(Debug, Default)]
pub(crate) struct Entry(String);

impl Entry {
    /// Adds a line. Returns the whole entry once it is complete.
    pub(crate) fn push(&mut self, line: &str) -> Option<String> {
        self.0.push_str(line);
        self.0.push('\n');
        let shape = shape(&self.0);
        let is_complete = !shape.is_open && (!shape.is_block || line.trim().is_empty());
        is_complete.then(|| self.take())
    }

    /// Whether the next line is the first of a new entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the lines typed so far, complete or not.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Shape {
    is_open: bool,
    is_block: bool,
}

/// Reads source text like a tokenizer that only knows what opens and closes.
fn shape(source: &str) -> Shape {
    let mut depth = 0_usize;
    let mut is_block = false;
    let mut last = '\n';
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '#' => length = rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                match string(rest) {
                    Some(end) => length = end,
                    None => return Shape { is_open: true, is_block },
                }
                last = c;
            }
            '\\' if rest[1..].starts_with('\n') => {
                length = 2;
                if rest.len() == length {
                    return Shape { is_open: true, is_block };
                }
            }
            '\n' => {
                is_block |= depth == 0 && last == ':';
                if depth == 0 {
                    last = '\n';
                }
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '@' if last == '\n' => is_block = true,
            _ => {}
        }
        if !c.is_whitespace() && !matches!(c, '#' | '\\') {
            last = c;
        }
        rest = &rest[length..];
    }
    Shape { is_open: depth > 0, is_block }
}

/// The length of the string literal that `text` begins with. `None` if it is still open. A one-line
/// string that is never closed ends with its line: Python will complain about it.
fn string(text: &str) -> Option<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these lines make the first entry. `None` if all of them leave it open.
    fn first_entry(lines: &[&str]) -> Option<usize> {
        let mut entry = Entry::default();
        lines.iter().position(|line| entry.push(line).is_some()).map(|index| index + 1)
    }

    #[test]
    fn a_plain_line_is_an_entry() {
        for line in [
            "x = 1",
            "f(1, [2])",
            "'a:'",
            "x = {1: 2}",
            "# if x:",
            "print('(')",
            "s = \"it's\"",
            "x[1:2]",
            "(",
            ")",
        ] {
            let expected = (line != "(").then_some(1);
            assert_eq!(first_entry(&[line]), expected, "{line}");
        }
    }

    #[test]
    fn a_block_ends_with_an_empty_line() {
        assert_eq!(first_entry(&["if x:", "    y", "else:", "    z", "", "w"]), Some(5));
        assert_eq!(first_entry(&["def f():  # why", "    return 1", "  "]), Some(3));
        assert_eq!(first_entry(&["@cache", "def f(): return 1", ""]), Some(3));
        assert_eq!(first_entry(&["for x in y:", "    z"]), None);
    }

    #[test]
    fn what_is_open_waits_until_it_is_closed() {
        assert_eq!(first_entry(&["f(", "", "  1,", ")"]), Some(4));
        assert_eq!(first_entry(&["s = '''a", "", "b'''"]), Some(3));
        assert_eq!(first_entry(&["x = 1 + \\", "  2"]), Some(2));
        assert_eq!(first_entry(&["d = {'a':", "1}"]), Some(2));
    }

    #[test]
    fn a_string_that_is_never_closed_is_left_to_python() {
        assert_eq!(first_entry(&["x = 'abc"]), Some(1));
        assert_eq!(first_entry(&["x = 'a\\'b'"]), Some(1));
        assert_eq!(first_entry(&["x = \"\"\"a\\\"\"\"", "\"\"\""]), Some(2));
    }
}
