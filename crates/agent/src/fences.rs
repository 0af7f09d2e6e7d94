//! Takes the script out of a reply.
//!
//! Models are asked for one block of Python. What they write is prose around it, several blocks,
//! a block without its end, or the bare script. The rules are those of Markdown: a fence is three
//! or more backticks or tildes, and only one of the same kind, at least as long, closes it.

/// A reply, by what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extracted {
    /// Blocks of Python. Several are one script, in their order.
    Script {
        /// The script.
        script: String,
        /// How many blocks it was in.
        blocks: usize,
        /// Whether the last block has no end. The reply may have been cut off.
        is_open: bool,
    },
    /// No block at all. It may be a bare script, or prose.
    Bare(String),
    /// Blocks, but in other languages.
    Foreign {
        /// The language of the first.
        language: String,
    },
    /// Blocks with nothing in them.
    Empty,
}

/// One block.
struct Block {
    language: String,
    text: String,
    is_closed: bool,
}

/// Looks for the script in a reply.
pub fn extract(reply: &str) -> Extracted {
    // As Python reads lines: some servers end them as old Macs did.
    let reply = reply.replace("\r\n", "\n").replace('\r', "\n");
    let reply = without_thoughts(&reply);
    let blocks = blocks(reply);
    if blocks.is_empty() {
        return Extracted::Bare(dedented(reply.trim_matches('\n')));
    }
    let of = |is_wanted: fn(&str) -> bool| -> Vec<&Block> {
        blocks.iter().filter(|block| is_wanted(&block.language) && !block.text.trim().is_empty()).collect()
    };
    let mut chosen = of(is_python);
    if chosen.is_empty() {
        chosen = of(str::is_empty);
    }
    let Some(last) = chosen.last() else {
        let is_foreign = |block: &&Block| !block.language.is_empty() && !is_python(&block.language);
        return match blocks.iter().find(is_foreign) {
            Some(block) => Extracted::Foreign { language: block.language.clone() },
            None => Extracted::Empty,
        };
    };
    let is_open = !last.is_closed;
    let texts: Vec<String> = chosen.iter().map(|block| dedented(&block.text)).collect();
    Extracted::Script { script: texts.join("\n"), blocks: chosen.len(), is_open }
}

/// Whether any line of a text could be a step of a script. A script without such a line calls
/// nothing, and gives no result.
pub(crate) fn has_code(text: &str) -> bool {
    text.contains("emit_result") || text.lines().any(|line| is_code(line.trim()))
}

fn is_code(line: &str) -> bool {
    let is_import = line.starts_with("import ") || (line.starts_with("from ") && line.contains(" import "));
    let is_block = line.ends_with(':')
        && ["def ", "class ", "for ", "while ", "with ", "if "].iter().any(|word| line.starts_with(word));
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']');
    let calls = line.match_indices('(').any(|(at, _)| line[..at].ends_with(is_word));
    is_import || is_block || calls || line.contains('=')
}

fn is_python(language: &str) -> bool {
    matches!(language, "python" | "py" | "python3" | "py3")
}

/// Some models think aloud before they answer. Scripts in their thoughts are not meant.
fn without_thoughts(reply: &str) -> &str {
    let rest = reply.trim_start();
    for (begin, end) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some((_, answer)) = rest.strip_prefix(begin).and_then(|thoughts| thoughts.split_once(end)) {
            return answer;
        }
    }
    reply
}

/// A line that begins or ends a block.
struct Fence<'a> {
    mark: char,
    length: usize,
    indent: usize,
    /// What comes after it.
    rest: &'a str,
}

fn fence(line: &str) -> Option<Fence<'_>> {
    let line = line.trim_end();
    let bare = without_bullet(line.trim_start_matches([' ', '\t']));
    let mark = bare.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = bare.trim_start_matches(mark);
    let length = bare.len() - rest.len();
    // `x` in backticks is code in a line, and no fence.
    let is_one = length >= 3 && !(mark == '`' && rest.contains('`'));
    is_one.then(|| Fence { mark, length, indent: line.len() - bare.len(), rest: rest.trim() })
}

/// A block may be the first thing in an item of a list.
fn without_bullet(line: &str) -> &str {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = match number.len() < line.len() {
        true => number.strip_prefix(['.', ')']),
        false => line.strip_prefix(['-', '*', '+']),
    };
    match item {
        Some(item) if item.starts_with(' ') => item.trim_start(),
        _ => line,
    }
}

fn blocks(reply: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    for line in reply.lines() {
        let here = fence(line);
        match (&open, here) {
            (None, Some(begin)) => {
                found.push(Block { language: language(begin.rest), text: String::new(), is_closed: false });
                open = Some(begin);
            }
            (None, None) => {}
            (Some(begin), Some(end))
                if end.rest.is_empty() && end.mark == begin.mark && end.length >= begin.length =>
            {
                if let Some(block) = found.last_mut() {
                    block.is_closed = true;
                }
                open = None;
            }
            (Some(begin), _) => {
                let spaces = line.len() - line.trim_start_matches([' ', '\t']).len();
                if let Some(block) = found.last_mut() {
                    block.text.push_str(&line[begin.indent.min(spaces)..]);
                    block.text.push('\n');
                }
            }
        }
    }
    found
}

