//! `belljar serve` as a process: what it says, and how it ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::belljar::{belljar, command};

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) url: String,
    pub(crate) token: String,
    /// What it has said on stderr.
    said: Arc<Mutex<String>>,
}

impl Server {
    fn start(state: &Path, options: &[&str]) -> Self {
        Self::start_with(state, options, &[])
    }

    pub(crate) fn start_with(state: &Path, options: &[&str], variables: &[(&str, &str)]) -> Self {
        let state_text = state.to_str().unwrap();
        let words = [&["serve", "--listen", "127.0.0.1:0", "--state", state_text], options].concat();
        Self::begin(command(&words).envs(variables.iter().copied()), state)
    }

    fn begin(command: &mut Command, state: &Path) -> Self {
        let mut process = command.stdin(Stdio::null()).spawn().unwrap();
        let (said, stderr) = (Arc::<Mutex<String>>::default(), process.stderr.take().unwrap());
        let heard = said.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                *heard.lock().unwrap() += &format!("{line}\n");
            }
        });
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first = lines.next().expect("it says where it is").unwrap();
        let url = first.strip_prefix("belljar serves at ").expect(&first).to_owned();
        // The rest is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let token = fs::read_to_string(state.join("token")).unwrap_or_default().trim().to_owned();
        Self { process, url, token, said }
    }

    pub(crate) fn ask(&self, path: &str, options: &[&str]) -> String {
        let output = Command::new("curl")
            .args(["-s", "-H", &format!("Authorization: Bearer {}", self.token)])
            .arg(format!("{}{path}", self.url))
            .args(options)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it has said on stderr so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.process.id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it never came about that {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Every process below one, as the kernel lists them.
fn below(pid: u32) -> Vec<u32> {
    let parent = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let all: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let mut found = vec![pid];
    loop {
        let more: Vec<u32> = all
            .iter()
            .copied()
            .filter(|pid| !found.contains(pid) && parent(*pid).is_some_and(|above| found.contains(&above)))
            .collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    found.retain(|other| *other != pid);
    found
}

/// As a volume of a container may be.
#[test]
fn what_is_kept_is_its_owners_also_in_a_directory_that_others_can_enter() {
    let state = tempfile::tempdir().unwrap();
    fs::set_permissions(state.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let _server = Server::start(state.path(), &[]);
    for name in ["history.db", "history.db-wal", "token", "tokens.json", "workspaces"] {
        let mode = fs::metadata(state.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
    }
}

/// As systemd has it for a dynamic user: /var/lib/NAME is a link to /var/lib/private/NAME.
#[test]
fn a_state_directory_of_systemds_may_be_a_link() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    fs::create_dir(home.path().join("private")).unwrap();
    std::os::unix::fs::symlink("private", &state).unwrap();
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
    let server = Server::begin(serve.env("STATE_DIRECTORY", &state), &state);
    assert_eq!(server.ask("/readyz", &[]), r#"{"status":"ready"}"#);
    assert!(home.path().join("private/history.db").exists());
}

#[test]
fn a_killed_server_leaves_no_process_and_a_history_that_says_what_happened() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), &[]);
    let body = r#"{"script": "import time\nnumber = 0\nwhile True:\n    print(number); number += 1; time.sleep(0.001)"}"#;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let accepted: Value =
            serde_json::from_str(&server.ask("/v1/runs", &["-H", "Prefer: respond-async", "--json", body]))
                .unwrap();
        ids.push(accepted["id"].as_str().unwrap().to_owned());
    }
    for id in &ids {
        eventually("it has said something", || {
            let shown: Value = serde_json::from_str(&server.ask(&format!("/v1/runs/{id}"), &[])).unwrap();
            shown["events"].as_u64().unwrap_or(0) > 20
        });
    }
    let all = below(server.process.id());
    assert!(all.len() >= 3, "{all:?}");
    server.signal(Signal::KILL);
    eventually("every process of it is gone", || {
        all.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    });
    drop(server);

    let again = Server::start(state.path(), &[]);
    for id in &ids {
        let shown: Value = serde_json::from_str(&again.ask(&format!("/v1/runs/{id}"), &[])).unwrap();
        assert_eq!(
            (shown["verdict"].as_str(), shown["status"].as_str()),
            (Some("infra"), Some("ended")),
            "{shown}"
        );
        let events = again.ask(&format!("/v1/runs/{id}/events"), &["-H", "Accept: application/x-ndjson"]);
        let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "none is missing before the last");
        assert_eq!(events.last().unwrap()["type"], "ended");
        let printed: String = events.iter().filter_map(|event| event["text"].as_str()).collect();
        let whole: Vec<u64> = printed.lines().filter_map(|line| line.parse().ok()).collect();
        assert!(whole.len() >= 20 && whole.iter().enumerate().all(|(place, number)| place as u64 == *number));
    }
    let answer: Value =
        serde_json::from_str(&again.ask("/v1/runs", &["--json", r#"{"script": "emit_result(1)"}"#])).unwrap();
    assert_eq!(answer["verdict"], "ok");
    let state = state.path().to_str().unwrap();
    let listed = belljar(&["runs", "ls", "--state", state, "--verdict", "infra"], "");
    assert_eq!(listed.stdout.lines().count(), 3, "{listed:?}");
}

#[test]
fn options_are_about_the_default_sandbox_and_files_about_the_others() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("greet.py"), "def greet():\n    return 'hello'\n").unwrap();
    fs::create_dir(place.path().join("boxes")).unwrap();
    fs::write(place.path().join("boxes/other.toml"), "[env]\nCOLOUR = 'blue'\n").unwrap();
    let [tool, boxes] = ["greet.py", "boxes"].map(|name| place.path().join(name));
    let options = ["--tool", tool.to_str().unwrap(), "--sandboxes", boxes.to_str().unwrap()];
    let server = Server::start(&place.path().join("state"), &options);
    let run =
        |body: &str| -> Value { serde_json::from_str(&server.ask("/v1/runs", &["--json", body])).unwrap() };
    assert_eq!(run(r#"{"script": "emit_result(greet())"}"#)["final_data"], "hello");
    let coloured = r#"{"script": "import os; emit_result(os.environ['COLOUR'])", "sandbox": "other"}"#;
    assert_eq!(run(coloured)["final_data"], "blue");
    assert_eq!(run(r#"{"script": "greet()", "sandbox": "other"}"#)["verdict"], "exception");
}

#[test]
fn it_ends_in_order_when_it_is_told_to() {
    let state = tempfile::tempdir().unwrap();
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start(state.path(), &[]);
        server.signal(signal);
        assert_eq!(server.process.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn what_it_cannot_do_is_said() {
    let place = tempfile::tempdir().unwrap();
    let (state, missing) = (place.path().to_str().unwrap(), place.path().join("nowhere"));
    let missing = missing.to_str().unwrap();
    for (options, expected) in [
        (&["--no-token", "--listen", "0.0.0.0:0"][..], "can be reached from other machines"),
        (&["--sandboxes", missing], missing),
        (&["--tls-cert", missing, "--tls-key", missing], missing),
        (&["--listen", "192.0.2.1:1"], "cannot listen on 192.0.2.1:1"),
    ] {
        let outcome = belljar(&[&["serve", "--state", state], options].concat(), "");
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(expected), "{outcome:?}");
    }
    let outcome = belljar(&["runs", "ls", "--state", missing], "");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("nowhere/history.db"), "{outcome:?}");
    let outcome = belljar(&["token", "rm", "x", "--state", state], "");
    assert!(outcome.stderr.contains("there is no token \"x\""), "{outcome:?}");
}
