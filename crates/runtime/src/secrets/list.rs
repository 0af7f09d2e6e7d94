//! A list of secrets as text: `NAME=value`, line by line.
//!
//! Programs that read such files differ in what they do with `$` and with backslashes. Here a value
//! is what it says: nothing is looked up, and only a double-quoted one has escapes. Errors have the
//! line and the name, and no other text of the file.

use belljar_core::Secret;

use super::Secrets;

/// A line that is none of a list.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(super) struct BadLine {
    line: usize,
    problem: String,
}

/// Reads all of a list.
pub(super) fn read(text: &str) -> Result<Secrets, BadLine> {
    let mut rest = Rest { text: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 };
    let mut secrets = Secrets::new();
    while !rest.text.is_empty() {
        let line = rest.line;
        if let Some((name, value)) = rest.entry().map_err(|problem| BadLine { line, problem })? {
            if secrets.get(&name).is_some() {
                return Err(BadLine { line, problem: format!("{name} is there already") });
            }
            secrets = secrets.with(name, Secret::new(value));
        }
    }
    Ok(secrets)
}

struct Rest<'a> {
    text: &'a str,
    line: usize,
}

impl<'a> Rest<'a> {
    /// The next secret, if the next line has one.
    fn entry(&mut self) -> Result<Option<(String, String)>, String> {
        let line = self.text.lines().next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            self.end_of_line();
            return Ok(None);
        }
        let line = match line.strip_prefix("export") {
            Some(rest) if rest.starts_with([' ', '\t']) => rest.trim_start(),
            _ => line,
        };
        let name = line.split_once('=').map(|(name, _)| name.trim_end());
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = name
            .filter(|name| name.chars().all(is_letter) && !name.is_empty())
            .ok_or_else(|| "must be NAME=value".to_owned())?
            .to_owned();
        let at = self.text.find('=').map_or(self.text.len(), |at| at + 1);
        self.text = self.text[at..].trim_start_matches([' ', '\t']);
        let value = match self.text.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                self.text = &self.text[1..];
                self.quoted(quote).ok_or_else(|| format!("the value of {name} has no closing quote"))?
            }
            _ => return Ok(Some((name, plain(self.end_of_line()).to_owned()))),
        };
        let behind = self.end_of_line().trim();
        if !behind.is_empty() && !behind.starts_with('#') {
            return Err(format!("something stands behind the closing quote of {name}"));
        }
        Ok(Some((name, value)))
    }

    /// All up to the closing quote, which may be some lines below.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut value = String::new();
        let mut chars = self.text.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.line += self.text[..at].matches('\n').count();
                    self.text = &self.text[at + 1..];
                    return Some(value);
                }
                '\\' if quote == '"' => match chars.next()?.1 {
                    'n' => value.push('\n'),
                    'r' => value.push('\r'),
                    't' => value.push('\t'),
                    c @ ('"' | '\\' | '$' | '`') => value.push(c),
                    c => value.extend(['\\', c]),
                },
                c => value.push(c),
            }
        }
        None
    }

    /// The rest of the line. The next one is what is left.
    fn end_of_line(&mut self) -> &'a str {
        let (line, rest) = self.text.split_once('\n').unwrap_or((self.text, ""));
        self.text = rest;
        self.line += 1;
        line.strip_suffix('\r').unwrap_or(line)
    }
}

/// A value without quotes, and without the comment behind it.
fn plain(line: &str) -> &str {
    let comment = line.match_indices('#').find(|(at, _)| *at == 0 || line[..*at].ends_with([' ', '\t']));
    line[..comment.map_or(line.len(), |(at, _)| at)].trim()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str, name: &str) -> String {
        read(text).unwrap().get(name).unwrap().expose().to_owned()
    }

    #[test]
    fn a_value_is_what_it_says() {
        for (line, expected) in [
            ("K=hunter2", "hunter2"),
            (" export  K = hunter2 ", "hunter2"),
            ("K=a b # c", "a b"),
            ("K=a#b", "a#b"),
            ("K=", ""),
            ("K=# c", ""),
            ("K='a # \\n $X' # c", "a # \\n $X"),
            (r#"K="a\"b\\c\n\$d\q""#, "a\"b\\c\n$d\\q"),
            ("K=a'b", "a'b"),
            ("K=a=b==", "a=b=="),
            ("K=$HOME", "$HOME"),
            ("exported=x\nK=y", "y"),
        ] {
            assert_eq!(value(line, "K"), expected, "{line}");
        }
        let key = "# keys\r\n\r\nA=1\r\nPEM=\"-----BEGIN\nabc\n-----END\"\r\nLAST='x'";
        assert_eq!(value(key, "PEM"), "-----BEGIN\nabc\n-----END");
        assert_eq!((value(key, "A"), value(key, "LAST")), ("1".into(), "x".into()));
        assert_eq!(read("\u{feff}K=x").unwrap().get("K").map(Secret::expose), Some("x"));
        assert_eq!(read(""), Ok(Secrets::new()));
    }

    #[test]
    fn a_mistake_is_told_by_its_line_and_shows_no_value() {
        for (text, expected) in [
            ("\nhunter2", "line 2: must be NAME=value"),
            ("hunter-2=x", "line 1: must be NAME=value"),
            ("=hunter2", "line 1: must be NAME=value"),
            ("A=\"hunter2", "line 1: the value of A has no closing quote"),
            ("A='x\ny'\nB='hunter2'hunter2", "line 3: something stands behind the closing quote of B"),
            ("A=1\nA=hunter2", "line 2: A is there already"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn any_value_can_be_written(value in "[^\0]{0,30}") {
            let written = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\r', "\\r");
            let found = read(&format!("A=1\nK=\"{written}\"\nB=2")).unwrap();
            prop_assert_eq!(found.get("K").map(Secret::expose), Some(value.as_str()));
            prop_assert_eq!(found.get("B").map(Secret::expose), Some("2"));
        }

        #[test]
        fn no_text_is_too_odd_to_be_refused(text in any::<String>()) {
            let _ = read(&text);
        }
    }
}
