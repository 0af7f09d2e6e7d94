#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| belljar_proxy::entries::client_hello(input));
