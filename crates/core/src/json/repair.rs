//! Makes JSON readable for every parser, and counts the changes.

mod repairs;
#[cfg(test)]
mod tests;
mod written;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

pub use repairs::Repairs;
use written::{is_low, is_readable, unescaped, unit};

/// How deep a value may be nested. .NET reads 64 levels. With what the host puts around the value,
/// one of them is left.
pub const DEEPEST: usize = 60;
/// The most digits before a number's point. A double ends at 1.8e308, and many parsers refuse
/// larger numbers.
pub const LONGEST_INTEGER: usize = 308;
/// The most characters in a number.
pub const LONGEST_NUMBER: usize = 1_000;
/// The most bytes in a field's name, as it is written.
pub const LONGEST_NAME: usize = 50_000;

/// The text with all repairs. It must be JSON. `None` if it can stay as it is.
pub(super) fn repair(text: &str) -> (Option<String>, Repairs) {
    let mut walk = Walk {
        text,
        bytes: text.as_bytes(),
        levels: Vec::new(),
        names: Vec::new(),
        is_name_next: false,
        out: String::new(),
        copied: 0,
        repairs: Repairs::default(),
    };
    walk.go();
    if walk.copied == 0 {
        return (None, walk.repairs);
    }
    walk.out.push_str(&text[walk.copied..]);
    (Some(walk.out), walk.repairs)
}

/// One pass over a JSON text.
struct Walk<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// The lists and objects around the current position.
    levels: Vec<Level<'a>>,
    /// Names of the fields seen so far in all objects of `levels`. The innermost object's are last.
    names: Vec<Cow<'a, str>>,
    is_name_next: bool,
    /// The repaired text up to `copied`. The rest is copied when the next repair is made.
    out: String,
    copied: usize,
    repairs: Repairs,
}

enum Level<'a> {
    List,
    Object {
        /// Where its names begin in `Walk::names`.
        names: usize,
        /// The same names as a set, once there are many.
        many: Option<HashSet<Cow<'a, str>>>,
        /// Where the comma before the current field is: in the text, and in the repaired text.
        comma: Option<(usize, usize)>,
    },
}

/// Up to this many names are compared one by one.
const FEW: usize = 16;

