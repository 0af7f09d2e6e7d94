//! JSON text, split into strings, other scalars, and what is between them.

pub(super) struct Tokens<'a>(pub(super) &'a str);

#[derive(Clone, Copy)]
pub(super) enum Token<'a> {
    /// With its quotes.
    String(&'a str),
    /// A number, `true`, `false` or `null`.
    Scalar(&'a str),
    /// Brackets, commas, colons and white space.
    Between(&'a str),
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let is_between = |byte: &u8| b"[]{},: \t\r\n".contains(byte);
        let bytes = self.0.as_bytes();
        let length = match bytes.first()? {
            b'"' => string_length(bytes),
            first if is_between(first) => bytes.iter().take_while(|byte| is_between(byte)).count(),
            _ => bytes.iter().take_while(|byte| !is_between(byte) && **byte != b'"').count(),
        };
        let (token, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(match token.as_bytes()[0] {
            b'"' => Token::String(token),
            first if is_between(&first) => Token::Between(token),
            _ => Token::Scalar(token),
        })
    }
}

fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
