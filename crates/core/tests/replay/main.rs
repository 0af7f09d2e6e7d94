//! The fuzz targets' claims on a stable toolchain: runs the corpus in `fuzz/`, and random changes
//! of it.
//!
//! The entries are the targets' own. A fuzzer looks further. This test keeps
//! what it found from coming back.

mod entries;

/// Parts of the formats, and things that break readers.
const WORDS: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\0",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"..",
    b"/",
    b".",
    b"=",
    b"\\ud800",
    b"\xff",
    b"\xef\xbb\xbf",
    b"null",
    b"NaN",
    b"1e999",
    b"-1",
    b"99999999999999999999",
    b"\"type\":",
    b"\"seal\":\"s\"",
    b"\"data\":",
    b"\"type\":\"display\"",
    b"{\"image/png\":\"iVBORw0KGgo=\"}",
    b"{\"text/plain\":",
    b"\"\"\"",
    b"'''",
    b"[[",
    b"]]",
    b"#",
    b"true",
    b"pool_size",
    b"\"$ref\":\"#\"",
    b"\"anyOf\":[",
    b"\"enum\":[null]",
    b"\"items\":",
    b"pool-size",
    b"env.A",
    "é\u{2028}😀".as_bytes(),
];

belljar_testing::replay_targets! {
    frames: guest_frames, "guest_frames";
    configs: config_document, "config_document";
    paths: guest_path, "guest_path";
    tools: tool_schema, "tool_schema";
}
