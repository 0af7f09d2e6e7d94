//! Finding code blocks in a text.
//!
//! With the usual delimiter, blocks are the fences of Markdown, as CommonMark has them: a fence is
//! a line of its own, of three or more backticks or tildes, and ends at a line with at least as
//! many of the same. So code may contain backticks, and words such as `` ```x``` `` in a sentence
//! are no block. Two things differ. A fence may be indented by any amount, because a model also
//! writes them into lists of lists. A fence that is never closed is no block, because half a
//! program must not run.
//!
//! With other delimiters, a block is what stands between them. The rest of the first line is its
//! language.

use crate::{CodeBlock, CodeBlockDelimiter};

/// The code blocks of a text, in order.
///
/// ```
/// use belljar_workspace::{CodeBlockDelimiter, extract_code_blocks};
///
/// let text = "So:\n```python\nprint(1)\n```\n";
/// let blocks = extract_code_blocks(text, &CodeBlockDelimiter::default());
/// assert_eq!((blocks[0].language.as_str(), blocks[0].code.as_str()), ("python", "print(1)\n"));
/// ```
pub fn extract_code_blocks(text: &str, delimiter: &CodeBlockDelimiter) -> Vec<CodeBlock> {
    if *delimiter == CodeBlockDelimiter::default() {
        fenced(text)
    } else {
        delimited(text, &delimiter.start, &delimiter.end)
    }
}

/// A line that opens a block.
struct Fence<'a> {
    indentation: usize,
    sign: char,
    length: usize,
    info: &'a str,
}

/// A line without its indentation, and how deep that is.
fn unindented(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches([' ', '\t']);
    (line.len() - rest.len(), rest)
}

impl<'a> Fence<'a> {
    fn opening(line: &'a str) -> Option<Self> {
        let (indentation, rest) = unindented(line);
        let sign = rest.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let info = rest.trim_start_matches(sign);
        let length = rest.len() - info.len();
        // Otherwise it is code in a sentence.
        let is_fence = length >= 3 && !(sign == '`' && info.contains('`'));
        is_fence.then_some(Self { indentation, sign, length, info })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let (indentation, rest) = unindented(line);
        let after = rest.trim_start_matches(self.sign);
        // A line that is indented by more belongs to the code.
        indentation < self.indentation + 4
            && rest.len() - after.len() >= self.length
            && after.trim().is_empty()
    }

    /// A line of the code without the indentation that it has from the fence.
    fn content<'b>(&self, line: &'b str) -> &'b str {
        let (indentation, _) = unindented(line);
        &line[indentation.min(self.indentation)..]
    }
}

fn fenced(text: &str) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let Some(fence) = Fence::opening(line) else { continue };
        let mut code = String::new();
        for line in lines.by_ref() {
            if fence.is_closed_by(line) {
                blocks.push(CodeBlock { code, language: first_word(fence.info) });
                break;
            }
            code.push_str(fence.content(line));
        }
    }
    blocks
}

fn delimited(text: &str, start: &str, end: &str) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    if start.is_empty() || end.is_empty() {
        return blocks;
    }
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(start) {
        let Some((first, body)) = after.split_once('\n') else { break };
        // A block on one line is none.
        if let Some((_, later)) = first.split_once(end) {
            rest = &after[first.len() - later.len()..];
            continue;
        }
        let Some((code, later)) = body.split_once(end) else { break };
        blocks.push(CodeBlock { code: code.to_owned(), language: first_word(first) });
        rest = later;
    }
    blocks
}

fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
