//! Tools of MCP servers, by `--mcp` and `--mcp-config`.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use crate::belljar::{belljar, command, run_json};

/// The server of the tests of `belljar-mcp`. It writes to the file that it has started.
pub(crate) fn server(mode: &str, notes: &Path) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/it/server.py");
    format!("test=python3 {script} {mode} {}", notes.display())
}

/// Where `scripts/mcp-servers` has put the servers of others, or `None` with the reason printed.
pub(crate) fn servers_of_others() -> Option<PathBuf> {
    let place = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/mcp-servers"));
    if place.join("complete").exists() {
        return Some(place);
    }
    let required = std::env::var("BELLJAR_TEST_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|part| part == "mcp"), "mcp is required here: scripts/mcp-servers");
    println!("mcp: skipped (scripts/mcp-servers installs the servers)");
    None
}

/// Whether the server is there that has taken these notes.
fn is_alive(notes: &Path) -> bool {
    let text = fs::read_to_string(notes).unwrap();
    let pid = text.lines().find_map(|line| line.strip_prefix("started ")).expect("it has started");
    Path::new("/proc").join(pid).exists()
}

#[test]
fn a_script_calls_a_server_that_ends_with_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes");
    for mode in ["good", "deaf"] {
        let server = server(mode, &notes);
        let (outcome, result) = run_json(&["--mcp", &server], "emit_result(test_add(2, 3).data)");
        assert_eq!((outcome.code, &result["final_data"]["sum"]), (Some(0), &5.into()), "{outcome:#?}");
        assert_eq!(result["tool_calls"][0]["tool"], "test_add");
        assert!(!is_alive(&notes), "{mode}");
        fs::remove_file(&notes).unwrap();
    }
}

#[test]
fn a_shell_calls_the_servers_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes");
    let server = server("good", &notes);
    let words: Vec<_> = server.split(['=', ' ']).collect();
    let file = directory.path().join("servers.json");
    let entry = serde_json::json!({"mcpServers": {"my-server": {"command": words[1], "args": words[2..]}}});
    fs::write(&file, entry.to_string()).unwrap();
    let shell = ["shell", "--mcp-config", file.to_str().unwrap()];
    let outcome = belljar(&shell, "my_server_echo_back('hé').data\n");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "'hé'\n"), "{outcome:#?}");
    assert!(!is_alive(&notes));
}

#[test]
fn a_server_that_cannot_be_used_is_named_and_quoted() {
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes");
    let file = directory.path().join("servers.json");
    fs::write(&file, "{\"mcpServers\": {\"a\": {}}}").unwrap();
    let (fails, nonsense) = (server("fails", &notes), server("nonsense", &notes));
    for (options, parts) in [
        (
            ["--mcp", &fails],
            ["`test` cannot be connected to", "exit status: 7", "no configuration found [2J"],
        ),
        (["--mcp", &nonsense], ["`test` cannot be connected to", "", ""]),
        (["--mcp", "x=/not/there/at-all y"], ["`x` cannot be started", "/not/there/at-all", "in PATH"]),
        (["--mcp", "echo hello"], ["`echo` cannot be connected to", "exit status: 0", ""]),
        (["--mcp", "http://127.0.0.1:1/mcp"], ["`mcp` cannot be connected to", "", ""]),
        (["--mcp", "a 'b"], ["--mcp", "quote without an end", ""]),
        (["--mcp", ""], ["--mcp", "npx -y some-server", ""]),
        (["--mcp-config", file.to_str().unwrap()], ["--mcp-config", "servers.json", "`a` must have one of"]),
        (["--mcp-config", "/not/there.json"], ["--mcp-config", "/not/there.json", "No such file"]),
    ] {
        for command in ["run", "shell"] {
            let outcome = belljar(&[command, options[0], options[1]], "print('it has run')");
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:#?}");
            for part in parts {
                assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
            }
            assert!(!outcome.stderr.contains('\u{1b}'), "{}", outcome.stderr);
        }
    }
}

#[test]
fn an_interrupt_while_a_server_starts_leaves_no_server() {
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().join("notes");
    let child = command(&["run", "--mcp", &server("mute", &notes), "-c", "1"]).spawn().unwrap();
    while !fs::read_to_string(&notes).is_ok_and(|text| text.contains("started")) {
        std::thread::yield_now();
    }
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(!is_alive(&notes));
}
