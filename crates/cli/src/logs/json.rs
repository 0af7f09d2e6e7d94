//! The log as lines of JSON.
//!
//! ```text
//!  {"time": …, "level": "info", "target": …, "message": …, "trace_id": …,
//!   its fields, "spans": [{"name": …, fields of the span}, …]}
//! ```
//!
//! The order of the keys is not promised.
//!
//! The id of the trace is that of the innermost span that has one, so that every line of a request
//! has it in the same place.

use std::fmt::{Debug, Write as _};
use std::time::SystemTime;

use belljar::text::is_printable;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::printer::{Output, Printer};

const TRACE_ID: &str = "trace_id";

/// Writes each entry as a line of JSON.
pub(super) struct JsonLines;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for JsonLines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut spans = Vec::new();
        for span in context.event_scope(event).into_iter().flat_map(|scope| scope.from_root()) {
            let mut told = Map::new();
            told.insert("name".to_owned(), span.name().into());
            told.extend(span.extensions().get::<Fields>().map(|fields| fields.0.clone()).unwrap_or_default());
            spans.push(told);
        }
        let time = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
        let entry = entry(&time, event.metadata(), fields.0, spans);
        // If stderr cannot be written, nobody can be told.
        let _ = Printer::new(Output::Human).log_line(&in_ascii_where_needed(&entry.to_string()));
    }
}

fn entry(
    time: &str,
    metadata: &tracing::Metadata<'_>,
    mut fields: Map<String, Value>,
    spans: Vec<Map<String, Value>>,
) -> Value {
    let mut entry = Map::new();
    let own = [
        ("time", json!(time)),
        ("level", json!(metadata.level().as_str().to_ascii_lowercase())),
        ("target", json!(metadata.target())),
        ("message", fields.remove("message").unwrap_or_default()),
    ];
    entry.extend(own.map(|(name, value)| (name.to_owned(), value)));
    let above = spans.iter().rev().find_map(|span| span.get(TRACE_ID));
    if let Some(id) = fields.remove(TRACE_ID).or_else(|| above.cloned()) {
        entry.insert(TRACE_ID.to_owned(), id);
    }
    for (mut name, value) in fields {
        // A field may be called as one of ours.
        while entry.contains_key(&name) || name == "spans" {
            name.push('_');
        }
        entry.insert(name, value);
    }
    if !spans.is_empty() {
        entry.insert("spans".to_owned(), spans.into());
    }
    Value::Object(entry)
}

/// Characters that a terminal acts on are written as JSON can write them.
fn in_ascii_where_needed(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_printable(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

/// The fields of an entry or a span.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_of_a_line_acts_on_a_terminal_and_none_is_lost() {
        let text = "a\u{1b}[2J\u{9b}\u{202e}é\u{7f}\u{e0041}\n\"";
        let line = in_ascii_where_needed(&json!({ text: text }).to_string());
        assert!(line.chars().all(is_printable), "{line}");
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read[text], text);
    }
}
