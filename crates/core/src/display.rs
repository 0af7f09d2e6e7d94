//! What a script showed: one thing, in one or more forms.
//!
//! ```text
//!  guest frame ── data {mime: …} ──► Received::read ──► Display ──► event, result ──► JSON
//!                                    a form that is not what its type says is refused
//! ```
//!
//! The MIME type of a form decides how it is written in JSON, both ways: see [`DisplayData`].

mod files;
mod mime;
mod signature;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Json;
use crate::json::Repairs;
use mime::Kind;

/// How many displays of a run are kept. The harness stops there, and so does the host.
pub const MOST_DISPLAYS: usize = 500;
/// How many forms of one display are kept.
const MOST_FORMS: usize = 32;

/// One thing that a script showed: a table, a figure, the value of its last line.
///
/// Cheap to clone: the event and the result share the data.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Display {
    forms: Arc<BTreeMap<String, DisplayData>>,
}

/// One form of a display. Which kind it is follows from its MIME type.
#[derive(Debug, Clone, PartialEq)]
pub enum DisplayData {
    /// `text/…`, `…+xml` (SVG too), `application/xml` and `application/javascript`. A string in
    /// JSON.
    Text(String),
    /// `application/json` and `…+json`. The value itself in JSON.
    Json(Json),
    /// All other types. A string in base64 in JSON.
    Bytes(Vec<u8>),
}

impl Display {
    /// Every form, by its MIME type, in the order of the types' names.
    pub fn forms(&self) -> impl Iterator<Item = (&str, &DisplayData)> {
        self.forms.iter().map(|(mime, data)| (mime.as_str(), data))
    }

    /// One form.
    pub fn get(&self, mime: &str) -> Option<&DisplayData> {
        self.forms.get(mime)
    }

    /// The plain text of it. Absent only for a value that was printed already.
    pub fn text(&self) -> Option<&str> {
        match self.get("text/plain") {
            Some(DisplayData::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The memory that it takes, in bytes.
    pub fn size(&self) -> usize {
        self.forms.iter().map(|(mime, data)| mime.len() + data.as_bytes().len()).sum()
    }

    fn new(forms: BTreeMap<String, DisplayData>) -> Self {
        Self { forms: Arc::new(forms) }
    }
}

impl DisplayData {
    /// The data as a file of its type has it.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Json(json) => json.as_str().as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// Reads a form as its type says it is written. `None` if it is something else.
    fn read(mime: &str, written: &RawValue) -> Option<(Self, Repairs)> {
        let text = || serde_json::from_str::<Cow<'_, str>>(written.get()).ok();
        let data = match Kind::of(mime)? {
            Kind::Json => {
                let (json, repairs) = Json::repaired(written);
                return Some((Self::Json(json), repairs));
            }
            Kind::Text => Self::Text(text()?.into_owned()),
            Kind::Bytes => {
                let bytes = STANDARD.decode(text()?.as_bytes()).ok()?;
                Self::Bytes(signature::fits(mime, &bytes).then_some(bytes)?)
            }
        };
        Some((data, Repairs::default()))
    }
}

/// What a guest's `display` frame came to.
#[derive(Debug)]
pub struct Received {
    /// What is left of it, if anything is.
    pub display: Option<Display>,
    /// Forms that are not what their type says, or whose type is not one.
    pub refused: u64,
    /// Forms that `keep` did not want.
    pub unwanted: u64,
    /// Repairs of JSON forms.
    pub repairs: Repairs,
}

impl Received {
    /// Takes a guest's word for nothing. `keep` is told the type of each form. It may change the
    /// form but not its kind, or drop it.
    pub fn read(data: &RawValue, mut keep: impl FnMut(&str, &mut DisplayData, &mut Repairs) -> bool) -> Self {
        let mut received = Self { display: None, refused: 0, unwanted: 0, repairs: Repairs::default() };
        let Ok(written) = serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(data.get()) else {
            received.refused = 1;
            return received;
        };
        received.refused = written.len().saturating_sub(MOST_FORMS) as u64;
        let mut forms = BTreeMap::new();
        for (mime, written) in written.into_iter().take(MOST_FORMS) {
            let Some((mut data, repairs)) = DisplayData::read(&mime, written) else {
                received.refused += 1;
                continue;
            };
            received.repairs.add(repairs);
            if keep(&mime, &mut data, &mut received.repairs) {
                forms.insert(mime.into_owned(), data);
            } else {
                received.unwanted += 1;
            }
        }
        received.display = (!forms.is_empty()).then(|| Display::new(forms));
        received
    }
}

impl Serialize for DisplayData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Json(json) => json.serialize(serializer),
            Self::Bytes(bytes) => STANDARD.encode(bytes).serialize(serializer),
        }
    }
}

