//! The headers of W3C Trace Context, read strictly.

use std::fmt;

use belljar::engine::random_hex;

/// Bytes of `tracestate` that are passed on. A longer one is left out, as the standard allows.
const LONGEST_STATE: usize = 512;
/// Entries that it may have.
const MOST_ENTRIES: usize = 32;

/// A place in a trace: `00-<trace>-<span>-<flags>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceParent {
    /// Never 0.
    pub(crate) trace: u128,
    /// Never 0.
    pub(crate) span: u64,
    /// Only those that the standard knows.
    pub(crate) flags: u8,
}

impl TraceParent {
    /// Whether the caller may have recorded it, and that the trace's id is random.
    const KNOWN_FLAGS: u8 = 0b11;

    /// Reads a header. Of later versions, what this one knows is read.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        const LENGTH: usize = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".len();
        let (known, rest) = text.as_bytes().split_at_checked(LENGTH)?;
        let mut parts = known.split(|byte| *byte == b'-');
        let mut hex = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits)?;
            let is_hex = part.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            let text = std::str::from_utf8(part).ok().filter(|_| is_hex)?;
            u128::from_str_radix(text, 16).ok()
        };
        let (version, trace, span, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        let is_whole = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest[0] == b'-',
        };
        if !is_whole || trace == 0 || span == 0 {
            return None;
        }
        let (span, flags) = (u64::try_from(span).ok()?, u8::try_from(flags).ok()?);
        Some(Self { trace, span, flags: flags & Self::KNOWN_FLAGS })
    }

    /// A span in the same trace.
    pub(crate) fn below(self) -> Self {
        Self { span: random() as u64 | 1, ..self }
    }

    /// A new trace, which nobody records.
    pub(crate) fn begin() -> Self {
        Self { trace: random() | 1, span: random() as u64 | 1, flags: 0 }
    }

    pub(crate) fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

fn random() -> u128 {
    u128::from_str_radix(&random_hex(), 16).expect("these are 32 digits")
}

/// Reads `tracestate`, which may come in several headers. `None` if there is none, or if anything
/// in it is wrong: then all of it is left out.
pub(crate) fn read_state<'a>(headers: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut entries: Vec<&str> = Vec::new();
    for entry in headers.flat_map(|header| header.split(',')) {
        let entry = entry.trim_matches([' ', '\t']);
        // Empty ones are allowed, and mean nothing.
        if entry.is_empty() {
            continue;
        }
        let (key, value) = entry.split_once('=')?;
        let is_known = entries.iter().any(|other| other.split_once('=').is_some_and(|it| it.0 == key));
        if is_known || !is_key(key) || !is_value(value) {
            return None;
        }
        entries.push(entry);
    }
    let state = entries.join(",");
    let is_short = entries.len() <= MOST_ENTRIES && state.len() <= LONGEST_STATE;
    (is_short && !state.is_empty()).then_some(state)
}

/// `vendor`, or `tenant@vendor`.
fn is_key(key: &str) -> bool {
    let is_part = |part: &str, most: usize, may_begin_with_a_digit: bool| {
        let begins_well = part.starts_with(|first: char| {
            first.is_ascii_lowercase() || (may_begin_with_a_digit && first.is_ascii_digit())
        });
        let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/');
        begins_well && part.len() <= most && part.bytes().all(is_plain)
    };
    match key.split_once('@') {
        Some((tenant, vendor)) => is_part(tenant, 241, true) && is_part(vendor, 14, false),
        None => is_part(key, 256, false),
    }
}

fn is_value(value: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    (1..=256).contains(&value.len()) && value.bytes().all(is_plain) && !value.ends_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_good_header_comes_out_as_it_came_in() {
        let parent = TraceParent::parse(GOOD).unwrap();
        assert_eq!(parent.to_string(), GOOD);
        assert_eq!(parent.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        let below = parent.below();
        assert_eq!((below.trace, below.flags), (parent.trace, parent.flags));
        assert_ne!(below.span, parent.span);
    }

    #[test]
    fn what_is_wrong_is_no_trace() {
        let with = |from: usize, text: &str| {
            let mut header = GOOD.to_owned();
            header.replace_range(from..from + text.len(), text);
            header
        };
        let wrong = [
            String::new(),
            with(0, "ff"),
            with(0, "0g"),
            with(3, &"0".repeat(32)),
            with(36, &"0".repeat(16)),
            with(3, "0A"),
            with(36, "B7"),
            with(53, "0G"),
            with(53, "A1"),
            with(3, "+a"),
            with(2, "_"),
            with(35, "0"),
            with(52, "0"),
            format!("{GOOD}-"),
            format!("{GOOD}-00"),
            format!("{GOOD} "),
            format!(" {GOOD}"),
            GOOD[..54].to_owned(),
            GOOD[..53].to_owned(),
            with(10, "é"),
        ];
        for header in wrong {
            assert_eq!(TraceParent::parse(&header), None, "{header:?}");
        }
    }

    #[test]
    fn later_versions_are_read_as_far_as_they_are_known() {
        let later = GOOD.replacen("00", "cc", 1);
        let read = |text: &str| TraceParent::parse(text).map(|parent| parent.to_string());
        assert_eq!(read(&later).as_deref(), Some(GOOD));
        assert_eq!(read(&format!("{later}-what-comes-later")).as_deref(), Some(GOOD));
        assert_eq!(read(&format!("{later}.what-comes-later")), None);
        let flags = format!("{}ff", &GOOD[..53]);
        assert_eq!(read(&flags).unwrap(), format!("{}03", &GOOD[..53]), "flags that nobody knows go");
    }

    /// Whatever is read can be written, and what was written is read again.
    #[test]
    fn no_change_of_a_byte_is_read_as_something_else() {
        for place in 0..GOOD.len() {
            for byte in 0..=0x7f_u8 {
                let mut bytes = GOOD.as_bytes().to_vec();
                bytes[place] = byte;
                let text = String::from_utf8(bytes).unwrap();
                let Some(parent) = TraceParent::parse(&text) else { continue };
                let written = parent.to_string();
                assert_eq!(TraceParent::parse(&written), Some(parent));
                assert_eq!(written[3..53], text[3..53], "{text:?}");
            }
        }
        for _ in 0..1000 {
            let parent = TraceParent::begin();
            assert_eq!(TraceParent::parse(&parent.to_string()), Some(parent));
        }
    }

    #[test]
    fn a_state_is_passed_on_whole_or_not_at_all() {
        let read = |headers: &[&str]| read_state(headers.iter().copied());
        assert_eq!(read(&["a=1, b=2"]).as_deref(), Some("a=1,b=2"));
        assert_eq!(read(&["a=1", "", "t61rcWkgMzE@v=2 ,"]), None, "keys are in lower case");
        assert_eq!(read(&["a=1", "", "0t-*/_@v= 2 ,"]).as_deref(), Some("a=1,0t-*/_@v= 2"));
        for wrong in ["", ",", "a", "=1", "a=", "a=1=2", "a=1,a=2", "0a=1", "a@0=1", "a b=1", "a=\u{e9}"] {
            assert_eq!(read(&[wrong]), None, "{wrong:?}");
        }
        let many = |count: usize| (0..count).map(|it| format!("k{it}=1")).collect::<Vec<_>>().join(",");
        assert!(read(&[&many(32)]).is_some() && read(&[&many(33)]).is_none());
        let long = format!("a={}", "x".repeat(256));
        assert!(read(&[&long]).is_some() && read(&[&format!("{long}x")]).is_none());
        assert_eq!(read(&[&long, &long.replace("a=", "b=")]), None, "more than 512 bytes");
    }
}
