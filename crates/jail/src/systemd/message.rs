//! Messages of D-Bus, as far as systemd is talked to here: calls are written, answers are read.
//!
//! The format is little-endian. Every value is aligned to its own size, counted from the start of
//! the message.

/// A value of one of the few types that calls here need.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    U64(u64),
    Text(String),
    Numbers(Vec<u32>),
}

impl Value {
    fn signature(&self) -> &'static str {
        match self {
            Self::Bool(_) => "b",
            Self::U64(_) => "t",
            Self::Text(_) => "s",
            Self::Numbers(_) => "au",
        }
    }
}

/// Writes values one after another.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    pub(super) fn number(&mut self, number: u32) -> &mut Self {
        self.align(4);
        self.bytes.extend(number.to_le_bytes());
        self
    }

    fn long(&mut self, number: u64) -> &mut Self {
        self.align(8);
        self.bytes.extend(number.to_le_bytes());
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.number(length(text.len()));
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
        self
    }

    fn signature(&mut self, signature: &str) -> &mut Self {
        self.bytes.push(u8::try_from(signature.len()).expect("signatures here are a few bytes long"));
        self.bytes.extend(signature.as_bytes());
        self.bytes.push(0);
        self
    }

    /// An array. Its length is that of its elements, without what aligns the first one.
    fn array(&mut self, alignment: usize, elements: impl FnOnce(&mut Self)) -> &mut Self {
        self.number(0);
        let length_at = self.bytes.len() - 4;
        self.align(alignment);
        let begun = self.bytes.len();
        elements(self);
        let length = length(self.bytes.len() - begun);
        self.bytes[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
        self
    }

    pub(super) fn numbers(&mut self, numbers: &[u32]) -> &mut Self {
        self.array(4, |array| {
            for number in numbers {
                array.number(*number);
            }
        })
    }

    /// Named values of different types: `a(sv)`.
    pub(super) fn properties(&mut self, properties: &[(&str, Value)]) -> &mut Self {
        self.array(8, |array| {
            for (name, value) in properties {
                array.align(8);
                array.text(name).signature(value.signature());
                match value {
                    Value::Bool(value) => array.number(u32::from(*value)),
                    Value::U64(value) => array.long(*value),
                    Value::Text(value) => array.text(value),
                    Value::Numbers(values) => array.numbers(values),
                };
            }
        })
    }

    /// An array without elements, whatever they would be: structures, aligned to eight bytes.
    pub(super) fn no_structures(&mut self) -> &mut Self {
        self.array(8, |_| {})
    }

    fn field(&mut self, code: u8, signature: &str, text: &str) {
        self.align(8);
        self.bytes.push(code);
        self.signature(signature).text(text);
    }
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a message is a few hundred bytes long")
}

/// A call of a method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) destination: &'a str,
    pub(super) path: &'a str,
    pub(super) interface: &'a str,
    pub(super) method: &'a str,
    /// The types of the arguments.
    pub(super) signature: &'a str,
}

impl Call<'_> {
    /// The message. `serial` is what its answer refers to, and is not 0.
    pub(super) fn encode(&self, serial: u32, arguments: &Writer) -> Vec<u8> {
        let mut message = Writer { bytes: vec![b'l', METHOD_CALL, 0, 1] };
        message.number(length(arguments.bytes.len())).number(serial);
        message.array(8, |fields| {
            fields.field(PATH, "o", self.path);
            fields.field(INTERFACE, "s", self.interface);
            fields.field(MEMBER, "s", self.method);
            fields.field(DESTINATION, "s", self.destination);
            if !self.signature.is_empty() {
                fields.align(8);
                fields.bytes.push(SIGNATURE);
                fields.signature("g").signature(self.signature);
            }
        });
        message.align(8);
        message.bytes.extend(&arguments.bytes);
        message.bytes
    }
}

const METHOD_CALL: u8 = 1;
const METHOD_RETURN: u8 = 2;
const ERROR: u8 = 3;
const SIGNAL: u8 = 4;

