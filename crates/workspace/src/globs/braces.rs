//! Alternatives in braces.

/// How many alternatives one pattern may have.
const MOST: usize = 1000;

/// What a pattern stands for: the same text with one of its alternatives in place of each group.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, String> {
    let mut waiting = vec![pattern.to_owned()];
    let mut expanded = Vec::new();
    while let Some(next) = waiting.pop() {
        let Some(group) = first_group(&next)? else {
            expanded.push(next);
            continue;
        };
        for alternative in group.alternatives.iter().rev() {
            waiting.push(format!("{}{alternative}{}", &next[..group.begin], &next[group.end..]));
        }
        if waiting.len() + expanded.len() > MOST {
            return Err(format!("it has more than {MOST} alternatives"));
        }
    }
    Ok(expanded)
}

struct Group<'a> {
    /// Where its opening brace is.
    begin: usize,
    /// Where the text after its closing brace is.
    end: usize,
    alternatives: Vec<&'a str>,
}

/// The first group that is in no other.
fn first_group(pattern: &str) -> Result<Option<Group<'_>>, String> {
    let bytes = pattern.as_bytes();
    let (mut at, mut depth, mut begin) = (0, 0_usize, 0);
    let mut cuts = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => at = end_of_class(bytes, at)?,
            b'{' => {
                depth += 1;
                if depth == 1 {
                    begin = at;
                    cuts.push(at);
                }
            }
            b',' if depth == 1 => cuts.push(at),
            b'}' if depth == 0 => return Err("`}` closes nothing".to_owned()),
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    cuts.push(at);
                    let alternatives = cuts.windows(2).map(|cut| &pattern[cut[0] + 1..cut[1]]).collect();
                    return Ok(Some(Group { begin, end: at + 1, alternatives }));
                }
            }
            _ => {}
        }
        at += 1;
    }
    if depth > 0 { Err("`{` is not closed".to_owned()) } else { Ok(None) }
}

/// Where the bracket is that closes a class.
fn end_of_class(bytes: &[u8], begin: usize) -> Result<usize, String> {
    let mut at = begin + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b']' => return Ok(at),
            _ => {}
        }
        at += 1;
    }
    Err("`[` is not closed".to_owned())
}
