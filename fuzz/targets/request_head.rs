#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| belljar_proxy::fuzz_entries::request_head(input));
