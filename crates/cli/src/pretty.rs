//! Formats JSON for a person without parsing it into values. Numbers, order and escapes stay as the
//! script wrote them.

/// Nobody reads deeper than this, and the indentation would be larger than the data.
const DEEPEST: usize = 32;

/// A value up to this many bytes stays on one line.
const SHORT: usize = 80;

/// The same JSON, indented. Short and very deep values stay as they are.
pub(crate) fn pretty(json: &str) -> String {
    if depth(json) > DEEPEST {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() * 2);
    let mut level: usize = 0;
    let mut tokens = Tokens(json);
    loop {
        let rest = tokens.0.trim_ascii_start();
        let Some(token) = tokens.next() else { return out };
        match token {
            "{" | "[" => match short(rest) {
                Some(value) => {
                    out.push_str(value);
                    tokens.0 = &rest[value.len()..];
                }
                None => {
                    level += 1;
                    out.push_str(token);
                    break_line(&mut out, level);
                }
            },
            "}" | "]" => {
                level = level.saturating_sub(1);
                break_line(&mut out, level);
                out.push_str(token);
            }
            "," => {
                out.push(',');
                break_line(&mut out, level);
            }
            ":" => out.push_str(": "),
            _ => out.push_str(token),
        }
    }
}

/// The list or object that `text` begins with, if it fits on a line.
fn short(text: &str) -> Option<&str> {
    let mut tokens = Tokens(text);
    let mut level = 0_usize;
    while let Some(token) = tokens.next() {
        let length = text.len() - tokens.0.len();
        match token {
            "{" | "[" => level += 1,
            "}" | "]" => level = level.saturating_sub(1),
            _ => {}
        }
        if length > SHORT {
            return None;
        }
        if level == 0 {
            return Some(&text[..length]);
        }
    }
    None
}

fn break_line(out: &mut String, level: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", level));
}

fn depth(json: &str) -> usize {
    let (mut level, mut deepest) = (0_usize, 0);
    for token in Tokens(json) {
        match token {
            "{" | "[" => level += 1,
            "}" | "]" => level = level.saturating_sub(1),
            _ => continue,
        }
        deepest = deepest.max(level);
    }
    deepest
}

/// Splits JSON into punctuation, strings and everything else. White space is left out.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.0 = self.0.trim_ascii_start();
        let end = match self.0.as_bytes().first()? {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            b'"' => end_of_string(self.0),
            _ => self
                .0
                .find(['{', '}', '[', ']', ',', ':', '"', ' ', '\t', '\n', '\r'])
                .unwrap_or(self.0.len()),
        };
        let (token, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(token)
    }
}

fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_they_were_and_get_air() {
        let number = "1".repeat(70);
        let json = format!(r#"{{"z":[{number},1.50,[], {{}},"x,:{{\"]"],"a":[1,{{"b":2}}]}}"#);
        let expected = format!(
            "{{\n  \"z\": [\n    {number},\n    1.50,\n    [],\n    {{}},\n    \"x,:{{\\\"]\"\n  ],\n  \"a\": [1,{{\"b\":2}}]\n}}"
        );
        assert_eq!(pretty(&json), expected);
    }

    #[test]
    fn what_fits_on_a_line_stays_on_it() {
        assert_eq!(pretty(r#"{"s":"ok"}"#), r#"{"s":"ok"}"#);
    }

    #[test]
    fn what_is_too_deep_is_left_alone() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(pretty(&deep), deep);
    }
}
