#![no_main]

#[path = "../../crates/core/tests/replay/entries.rs"]
#[expect(dead_code, reason = "each target uses one of them")]
mod entries;

libfuzzer_sys::fuzz_target!(|input: &[u8]| entries::tool_schema(input));
