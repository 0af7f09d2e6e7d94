//! The protocol as data, so that a change to it shows up as a diff in `schema/wire-1.json`.

use serde_json::{Value, json};

use super::PROTOCOL;

/// Every frame with its fields and their types; `?` marks a field that may be absent, `*` what all frames but `ready` have.
pub fn schema() -> Value {
    json!({
        "protocol": PROTOCOL,
        "framing": "one JSON object a line, UTF-8, newline-terminated; empty and foreign lines are skipped",
        "host_to_guest": {
            "execute": {
                "execution_id": "string",
                "seal": "string",
                "script": "string",
                "mode": "plan | interactive",
                "timeout": "number, seconds",
                "max_output_bytes": "integer",
                "required_secrets": "array of string",
                "secrets": "object of string",
            },
        },
        "guest_to_host": {
            "ready": { "protocol": "integer" },
            "*": {
                "execution_id": "string",
                "seal": "string",
                "stdout": "integer, bytes printed before this frame",
                "stderr": "integer",
            },
            "log": { "level": "string", "message": "string" },
            "intermediate": { "label": "string", "data": "any" },
            "final_result": { "data": "any" },
            "error": { "message": "string", "traceback": "string?", "timed_out": "boolean?" },
            "script_done": {},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_protocol_is_the_frozen_one() {
        let frozen: Value = serde_json::from_str(include_str!("../../schema/wire-1.json")).unwrap();
        assert_eq!(
            schema(),
            frozen,
            "the wire protocol changed: raise PROTOCOL and freeze a new schema file, do not edit the old one"
        );
    }
}
