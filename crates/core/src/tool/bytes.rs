//! Bytes as arguments and answers of tools.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// What bytes are known by.
pub(super) const KEY: &str = "__bytes__";

/// Whoever sends bytes may have left out the padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Bytes that a script passes to a tool of the host's, or gets from one. In Python they are
/// `bytes`; those from a tool have a `media_type` too, and can be displayed.
///
/// As JSON they are `{"__bytes__": "…base64…", "media_type": "image/png"}`, wherever they are in an
/// argument or an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolBytes {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What they are, if somebody said so: `image/png`.
    pub media_type: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Form<'a> {
    #[serde(rename = "__bytes__", borrow)]
    bytes: std::borrow::Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
}

impl ToolBytes {
    /// Bytes of no particular kind.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), media_type: None }
    }

    /// Says what they are.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Reads base64, with padding or without. `None` if the text is anything else.
    pub fn from_base64(text: &str, media_type: Option<String>) -> Option<Self> {
        LENIENT.decode(text).ok().map(|bytes| Self { bytes, media_type })
    }

    /// Whether a value is of that form.
    pub(super) fn is(value: &Value) -> bool {
        value.get(KEY).is_some_and(Value::is_string)
    }

    /// Whether there may be bytes in an answer.
    pub fn may_be_in(json: &str) -> bool {
        memchr::memmem::find(json.as_bytes(), b"\"__bytes__\"").is_some()
    }
}

impl Serialize for ToolBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = STANDARD.encode(&self.bytes).into();
        Form { bytes, media_type: self.media_type.clone() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        Self::from_base64(&form.bytes, form.media_type).ok_or_else(|| D::Error::custom("these are no bytes"))
    }
}

impl From<Vec<u8>> for ToolBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

#[cfg(any(feature = "schemars", test))]
impl schemars::JsonSchema for ToolBytes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ToolBytes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        super::schema::bytes_schema().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        let image = ToolBytes::new([0, 255, 7]).with_media_type("image/png");
        let text = serde_json::to_string(&image).unwrap();
        assert_eq!(text, r#"{"__bytes__":"AP8H","media_type":"image/png"}"#);
        assert!(ToolBytes::may_be_in(&text) && !ToolBytes::may_be_in("{}"));
        assert_eq!(serde_json::from_str::<ToolBytes>(&text).unwrap(), image);
        assert_eq!(ToolBytes::from_base64("aGk", None).unwrap().bytes, b"hi");
        assert!(serde_json::from_str::<ToolBytes>(r#"{"__bytes__":"!"}"#).is_err());
    }
}