const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const ERROR_NAME: u8 = 4;
const REPLY_SERIAL: u8 = 5;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

/// A message that was received, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Received {
    /// The answer to the call with this serial.
    Answer { to: u32, body: Body },
    /// A call that was refused: the name of the error, and what it says.
    Refusal { to: u32, name: String, text: String },
    /// A signal.
    Signal { name: String, body: Body },
    /// Something that nobody here waits for.
    Other,
}

/// The arguments of a message, read one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Body {
    bytes: Vec<u8>,
    at: usize,
}

impl Body {
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn align(&mut self, to: usize) {
        self.at = self.at.next_multiple_of(to);
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        self.align(4);
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// A text, or the path of an object.
    pub(super) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let text = String::from_utf8(self.take(length)?.to_vec()).ok()?;
        (self.take(1)? == [0]).then_some(text)
    }

    /// The value in a variant, if it is of this type.
    pub(super) fn variant(mut self, signature: &str) -> Option<Self> {
        (self.signature()? == signature).then_some(self)
    }

    fn signature(&mut self) -> Option<String> {
        let length = usize::from(*self.take(1)?.first()?);
        let signature = String::from_utf8(self.take(length)?.to_vec()).ok()?;
        (self.take(1)? == [0]).then_some(signature)
    }
}

/// The part of a message that says how long the rest is.
pub(super) const PREFIX: usize = 16;
/// No message is longer than this here. The protocol's own limit is 128 MiB.
const LONGEST: usize = 1 << 20;

/// How long a message is, by its first bytes. `None` if they are not those of a message.
pub(super) fn length_of(prefix: &[u8; PREFIX]) -> Option<usize> {
    let number = |at: usize| prefix[at..at + 4].try_into().map(u32::from_le_bytes).ok()?.try_into().ok();
    let (body, fields): (usize, usize) = (number(4)?, number(12)?);
    let whole = fields.checked_add(PREFIX)?.checked_next_multiple_of(8)?.checked_add(body)?;
    (prefix[0] == b'l' && prefix[3] == 1 && whole <= LONGEST).then_some(whole)
}

