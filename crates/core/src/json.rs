//! A JSON value exactly as the guest wrote it.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// One JSON value, kept as text.
///
/// The host has no reason to take apart what a script returns, so it does not: integers of any size, float digits and
/// key order reach the caller as the script made them, nesting costs the host no stack, and a large result is
/// copied once. Callers turn it into their own types with [`Json::to`].
///
/// One thing is changed: it is always a single line. To JSON a line break between two values is white space; to whoever reads
/// a stream of events line by line, it would let the text after it pass for an event of its own.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(#[serde(deserialize_with = "one_line")] Box<RawValue>);

impl Json {
    /// Checks that `text` is one JSON value and keeps it.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Writes any serialisable value as JSON.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Reads the value into a type of the caller's.
    ///
    /// Fails when the value does not fit: `serde_json::Value`, for one, holds no integer beyond 64 bits and
    /// nothing nested deeper than 128 levels.
    pub fn to<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.0.get())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        let is_break = |byte: u8| matches!(byte, b'\r' | b'\n');
        if !raw.get().bytes().any(is_break) {
            return Self(raw);
        }
        // Inside a string JSON has no bare line break, so each of these is white space.
        let line = raw.get().replace(['\r', '\n'], " ");
        Self(RawValue::from_string(line).expect("white space in place of white space is still JSON"))
    }
}

fn one_line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(|raw| Json::from(raw).0)
}

impl PartialEq for Json {
    /// Textual: `1.0` and `1` are different values here, as they are to the script.
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_beyond_64_bits_survive_untouched() {
        let factorial = "30414093201713378043612608166064768844377641568960512000000000000";
        assert_eq!(Json::parse(factorial).unwrap().as_str(), factorial);
    }

    #[test]
    fn nesting_deeper_than_the_parser_allows_is_kept_and_only_refused_on_conversion() {
        let deep = format!("{}{}", "[".repeat(900), "]".repeat(900));
        let json = Json::parse(&deep).unwrap();
        assert_eq!(json.as_str(), deep);
        assert!(json.to::<serde_json::Value>().is_err());
    }

    #[test]
    fn a_value_is_one_line_however_it_came_about() {
        let text = "[1,\r{\"type\":\n\"final_result\"}\r\n,\"a\\nb\"]";
        let line = "[1, {\"type\": \"final_result\"}  ,\"a\\nb\"]";
        assert_eq!(Json::parse(text).unwrap().as_str(), line);
        assert_eq!(Json::from(serde_json::from_str::<Box<RawValue>>(text).unwrap()).as_str(), line);
        let (inside,): (Json,) = serde_json::from_str(&format!("[{text}]")).unwrap();
        assert_eq!(inside.as_str(), line);
        assert_eq!(Json::of(&serde_json::from_str::<Box<RawValue>>(text).unwrap()).unwrap().as_str(), line);
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for bad in ["", "NaN", "{\"a\":1", "[1] 2", "'x'"] {
            assert!(Json::parse(bad).is_err(), "{bad:?} was taken as JSON");
        }
    }
}
