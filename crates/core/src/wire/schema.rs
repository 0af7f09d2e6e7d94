//! The protocol as a document. It is rendered from the types, so that a change shows up as a diff.
//!
//! `make reference` writes `schema/wire-1.json`. `crates/runtime/tests/it/wire.rs` checks the real
//! harness against it. Test code only: nobody needs a schema to speak the protocol.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use super::PROTOCOL;
use super::guest::Envelope;
use super::host::Exposed;

/// Adds what is on the wire but not in the host's types, and forbids everything else.
pub(super) fn close(schema: &mut Schema) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let description =
            "The caller's name for the execution. The host does not read it: the seal is what binds a frame.";
        properties.insert("execution_id".to_owned(), json!({ "type": "string", "description": description }));
    }
    schema.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
}

/// The file's text.
pub(crate) fn rendered() -> String {
    fn of<T: JsonSchema>() -> Value {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value()
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "protocol": PROTOCOL,
        "framing": "one JSON object a line, UTF-8, newline-terminated; empty and foreign lines are skipped",
        "$defs": {
            "host_to_guest": of::<Exposed<'static>>(),
            "guest_to_host": of::<Envelope<'static>>(),
        },
    });
    format!("{schema:#}\n")
}