impl<'a> Walk<'a> {
    fn go(&mut self) {
        let mut at = 0;
        while let Some(&byte) = self.bytes.get(at) {
            at = match byte {
                b'{' | b'[' if self.levels.len() == DEEPEST => {
                    let end = self.end_of_value(at);
                    self.replace(at..end, "null");
                    self.repairs.too_deep += 1;
                    end
                }
                b'{' => {
                    let names = self.names.len();
                    self.levels.push(Level::Object { names, many: None, comma: None });
                    self.is_name_next = true;
                    at + 1
                }
                b'[' => {
                    self.levels.push(Level::List);
                    self.is_name_next = false;
                    at + 1
                }
                b'}' | b']' => {
                    if let Some(Level::Object { names, .. }) = self.levels.pop() {
                        self.names.truncate(names);
                    }
                    at + 1
                }
                b',' => self.comma(at),
                b'"' if self.is_name_next => self.field(at),
                b'"' => self.string(at),
                b'-' | b'0'..=b'9' => self.number(at),
                // JSON has no bare line break inside a string, so this is white space.
                b'\r' | b'\n' => {
                    self.replace(at..at + 1, " ");
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    fn comma(&mut self, at: usize) -> usize {
        // The position in the repaired text that `at` will have.
        let there = self.out.len() + (at - self.copied);
        self.is_name_next = match self.levels.last_mut() {
            Some(Level::Object { comma, .. }) => {
                *comma = Some((at, there));
                true
            }
            _ => false,
        };
        at + 1
    }

    /// Reads a field's name. Removes the whole field if it cannot stay.
    fn field(&mut self, at: usize) -> usize {
        self.is_name_next = false;
        let end = self.end_of_string(at);
        let written = &self.text[at + 1..end - 1];
        let is_long = written.len() > LONGEST_NAME;
        if !is_long && self.is_new(unescaped(written)) {
            return self.string(at);
        }
        if is_long {
            self.repairs.long_names += 1;
        } else {
            self.repairs.repeated += 1;
        }
        self.drop_field(at, end)
    }

    /// Remembers a name. Returns whether it is new in its object.
    fn is_new(&mut self, name: Cow<'a, str>) -> bool {
        let Some(Level::Object { names, many, .. }) = self.levels.last_mut() else { return true };
        let known = &self.names[*names..];
        if known.len() >= FEW {
            let many = many.get_or_insert_with(|| known.iter().cloned().collect());
            if !many.insert(name.clone()) {
                return false;
            }
        } else if known.contains(&name) {
            return false;
        }
        self.names.push(name);
        true
    }

    /// Removes a field, and one of the commas around it.
    fn drop_field(&mut self, name: usize, name_end: usize) -> usize {
        let value = self.skip_blanks(self.skip_blanks(name_end) + 1);
        let end = self.end_of_value(value);
        let comma = match self.levels.last() {
            Some(Level::Object { comma, .. }) => *comma,
            _ => None,
        };
        if let Some((in_text, in_out)) = comma {
            if in_text < self.copied {
                self.out.truncate(in_out);
                self.copied = end;
            } else {
                self.replace(in_text..end, "");
            }
            return end;
        }
        // It is the first field of its object. The comma behind it goes too, and the next field
        // becomes the first.
        let behind = self.skip_blanks(end);
        let has_next = self.bytes.get(behind) == Some(&b',');
        let end = if has_next { behind + 1 } else { end };
        self.replace(name..end, "");
        self.is_name_next = has_next;
        end
    }

    /// Reads a string. Returns where the text after it begins.
    fn string(&mut self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(special) = self.next_special(at) {
            match (self.bytes[special], self.bytes.get(special + 1)) {
                (b'"', _) => return special + 1,
                (_, Some(b'u')) => match unit(self.bytes, special) {
                    0xd800..=0xdbff if is_low(unit(self.bytes, special + 6)) => at = special + 12,
                    0xd800..=0xdfff => {
                        self.replace(special..special + 6, "\\ufffd");
                        self.repairs.halves += 1;
                        at = special + 6;
                    }
                    _ => at = special + 6,
                },
                _ => at = special + 2,
            }
        }
        self.bytes.len()
    }

    fn number(&mut self, at: usize) -> usize {
        let end = self.end_of_scalar(at);
        if !is_readable(&self.text[at..end]) {
            self.replace(at..end, "null");
            self.repairs.numbers += 1;
        }
        end
    }

    fn replace(&mut self, range: Range<usize>, with: &str) {
        self.out.push_str(&self.text[self.copied..range.start]);
        self.out.push_str(with);
        self.copied = range.end;
    }

    fn next_special(&self, from: usize) -> Option<usize> {
        memchr::memchr2(b'"', b'\\', self.bytes.get(from..)?).map(|found| from + found)
    }

    fn end_of_string(&self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(special) = self.next_special(at) {
            match self.bytes[special] {
                b'"' => return special + 1,
                _ => at = special + 2,
            }
        }
        self.bytes.len()
    }

    fn end_of_scalar(&self, start: usize) -> usize {
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
        self.bytes[start..].iter().position(is_end).map_or(self.bytes.len(), |found| start + found)
    }

    /// Counts brackets and does not call itself, because the guest chooses how deep the value is.
    fn end_of_value(&self, start: usize) -> usize {
        let (mut at, mut depth) = (start, 0_usize);
        while let Some(&byte) = self.bytes.get(at) {
            at = match byte {
                b'"' => self.end_of_string(at),
                b'{' | b'[' => {
                    depth += 1;
                    at + 1
                }
                b'}' | b']' => {
                    depth -= 1;
                    at + 1
                }
                b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => at + 1,
                _ => self.end_of_scalar(at),
            };
            if depth == 0 {
                return at;
            }
        }
        at
    }

    fn skip_blanks(&self, from: usize) -> usize {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        let blanks = self.bytes[from..].iter().take_while(|byte| is_blank(byte));
        from + blanks.count()
    }
}
