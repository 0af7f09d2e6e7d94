//! One segment of a pattern, and one name.

/// A part of a pattern between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// `**`
    AnyDepth,
    /// Matches one name.
    Name(Vec<Token>),
}

/// A part of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// That character.
    Character(char),
    /// `?`
    AnyCharacter,
    /// `*`
    AnyCharacters,
    /// One character in these ranges, or outside of them.
    Class { ranges: Vec<(char, char)>, is_negated: bool },
}

/// The segments of a pattern without braces, or `None` if it leads out of the workspace.
pub(super) fn read(pattern: &str) -> Result<Option<Vec<Segment>>, String> {
    let mut segments = Vec::new();
    for tokens in tokens(pattern)? {
        match tokens.as_slice() {
            [] | [Token::Character('.')] => {}
            [Token::Character('.'), Token::Character('.')] => match segments.pop() {
                Some(Segment::Name(_)) => {}
                // Above the workspace, or nobody knows where.
                Some(Segment::AnyDepth) | None => return Ok(None),
            },
            [Token::AnyCharacters, Token::AnyCharacters] => segments.push(Segment::AnyDepth),
            _ => segments.push(Segment::Name(tokens)),
        }
    }
    Ok(Some(segments))
}

/// The tokens of each segment.
fn tokens(pattern: &str) -> Result<Vec<Vec<Token>>, String> {
    let mut segments = vec![Vec::new()];
    let mut rest = pattern.chars();
    while let Some(next) = rest.next() {
        let token = match next {
            '*' => Token::AnyCharacters,
            '?' => Token::AnyCharacter,
            '[' => class(&mut rest)?,
            '\\' => Token::Character(escaped(&mut rest)?),
            other => Token::Character(other),
        };
        match (token, segments.last_mut()) {
            (Token::Character('/'), _) | (_, None) => segments.push(Vec::new()),
            (token, Some(segment)) => segment.push(token),
        }
    }
    Ok(segments)
}

fn escaped(rest: &mut std::str::Chars<'_>) -> Result<char, String> {
    rest.next().ok_or_else(|| "nothing follows the last `\\`".to_owned())
}

fn class(rest: &mut std::str::Chars<'_>) -> Result<Token, String> {
    let unclosed = || "`[` is not closed".to_owned();
    let is_negated = rest.as_str().starts_with(['^', '!']);
    if is_negated {
        rest.next();
    }
    let mut ranges = Vec::new();
    loop {
        let first = match rest.next().ok_or_else(unclosed)? {
            ']' if ranges.is_empty() => return Err("a class is empty".to_owned()),
            ']' => return Ok(Token::Class { ranges, is_negated }),
            '\\' => escaped(rest)?,
            other => other,
        };
        let mut ahead = rest.clone();
        let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|last| last != ']');
        let last = if is_range {
            rest.next();
            match rest.next().ok_or_else(unclosed)? {
                '\\' => escaped(rest)?,
                other => other,
            }
        } else {
            first
        };
        if last < first {
            return Err(format!("the range {first}-{last} is upside down"));
        }
        ranges.push((first, last));
    }
}

/// Whether a whole name matches. Only the latest `*` is ever tried again, so it does not take long.
pub(super) fn matches(tokens: &[Token], name: &[u8]) -> bool {
    let (mut at, mut rest) = (0, name);
    let mut retry: Option<(usize, &[u8])> = None;
    loop {
        match (tokens.get(at), next_character(rest)) {
            (None, None) => return true,
            (Some(Token::AnyCharacters), _) => {
                retry = Some((at, rest));
                at += 1;
                continue;
            }
            (Some(token), Some((character, after))) if token.takes(character) => {
                (at, rest) = (at + 1, after);
                continue;
            }
            _ => {}
        }
        // The latest `*` takes one character more.
        let Some((star, from)) = retry else { return false };
        let Some((_, after)) = next_character(from) else { return false };
        retry = Some((star, after));
        (at, rest) = (star + 1, after);
    }
}

impl Token {
    /// Whether it matches this one character, or this byte that is part of none.
    fn takes(&self, character: Option<char>) -> bool {
        match self {
            Self::AnyCharacters => false,
            Self::AnyCharacter => true,
            Self::Character(wanted) => character == Some(*wanted),
            Self::Class { ranges, is_negated } => {
                let within =
                    |range: &(char, char)| character.is_some_and(|is| (range.0..=range.1).contains(&is));
                ranges.iter().any(within) != *is_negated
            }
        }
    }
}

/// The first character, or `None` for a byte that is part of none, and what follows.
fn next_character(name: &[u8]) -> Option<(Option<char>, &[u8])> {
    // No character is longer.
    let chunk = name[..name.len().min(4)].utf8_chunks().next()?;
    match chunk.valid().chars().next() {
        Some(character) => Some((Some(character), &name[character.len_utf8()..])),
        None => Some((None, &name[1..])),
    }
}
