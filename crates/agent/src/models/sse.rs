//! Server-sent events, from bytes that come in any pieces.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// Its name, empty if it has none.
    pub(super) name: String,
    /// Its data. Lines are joined by line breaks.
    pub(super) data: String,
}

/// Takes bytes apart into events. It holds one event at a time. Whoever feeds it bounds the bytes.
#[derive(Debug, Default)]
pub(super) struct SseReader {
    line: Vec<u8>,
    /// The last line ended in a carriage return. A line feed now is part of the same end.
    has_returned: bool,
    is_past_first_line: bool,
    name: String,
    data: Vec<String>,
}

impl SseReader {
    /// The events that end in these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for &byte in bytes {
            let is_second_half = byte == b'\n' && std::mem::take(&mut self.has_returned);
            match byte {
                _ if is_second_half => {}
                b'\n' | b'\r' => {
                    self.has_returned = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.end_line(&line));
                }
                byte => {
                    self.has_returned = false;
                    self.line.push(byte);
                }
            }
        }
        events
    }

    fn end_line(&mut self, line: &[u8]) -> Option<SseEvent> {
        let line = String::from_utf8_lossy(line);
        let is_first = !std::mem::replace(&mut self.is_past_first_line, true);
        let line = if is_first { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            return (!data.is_empty()).then(|| SseEvent { name, data: data.join("\n") });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => self.data.push(value.to_owned()),
            // Comments, and fields for clients that connect again.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.into(), data: data.into() }
    }

    #[test]
    fn events_are_split_by_empty_lines_of_any_kind() {
        let text =
            "\u{feff}: hello\n\nevent: a\ndata: 1\r\ndata:2\r\n\r\ndata: {\"é\": 1}\r\rid: 4\n\ndata: open";
        let expected = [event("a", "1\n2"), event("", "{\"é\": 1}")];
        assert_eq!(SseReader::default().push(text.as_bytes()), expected);
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_does_not_matter(
            text in "(event: [a-z]{1,3}|data:? ?[a-zé]{0,4}|:|\r\n|\n|\r){0,24}",
            cut in 0usize..60,
        ) {
            let bytes = text.as_bytes();
            let cut = cut.min(bytes.len());
            let whole = SseReader::default().push(bytes);
            let mut reader = SseReader::default();
            let mut pieces = reader.push(&bytes[..cut]);
            pieces.extend(reader.push(&bytes[cut..]));
            prop_assert_eq!(whole, pieces);
        }
    }
}
