//! The shipped examples do what they say.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]

use std::path::PathBuf;
use std::process::Command;

/// Examples are built one directory above the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a running program has a path");
    let directory = test.ancestors().nth(2).expect("tests are in <profile>/deps").join("examples");
    directory.join(name)
}

fn output_of(name: &str) -> Option<String> {
    output_with(name, &[])
}

fn output_with(name: &str, arguments: &[&str]) -> Option<String> {
    let tokio = tokio::runtime::Builder::new_current_thread().build().expect("an event loop");
    let runtime = tokio.block_on(belljar::Runtime::new());
    if !runtime.is_ok_and(|runtime| runtime.capabilities().can_make_cells()) {
        let required = std::env::var("BELLJAR_TEST_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|part| part == "native"), "native is required here");
        println!("native: skipped (this machine cannot make cells; see belljar doctor)");
        return None;
    }
    let output = Command::new(example(name)).args(arguments).output();
    let output = output.expect("cargo builds examples together with tests");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn one_shot_prints_its_result() {
    if let Some(output) = output_of("one_shot") {
        assert_eq!(output, "ok: {\"squares\":[0,1,4,9,16]}\n");
    }
}

#[test]
fn streaming_prints_events_and_an_honest_end() {
    if let Some(output) = output_of("streaming") {
        assert_eq!(
            output,
            "progress is 0\nprogress is 50\nprogress is 100\nit prints: now something that cannot work\n\
             exception: IndexError: list index out of range\n"
        );
    }
}

#[test]
fn session_keeps_its_variables() {
    if let Some(output) = output_of("session") {
        assert_eq!(output, "the total is 8\n");
    }
}

#[cfg(feature = "mcp")]
#[test]
fn a_server_is_called_in_a_loop() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/mcp-servers/py/bin/mcp-server-time");
    if !std::path::Path::new(program).exists() {
        let required = std::env::var("BELLJAR_TEST_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|part| part == "mcp"), "mcp is required here: scripts/mcp-servers");
        println!("mcp: skipped (scripts/mcp-servers installs the servers)");
        return;
    }
    if let Some(output) = output_with("mcp_server", &[program, "--local-timezone", "UTC"]) {
        assert!(output.contains("def time_convert_time(source_timezone: str, time: str,"), "{output}");
        let times = r#"{"America/Lima":"07:00","Asia/Tokyo":"21:00","Asia/Kathmandu":"17:45"}"#;
        assert!(output.ends_with(&format!("ok: {times}\n")), "{output}");
    }
}

#[test]
#[cfg(feature = "agent")]
fn agent_learns_from_its_mistakes() {
    if let Some(output) = output_of("agent") {
        assert_eq!(
            output,
            "attempt 1: line 1: `price` is a function and is not called here: write price(…)\n\
             attempt 2: ValueError: too many values to unpack (expected 2)\n\
             attempt 3: ok\n\
             succeeded: 11\n"
        );
    }
}