/// `{"data": {mime: …}}`. An event has `data` among its own fields.
impl Serialize for Display {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            data: &'a BTreeMap<String, DisplayData>,
        }
        Fields { data: &self.forms }.serialize(serializer)
    }
}

impl Display {
    pub(crate) fn data(&self) -> &BTreeMap<String, DisplayData> {
        &self.forms
    }

    /// Reads what [`data`](Self::data) was written as.
    pub(crate) fn from_data(json: &Json) -> serde_json::Result<Self> {
        let written: BTreeMap<String, Box<RawValue>> = json.to()?;
        let read = written.into_iter().map(|(mime, written)| match DisplayData::read(&mime, &written) {
            Some((data, repairs)) if repairs.is_empty() => Ok((mime, data)),
            _ => Err(serde_json::Error::custom(format!("{mime:?} is not written as its type demands"))),
        });
        read.collect::<Result<_, _>>().map(Self::new)
    }
}

impl<'de> Deserialize<'de> for Display {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            data: Json,
        }
        let fields = Fields::deserialize(deserializer)?;
        Self::from_data(&fields.data).map_err(D::Error::custom)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A display from JSON that a guest may have written, without forms that are refused.
    pub(crate) fn display(data: &str) -> Display {
        received(data).display.expect("a form is left")
    }

    fn received(data: &str) -> Received {
        let raw: Box<RawValue> = serde_json::from_str(data).unwrap();
        Received::read(&raw, |_, _, _| true)
    }

    #[test]
    fn the_type_decides_how_a_form_is_read_and_written() {
        let data = r#"{"application/vnd.x+json":{"a":1.50},"image/png":"iVBORw0KGgo=","image/svg+xml":"<svg/>","text/plain":"é"}"#;
        let display = display(data);
        assert_eq!(display.get("image/png"), Some(&DisplayData::Bytes(b"\x89PNG\r\n\x1a\n".to_vec())));
        assert_eq!(display.get("image/svg+xml"), Some(&DisplayData::Text("<svg/>".into())));
        assert_eq!(display.text(), Some("é"));
        assert_eq!(serde_json::to_string(&display).unwrap(), format!("{{\"data\":{data}}}"));
        let read: Display = serde_json::from_str(&format!("{{\"data\":{data}}}")).unwrap();
        assert_eq!(read, display);
    }

    #[test]
    fn a_form_that_is_not_what_its_type_says_is_refused() {
        for bad in [
            r#"{"image/png":"not base64"}"#,
            r#"{"image/png":"iVBORw"}"#,
            r#"{"image/png":5}"#,
            r#"{"image/png":""}"#,
            r#"{"image/png":"bm90cG5n"}"#,
            r#"{"image/png":"iVBORw=="}"#,
            r#"{"image/jpeg":"iVBORw0KGgo="}"#,
            r#"{"application/octet-stream":""}"#,
            r#"{"text/html":["<b>"]}"#,
            r#"{"text/html":"\ud800"}"#,
            r#"{"text":"x"}"#,
            r#"{"text/":"x"}"#,
            r#"{"Text/Plain":"x"}"#,
            r#"{"text/plain; charset=utf-8":"x"}"#,
            r#"{"text/../../etc/passwd":"x"}"#,
            r#"{"text/\u001b[2J":"x"}"#,
            r#"["text/plain"]"#,
            "5",
        ] {
            let received = received(bad);
            assert!(received.display.is_none() && received.refused == 1, "{bad}: {received:?}");
            assert!(serde_json::from_str::<Display>(&format!("{{\"data\":{bad}}}")).is_err(), "{bad}");
        }
        let mixed = received(r#"{"text/plain":"x","image/png":"?"}"#);
        assert_eq!((mixed.display.unwrap().text(), mixed.refused), (Some("x"), 1));
    }

    #[test]
    fn forms_are_bounded_in_number() {
        let forms: Vec<_> = (0..100).map(|n| format!("\"text/x{n}\":\"\"")).collect();
        let received = received(&format!("{{{}}}", forms.join(",")));
        assert_eq!((received.display.unwrap().forms().count(), received.refused), (MOST_FORMS, 68));
    }

    #[test]
    fn json_that_not_every_reader_can_read_is_repaired() {
        let received = received(r#"{"application/json":[1e999]}"#);
        assert_eq!(received.repairs.numbers, 1);
        assert_eq!(received.display.unwrap().get("application/json").unwrap().as_bytes(), b"[null]");
    }
}