/// The first word after a fence: `python`, `{.python}`, `python title="x"`.
fn language(rest: &str) -> String {
    let word = rest.split([' ', '\t', ',', '{', '}', ':']).find(|word| !word.is_empty()).unwrap_or_default();
    word.trim_start_matches('.').to_ascii_lowercase()
}

/// A script whose first line is indented would not compile. Takes that indent from every line that
/// has it.
fn dedented(script: &str) -> String {
    let first = script.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let indent = &first[..first.len() - first.trim_start().len()];
    if indent.is_empty() {
        return format!("{}\n", script.trim_end());
    }
    let lines: Vec<&str> = script.lines().map(|line| line.strip_prefix(indent).unwrap_or(line)).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn script(reply: &str) -> String {
        match extract(reply) {
            Extracted::Script { script, .. } => script,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_block_is_found_whatever_is_around_it() {
        for reply in [
            "```python\nx = 1\n```",
            "Sure!\n\n```py\nx = 1\n```\nThat is it.",
            "~~~\nx = 1\n~~~",
            "````python3\nx = 1\n````",
            "``` Python title=\"a\"\nx = 1\n```",
            "```{.python .numberLines}\nx = 1\n```",
            "1. Do this:\n\n   ```python\n   x = 1\n   ```\n",
            "```python\r\nx = 1\r\n```\r\n",
            "\r```python\nx = 1\n```",
            "Sure!\r\r```python\rx = 1\r```\r",
            "```python\n    x = 1\n```",
            "<think>\n```python\nwrong()\n```\n</think>\n```python\nx = 1\n```",
            "Run\n```bash\npip install x\n```\nthen\n```python\nx = 1\n```",
        ] {
            assert_eq!(script(reply), "x = 1\n", "{reply}");
        }
    }

    #[test]
    fn several_blocks_are_one_script_and_one_without_an_end_is_said_to_be_open() {
        assert_eq!(
            extract("```python\na = 1\n```\nand then\n```python\nb = a\n```"),
            Extracted::Script { script: "a = 1\n\nb = a\n".into(), blocks: 2, is_open: false }
        );
        assert_eq!(
            extract("```python\na = 1\nb = "),
            Extracted::Script { script: "a = 1\nb =\n".into(), blocks: 1, is_open: true }
        );
        // A shorter fence, or another, is text.
        assert_eq!(script("````python\nt = '''\n```\n~~~\n'''\n````"), "t = '''\n```\n~~~\n'''\n");
    }

    #[test]
    fn no_block_is_the_whole_reply_and_a_foreign_one_is_none() {
        assert_eq!(extract("\nx = 1\n"), Extracted::Bare("x = 1\n".into()));
        assert_eq!(extract("use `emit_result`"), Extracted::Bare("use `emit_result`\n".into()));
        assert_eq!(extract("```sh\nls\n```"), Extracted::Foreign { language: "sh".into() });
        for empty in ["```python\n```", "```\n\n```", "x\n```"] {
            assert_eq!(extract(empty), Extracted::Empty, "{empty}");
        }
        assert_eq!(extract(""), Extracted::Bare("\n".into()));
    }

    #[test]
    fn prose_is_not_taken_for_code() {
        for words in
            ["I am sorry, I cannot do that.", "Done: see above (it is all there).", "", "1. First\n2. Then"]
        {
            assert!(!has_code(words), "{words}");
        }
        for code in ["import os", "x = 1", "print(1)", "emit_result (1)", "if x:\n  y", "Well:\nf(1)"] {
            assert!(has_code(code), "{code}");
        }
    }

    #[test]
    fn indents_inside_a_script_stay() {
        assert_eq!(script("- ```python\n  if a:\n      b()\n  ```"), "if a:\n    b()\n");
        assert_eq!(script("```python\n  if a:\n    b()\nc()\n```"), "if a:\n  b()\nc()\n");
    }

    proptest! {
        #[test]
        fn any_reply_is_read(reply in "([`~]{1,5}|python|é|x = 1|\n| |\t|\r\n|\r){0,40}") {
            extract(&reply);
        }

        #[test]
        fn what_is_fenced_comes_back(lines in proptest::collection::vec("[a-z ]{0,8}[a-z]", 1..6)) {
            let text = lines.join("\n");
            prop_assume!(!text.starts_with(' '));
            prop_assert_eq!(script(&format!("so:\n```python\n{text}\n```\n")), format!("{text}\n"));
        }
    }
}
