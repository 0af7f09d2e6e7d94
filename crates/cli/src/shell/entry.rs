//! Finds where one entry at the prompt ends.
//!
//! An entry is complete when nothing is left open: no bracket, no triple quote, no backslash at the
//! end. An entry with a compound statement in it (`if`, `def`, a decorator, any line that ends in
//! `:`) is a block. Only an empty line completes a block, as at Python's own prompt. Python itself
//! reports what is wrong inside an entry.
//!
//! Several lines can come at once: pasted, or taken from the history. Empty lines among them end
//! nothing. Such a block is also complete if its last line is a plain statement that is not
//! indented.

use super::python::{is_compound, string};

/// The lines of one entry, typed so far.
#[derive(Debug, Default)]
pub(crate) struct Entry(String);

impl Entry {
    /// Adds a line, or several at once. Returns the whole entry once it is complete.
    pub(crate) fn push(&mut self, text: &str) -> Option<String> {
        self.0.push_str(text);
        self.0.push('\n');
        let shape = Shape::of(&self.0);
        let last = text.rsplit('\n').next().unwrap_or_default();
        let is_ended = last.trim().is_empty() || (text.contains('\n') && shape.ends_flat);
        let is_complete = !shape.is_open && (!shape.is_block || is_ended);
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

    /// What the next line probably begins with.
    pub(crate) fn indentation(&self) -> String {
        const STEP: usize = 4;
        let shape = Shape::of(&self.0);
        let Some(last) = self.0.lines().next_back().filter(|_| !shape.is_in_text) else {
            return String::new();
        };
        let code = last.trim();
        let width = last.len() - last.trim_start().len();
        let first_word = code.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let width = if shape.expects_block || code.ends_with(['(', '[', '{']) {
            width + STEP
        } else if matches!(first_word, "return" | "pass" | "break" | "continue" | "raise") {
            width.saturating_sub(STEP)
        } else {
            width
        };
        " ".repeat(width)
    }
}

/// Takes away the indentation that all lines share, so that an entry may begin with a space.
pub(crate) fn dedented(entry: &str) -> String {
    let written = entry.lines().filter(|line| !line.trim().is_empty());
    let width = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let shared = written.map(width).min().unwrap_or(0);
    if shared == 0 || Shape::of(entry).has_long_text {
        return entry.to_owned();
    }
    entry.lines().map(|line| format!("{}\n", line.get(shared..).unwrap_or_default())).collect()
}

/// What can be told of source text without understanding it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shape {
    /// A bracket, a triple quote or a line is open.
    is_open: bool,
    /// A triple quote is open.
    is_in_text: bool,
    /// A string goes over several lines.
    has_long_text: bool,
    /// It holds a compound statement.
    is_block: bool,
    /// The last line ends with a colon.
    expects_block: bool,
    /// The last statement is plain and not indented.
    ends_flat: bool,
}

/// One logical line on its way.
#[derive(Debug, Default)]
struct Line {
    /// Whether anything but space is in it.
    has_begun: bool,
    is_indented: bool,
    /// Whether it begins like a compound statement.
    is_compound: bool,
    /// The last character that is neither space nor comment.
    last: Option<char>,
}

impl Line {
    /// Takes in what stands at the beginning of `rest`.
    fn take(&mut self, c: char, rest: &str) {
        if !self.has_begun {
            if c.is_whitespace() {
                self.is_indented = true;
                return;
            }
            self.has_begun = true;
            self.is_compound = c == '@' || is_compound(rest);
        }
        if !c.is_whitespace() {
            self.last = Some(c);
        }
    }
}

impl Shape {
    /// Reads source text like a tokenizer that only knows what opens and closes.
    fn of(source: &str) -> Self {
        let (mut shape, mut line, mut depth) = (Self::default(), Line::default(), 0_usize);
        let mut rest = source;
        while let Some(c) = rest.chars().next() {
            let mut length = c.len_utf8();
            match c {
                '#' => length = rest.find('\n').unwrap_or(rest.len()),
                '"' | '\'' => {
                    line.take(c, rest);
                    match string(rest) {
                        Some(end) => length = end,
                        None => return Self { is_open: true, is_in_text: true, ..shape },
                    }
                    shape.has_long_text |= rest[..length].contains('\n');
                }
                '\\' if rest[1..].starts_with('\n') => {
                    length = 2;
                    if rest.len() == length {
                        return Self { is_open: true, ..shape };
                    }
                }
                '\n' if depth == 0 => {
                    let line = std::mem::take(&mut line);
                    if line.has_begun {
                        shape.expects_block = line.last == Some(':');
                        let is_compound = line.is_compound || shape.expects_block;
                        shape.is_block |= is_compound;
                        shape.ends_flat = !is_compound && !line.is_indented;
                    }
                }
                _ => {
                    line.take(c, rest);
                    match c {
                        '(' | '[' | '{' => depth += 1,
                        ')' | ']' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                }
            }
            rest = &rest[length..];
        }
        Self { is_open: depth > 0, ..shape }
    }
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
            "format = iffy",
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
        assert_eq!(first_entry(&["match x:", "    case 1: y", ""]), Some(3));
        assert_eq!(first_entry(&["for x in y:", "    z"]), None);
    }

    #[test]
    fn a_compound_statement_on_one_line_can_go_on_as_at_pythons_prompt() {
        assert_eq!(first_entry(&["if x: y", "else: z", ""]), Some(3));
        assert_eq!(first_entry(&["try: x", "except E: y", "", "z"]), Some(3));
        assert_eq!(first_entry(&["async def f(): pass", ""]), Some(2));
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

    #[test]
    fn lines_that_come_at_once_may_have_empty_ones_among_them() {
        let function = "def f(x):\n    y = x\n\n    return y";
        assert_eq!(first_entry(&[&format!("{function}\n")]), Some(1));
        assert_eq!(first_entry(&[function, ""]), Some(2));
        assert_eq!(first_entry(&[&format!("{function}\n\n\nf(1)")]), Some(1));
        assert_eq!(first_entry(&["x = 1\n\ny = 2"]), Some(1));
        assert_eq!(first_entry(&["if x:\n    y\nelse: z", ""]), Some(2));
        assert_eq!(first_entry(&["f(\n\n1"]), None);
        assert_eq!(first_entry(&["def f():\n    '''a\nb'''", ""]), Some(2));
    }

    #[test]
    fn the_next_line_begins_where_it_probably_should() {
        for (typed, expected) in [
            ("def f():", "    "),
            ("if x:\n    if y:  # why", "        "),
            ("if x:\n    y", "    "),
            ("if x:\n    return y", ""),
            ("f(", "    "),
            ("f(1,", ""),
            ("s = '''a\n  b:", ""),
        ] {
            let mut entry = Entry::default();
            for line in typed.lines() {
                assert_eq!(entry.push(line), None, "{typed}");
            }
            assert_eq!(entry.indentation(), expected, "{typed}");
        }
    }

    #[test]
    fn an_entry_may_begin_with_a_space() {
        assert_eq!(dedented(" x = 1\n"), "x = 1\n");
        assert_eq!(dedented("  if x:\n\n    y\n"), "if x:\n\n  y\n");
        assert_eq!(dedented("if x:\n  y\n"), "if x:\n  y\n");
        assert_eq!(dedented("  s = '''a\n  b'''\n"), "  s = '''a\n  b'''\n", "the text would change");
    }
}