/// Reads a message. `None` if it breaks the format.
pub(super) fn decode(message: &[u8]) -> Option<Received> {
    let prefix = message.get(..PREFIX)?.try_into().ok()?;
    if length_of(prefix)? != message.len() {
        return None;
    }
    let (mut reply_to, mut name) = (None, None);
    let mut fields = Body { bytes: message.to_vec(), at: PREFIX - 4 };
    let end = fields.number().and_then(|length| PREFIX.checked_add(length.try_into().ok()?))?;
    while fields.at < end {
        fields.align(8);
        let code = *fields.take(1)?.first()?;
        match (code, fields.signature()?.as_str()) {
            (REPLY_SERIAL, "u") => reply_to = Some(fields.number()?),
            (MEMBER | ERROR_NAME, "s") => name = Some(fields.text()?),
            (_, "s" | "o") => drop(fields.text()?),
            (_, "u") => drop(fields.number()?),
            (_, "g") => drop(fields.signature()?),
            // Fields that may be added one day would have to be understood to be passed over.
            _ => return None,
        }
    }
    let mut body = Body { bytes: message[end.next_multiple_of(8)..].to_vec(), at: 0 };
    Some(match (message[1], reply_to, name) {
        (METHOD_RETURN, Some(to), _) => Received::Answer { to, body },
        (ERROR, Some(to), Some(name)) => {
            Received::Refusal { to, name, text: body.text().unwrap_or_default() }
        }
        (SIGNAL, _, Some(name)) => Received::Signal { name, body },
        _ => Received::Other,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A message as a bus would send it.
    fn message(kind: u8, fields: impl FnOnce(&mut Writer), body: &Writer) -> Vec<u8> {
        let mut message = Writer { bytes: vec![b'l', kind, 0, 1] };
        message.number(length(body.bytes.len())).number(9);
        message.array(8, fields);
        message.align(8);
        message.bytes.extend(&body.bytes);
        message.bytes
    }

    fn reply_serial(fields: &mut Writer) {
        fields.align(8);
        fields.bytes.push(REPLY_SERIAL);
        fields.signature("u").number(7);
    }

    #[test]
    fn a_call_is_what_the_specification_says() {
        let call = Call {
            destination: "org.example",
            path: "/a",
            interface: "org.example.I",
            method: "M",
            signature: "s",
        };
        let mut arguments = Writer::default();
        arguments.text("hi");
        let expected = b"l\x01\0\x01\x07\0\0\0\x05\0\0\0\x57\0\0\0\
            \x01\x01o\0\x02\0\0\0/a\0\0\0\0\0\0\
            \x02\x01s\0\x0d\0\0\0org.example.I\0\0\0\
            \x03\x01s\0\x01\0\0\0M\0\0\0\0\0\0\0\
            \x06\x01s\0\x0b\0\0\0org.example\0\0\0\0\0\
            \x08\x01g\0\x01s\0\0\
            \x02\0\0\0hi\0";
        let written = call.encode(5, &arguments);
        assert_eq!(written.escape_ascii().to_string(), expected.escape_ascii().to_string());
        assert_eq!(length_of(written[..PREFIX].try_into().unwrap()), Some(written.len()));
    }

    #[test]
    fn answers_refusals_and_signals_are_told_apart() {
        let mut body = Writer::default();
        body.text("/job/1");
        let Some(Received::Answer { to: 7, mut body }) = decode(&message(METHOD_RETURN, reply_serial, &body))
        else {
            panic!("it is an answer")
        };
        assert_eq!((body.text(), body.text()), (Some("/job/1".into()), None));

        let mut text = Writer::default();
        text.text("no such unit");
        let refused = message(
            ERROR,
            |fields| {
                fields.field(ERROR_NAME, "s", "org.example.No");
                reply_serial(fields);
            },
            &text,
        );
        let refusal = Received::Refusal { to: 7, name: "org.example.No".into(), text: "no such unit".into() };
        assert_eq!(decode(&refused), Some(refusal));

        let mut job = Writer::default();
        job.number(3).text("/job/1").text("a.scope").text("done");
        let signal = message(SIGNAL, |fields| fields.field(MEMBER, "s", "JobRemoved"), &job);
        let Some(Received::Signal { name, mut body }) = decode(&signal) else { panic!("it is a signal") };
        assert_eq!(name, "JobRemoved");
        assert_eq!(body.number(), Some(3));
        assert_eq!(body.text().as_deref(), Some("/job/1"));
    }

    #[test]
    fn properties_are_aligned_from_the_start_of_the_message() {
        let mut written = Writer::default();
        written.properties(&[("D", Value::Bool(true)), ("M", Value::U64(5)), ("P", Value::Numbers(vec![2]))]);
        let expected = b"\x3c\0\0\0\0\0\0\0\
            \x01\0\0\0D\0\x01b\0\0\0\0\x01\0\0\0\
            \x01\0\0\0M\0\x01t\0\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\
            \x01\0\0\0P\0\x02au\0\0\0\x04\0\0\0\x02\0\0\0";
        assert_eq!(written.bytes.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let mut like_one = vec![b'l', METHOD_RETURN, 0, 1];
            like_one.extend(bytes);
            let _ = decode(&like_one);
        }

        #[test]
        fn no_damage_breaks_the_reader(at in 0_usize..80, byte in any::<u8>(), cut in 0_usize..80) {
            let mut job = Writer::default();
            job.number(3).text("/job/1").text("a.scope").text("done");
            let mut signal = message(SIGNAL, |fields| fields.field(MEMBER, "s", "JobRemoved"), &job);
            let last = signal.len() - 1;
            signal[at.min(last)] = byte;
            let _ = decode(&signal);
            signal.truncate(cut);
            let _ = decode(&signal);
        }
    }
}
