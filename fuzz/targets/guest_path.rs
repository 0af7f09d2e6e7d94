#![no_main]

#[path = "../entries.rs"]
#[expect(dead_code, reason = "each target uses one of them")]
mod entries;

libfuzzer_sys::fuzz_target!(|input: &[u8]| entries::guest_path(input));
