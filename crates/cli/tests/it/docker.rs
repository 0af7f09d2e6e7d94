//! The command with containers, and in a container: then the controller itself uses the daemon's
//! socket.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]

use std::process::{Command, Stdio};

use serde_json::json;

use crate::belljar::{Outcome, belljar, command, finish, run_json};

/// Whether a daemon answers. If not, it says why. It panics if `BELLJAR_TEST_REQUIRE` lists
/// `docker`.
pub(crate) fn has_daemon() -> bool {
    let asked = Command::new("docker").args(["version", "--format", "{{.Server.Version}}"]).output();
    if asked.is_ok_and(|output| output.status.success()) {
        return true;
    }
    let required = std::env::var("BELLJAR_TEST_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|part| part == "docker"),
        "docker is required here, but no daemon answers"
    );
    println!("docker: skipped (no daemon)");
    false
}

const SOCKET: &str = "/var/run/docker.sock:/var/run/docker.sock";

/// Runs the command inside a container that has these volumes of the host.
fn in_a_container(volumes: &[&str], arguments: &[&str], stdin: &str) -> Option<Outcome> {
    let binary = concat!(env!("CARGO_BIN_EXE_belljar"), ":/usr/local/bin/belljar:ro");
    let mut docker = Command::new("docker");
    docker.args(["run", "--rm", "-i", "--network", "none", "-v", binary]);
    for volume in volumes {
        docker.args(["-v", volume]);
    }
    docker.args(["python:3.11-slim", "belljar"]).args(arguments);
    docker.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let outcome = finish(docker, stdin);
    if outcome.stderr.contains("GLIBC_") {
        println!("controller in a container: skipped (the image's C library is older than this host's)");
        return None;
    }
    Some(outcome)
}

#[test]
fn a_script_runs_in_a_container_and_the_result_says_so() {
    if !has_daemon() {
        return;
    }
    let (outcome, result) = run_json(&["--engine", "docker"], "print('hello'); emit_result(6 * 7)");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!((&result["final_data"], &result["engine"]), (&json!(42), &json!("docker")));
    assert_eq!(result["stdout"], "hello\n");
    let (outcome, result) = run_json(&["--engine", "docker", "--timeout", "1"], "while True: pass");
    assert_eq!((outcome.code, &result["verdict"]), (Some(124), &json!("timeout_wall")));
}

#[test]
fn an_image_is_built_once() {
    if !has_daemon() {
        return;
    }
    let first = belljar(&["build", "--json"], "").json();
    let second = belljar(&["build", "--json"], "").json();
    assert_eq!((&second["image"], &second["built"]), (&first["image"], &json!(false)));
    assert!(first["image"].as_str().unwrap().starts_with("belljar/default:"), "{first}");
    let pruned = belljar(&["docker", "prune", "--dry-run"], "");
    assert_eq!(pruned.code, Some(0), "{pruned:#?}");
}

#[test]
fn a_socket_that_is_not_there_is_an_error_with_the_remedy_and_an_exit_code() {
    let mut command = command(&["run", "--engine", "docker", "-"]);
    command.env("DOCKER_HOST", "unix:///nowhere/docker.sock");
    let outcome = finish(command, "emit_result(1)");
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    assert!(outcome.stderr.contains("unix:///nowhere/docker.sock"), "{outcome:#?}");
    assert!(outcome.stderr.contains("systemctl start docker"), "{outcome:#?}");
}

#[test]
fn a_controller_in_a_container_makes_cells_beside_itself() {
    if !has_daemon() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    std::fs::set_permissions(data.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(data.path().join("f"), "of the host").unwrap();
    let host = data.path().to_str().unwrap();
    let shown = format!("{host}:/app/data");
    let run = ["run", "--json", "--engine", "docker", "--mount", "/app/data:/data"];
    let script = "emit_result(open('/data/f').read())";
    // The daemon knows the directory by its name on the host. Only the map tells that name.
    let map = format!("/app/data={host}");
    let mapped = [&run[..], &["--map-path", &map, "-"]].concat();
    let Some(outcome) = in_a_container(&[SOCKET, &shown], &mapped, script) else { return };
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(outcome.json()["final_data"], "of the host");
    // A map for a longer name does not apply to this one.
    let other = format!("/app/dat={host}");
    let unmapped = [&run[..], &["--map-path", &other, "-"]].concat();
    let outcome = in_a_container(&[SOCKET, &shown], &unmapped, script).unwrap();
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("/app/data") && outcome.stderr.contains("host_path_map"), "{outcome:#?}");
    // Without the socket, the error says how to get it.
    let outcome = in_a_container(&[], &["run", "--engine", "docker", "-"], "emit_result(1)").unwrap();
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    assert!(outcome.stderr.contains("-v /var/run/docker.sock:/var/run/docker.sock"), "{outcome:#?}");
}

#[test]
fn a_controller_in_a_container_brings_its_own_proxy() {
    if !has_daemon() {
        return;
    }
    let run = ["run", "--json", "--engine", "docker", "--allow-host", "allowed.invalid", "-"];
    let script = "import urllib.request, urllib.error\ntry: urllib.request.urlopen('http://refused.invalid/')\nexcept urllib.error.HTTPError as error: emit_result(error.code)";
    let Some(outcome) = in_a_container(&[SOCKET], &run, script) else { return };
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let result = outcome.json();
    assert_eq!(
        (&result["final_data"], &result["network"][0]["host"]),
        (&json!(403), &json!("refused.invalid"))
    );
}
