//! `belljar docker prune` removes nothing that was not agreed to.
//!
//! A stand-in answers for the daemon. On a real one, every Belljar that connects takes orphans
//! away, so none would stay for a test to be asked about. What counts as an orphan on a real daemon
//! is tested with the engine.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::belljar::{belljar, command, finish};
use crate::tmux::{Tmux, quoted};

/// Two containers of ours, one of them in use; a volume; an image with two names, one not ours.
struct Daemon {
    directory: tempfile::TempDir,
    removed: Arc<Mutex<Vec<String>>>,
}

impl Daemon {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("docker.sock")).unwrap();
        let removed = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&removed);
        thread::spawn(move || {
            for stream in listener.incoming() {
                // The first connection only tries whether somebody listens.
                let _ = answer(&mut stream.unwrap(), &noted);
            }
        });
        Self { directory, removed }
    }

    fn address(&self) -> String {
        format!("unix://{}/docker.sock", self.directory.path().display())
    }

    fn removed(&self) -> Vec<String> {
        self.removed.lock().unwrap().clone()
    }
}

fn answer(stream: &mut UnixStream, removed: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(()) };
    let path = target.split('?').next().unwrap_or_default();
    let path = path.split_once("/v1.").map_or(path, |(_, rest)| &rest[rest.find('/').unwrap_or(0)..]);
    let body = match (method, path) {
        ("DELETE", path) => {
            removed.lock().unwrap().push(path.to_owned());
            if path.starts_with("/images/") { "[]" } else { "" }
        }
        (_, "/version") => r#"{"Version":"20.10","ApiVersion":"1.41","MinAPIVersion":"1.12","Arch":"amd64"}"#,
        (_, "/info") => "{}",
        (_, "/containers/json") => {
            r#"[{"Id":"aaaaaaaaaaaaaaaa","State":"exited","Created":1,"ImageID":"sha256:used","Labels":{}},
                {"Id":"bbbbbbbbbbbbbbbb","State":"running","Created":1,"ImageID":"sha256:used","Labels":{}}]"#
        }
        (_, "/volumes") => {
            r#"{"Volumes":[{"Name":"left","Driver":"local","Mountpoint":"/x","Labels":{"dev.belljar.made":"1"},
                "Scope":"local","Options":{}}],"Warnings":[]}"#
        }
        (_, "/images/json") => {
            r#"[{"Id":"sha256:old","ParentId":"","RepoTags":["shop/app:1","belljar/default:1"],"RepoDigests":[],
                 "Created":1,"Size":1,"SharedSize":1,"Labels":{},"Containers":0},
                {"Id":"sha256:used","ParentId":"","RepoTags":["belljar/used:1"],"RepoDigests":[],
                 "Created":1,"Size":1,"SharedSize":1,"Labels":{},"Containers":0}]"#
        }
        other => panic!("the stand-in does not know {other:?}"),
    };
    let status = if body.is_empty() { "204 No Content" } else { "200 OK" };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn nobody_is_asked_where_nobody_can_answer() {
    let outcome = belljar(&["docker", "prune"], "y\n");
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("--yes") && outcome.stderr.contains("--dry-run"), "{outcome:#?}");
}

#[test]
fn a_dry_run_shows_what_would_go_and_removes_nothing() {
    let daemon = Daemon::start();
    let mut prune = command(&["docker", "prune", "--dry-run", "--images"]);
    prune.env("DOCKER_HOST", daemon.address());
    let outcome = finish(prune, "");
    let shown = "would remove container aaaaaaaaaaaa\nwould remove volume left\nwould remove image belljar/default:1\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), shown), "{outcome:#?}");
    assert_eq!(outcome.stderr, "1 containers are in use and stay\n");
    assert_eq!(daemon.removed(), Vec::<String>::new());
}

#[test]
fn yes_removes_what_is_left_over_and_nothing_that_others_use() {
    let daemon = Daemon::start();
    let mut prune = command(&["docker", "prune", "--yes", "--images"]);
    prune.env("DOCKER_HOST", daemon.address());
    let outcome = finish(prune, "");
    let shown = "removed container aaaaaaaaaaaa\nremoved volume left\nremoved image belljar/default:1\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), shown), "{outcome:#?}");
    assert_eq!(
        daemon.removed(),
        ["/containers/aaaaaaaaaaaaaaaa", "/volumes/left", "/images/belljar/default:1"]
    );
}

#[test]
fn a_person_is_shown_the_list_and_asked() {
    for (answer, code, count) in [("n", 0, 0), ("", 0, 0), ("y", 0, 2)] {
        let daemon = Daemon::start();
        let belljar = quoted(std::path::Path::new(env!("CARGO_BIN_EXE_belljar")));
        let line = format!("DOCKER_HOST={} {belljar} docker prune; echo \"left with $?\"", daemon.address());
        let Some(tmux) = Tmux::start(&line) else { return };
        let screen = tmux.until_shown("⌂ Remove these? [y/N]");
        assert!(
            screen.contains("would remove container aaaaaaaaaaaa\nwould remove volume left\n"),
            "{screen}"
        );
        assert_eq!(daemon.removed(), Vec::<String>::new());
        tmux.type_text(answer);
        tmux.press("Enter");
        let screen = tmux.until_shown(&format!("left with {code}"));
        assert_eq!(daemon.removed().len(), count, "{answer}: {screen}");
        assert_eq!(screen.contains("nothing was removed"), count == 0, "{answer}: {screen}");
    }
}
