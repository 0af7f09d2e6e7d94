//! One JSON value as text.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::repair::{Repairs, repair};

/// One JSON value, kept as text.
///
/// The host does not need to look into what a script returns, so it does not. The digits of numbers
/// and the order of fields reach the caller as the script wrote them, and a large result is copied
/// once. Callers turn it into their own types with [`Json::to`].
///
/// Every `Json` follows the rules in the docs of [this module](crate::json). So any parser can read
/// it, and whatever it is part of.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Checks that `text` is one JSON value that every parser can read, and keeps it.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Writes any serialisable value as JSON. Fails if some parser could not read it.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        Self::checked(serde_json::value::to_raw_value(value)?).map_err(serde_json::Error::custom)
    }

    /// Reads any JSON, and changes what some parser could not read.
    pub fn parse_repaired(text: &str) -> serde_json::Result<(Self, Repairs)> {
        serde_json::from_str::<&RawValue>(text).map(Self::repaired)
    }

    /// Takes a guest's JSON, and changes what some parser could not read.
    pub fn repaired(written: &RawValue) -> (Self, Repairs) {
        let (changed, repairs) = repair(written.get());
        let json = match changed {
            Some(text) => RawValue::from_string(text).expect("JSON with values in place of values is JSON"),
            None => written.to_owned(),
        };
        (Self(json), repairs)
    }

    /// Line breaks between values are white space, and no reason to refuse anything.
    fn checked(written: Box<RawValue>) -> Result<Self, String> {
        let (json, repairs) = Self::repaired(&written);
        match repairs.is_empty() {
            true => Ok(json),
            false => Err(format!("JSON that not every reader can read: {}", repairs.faults())),
        }
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Reads the value into a type that the caller chooses.
    ///
    /// Fails if the value does not fit. An integer of more than 64 bits fits a `serde_json::Value`
    /// only as a float.
    pub fn to<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.0.get())
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::checked(Box::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl PartialEq for Json {
    /// Compares the text: `1.0` and `1` are different values here, as they are to the script.
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
    fn a_value_that_some_cannot_read_is_refused_by_its_rule() {
        let deep = format!("{}{}", "[".repeat(61), "]".repeat(61));
        for (bad, rule) in [
            (deep.as_str(), "nested deeper than 60 levels"),
            ("[1e999]", "a number that a double cannot hold"),
            (r#""\ud800""#, "half of a surrogate pair"),
            (r#"{"a":1,"a":2}"#, "a field whose name was there already"),
        ] {
            let error = Json::parse(bad).unwrap_err().to_string();
            assert!(error.contains(rule), "{error}");
            let raw: Box<RawValue> = serde_json::from_str(bad).unwrap();
            assert!(Json::of(&raw).unwrap_err().to_string().contains(rule));
        }
    }

    #[test]
    fn a_value_is_one_line_however_it_came_about() {
        let text = "[1,\r{\"type\":\n\"final_result\"}\r\n,\"a\\nb\"]";
        let line = "[1, {\"type\": \"final_result\"}  ,\"a\\nb\"]";
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        assert_eq!(Json::parse(text).unwrap().as_str(), line);
        assert_eq!(Json::repaired(&raw).0.as_str(), line);
        let (inside,): (Json,) = serde_json::from_str(&format!("[{text}]")).unwrap();
        assert_eq!(inside.as_str(), line);
        assert_eq!(Json::of(&raw).unwrap().as_str(), line);
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for bad in ["", "NaN", "{\"a\":1", "[1] 2", "'x'"] {
            assert!(Json::parse(bad).is_err(), "{bad:?} was taken as JSON");
        }
    }
}
