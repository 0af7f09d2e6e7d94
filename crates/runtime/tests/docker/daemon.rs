//! The daemon itself: not there, not ours to use, going away in the middle of a run.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use belljar_engine::docker::Docker;
use belljar_runtime::{Runtime, Verdict};

use crate::world::{HANG, answer, config, eventually, runtime, sandbox};

async fn refusal(address: &str) -> String {
    Docker::new().address(address).open().await.err().expect("there is no daemon").to_string()
}

#[tokio::test]
async fn a_daemon_that_is_not_there_is_an_error_with_the_remedy() {
    let missing = refusal("unix:///nowhere/docker.sock").await;
    for part in [
        "unix:///nowhere/docker.sock",
        "systemctl start docker",
        "-v /nowhere/docker.sock:/nowhere/docker.sock",
    ] {
        assert!(missing.contains(part), "{missing}");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let stale = refusal(&format!("unix://{}", path.display())).await;
    assert!(stale.contains("nobody listens"), "{stale}");
    if !rustix::process::geteuid().is_root() {
        let path = directory.path().join("closed.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o0)).unwrap();
        let closed = refusal(&format!("unix://{}", path.display())).await;
        assert!(closed.contains("usermod -aG docker"), "{closed}");
    }
}

#[tokio::test]
async fn what_does_not_speak_dockers_language_is_told_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = std::io::Write::write_all(&mut stream, b"SSH-2.0-OpenSSH_9.2\r\n");
        }
    });
    let error = refusal(&address).await;
    assert!(error.contains("does not speak Docker's API") && error.contains("DOCKER_TLS_VERIFY"), "{error}");
}

/// A daemon of the test's own, which it may stop as it likes.
struct OwnDaemon {
    directory: tempfile::TempDir,
    process: Option<Child>,
}

impl OwnDaemon {
    /// `None` where one cannot be started.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || Command::new("dockerd").arg("--version").output().is_err()
        {
            println!("own daemon: skipped (needs root and dockerd)");
            return None;
        }
        let mut daemon = Self { directory: tempfile::tempdir_in("/var/tmp").unwrap(), process: None };
        daemon.start();
        Some(daemon)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn address(&self) -> String {
        format!("unix://{}", self.path("docker.sock").display())
    }

    fn start(&mut self) {
        let log = std::fs::File::create(self.path("log")).unwrap();
        // In a network of its own: a daemon takes the bridge of another away.
        let process = Command::new("unshare")
            .args(["--net", "dockerd"])
            .args(["--host", &self.address()])
            .args(["--data-root".as_ref(), self.path("data").as_os_str()])
            .args(["--exec-root".as_ref(), self.path("exec").as_os_str()])
            .args(["--pidfile".as_ref(), self.path("pid").as_os_str()])
            .args(["--bridge=none", "--iptables=false"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.process = Some(process);
        let begun = std::time::Instant::now();
        while !self.client(&["version"]).status().unwrap().success() {
            assert!(begun.elapsed() < HANG, "{}", std::fs::read_to_string(self.path("log")).unwrap());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn client(&self, words: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.args(["--host", &self.address()]).args(words).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// As a service manager would.
    fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let pid = rustix::process::Pid::from_child(&process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        process.wait().unwrap();
    }

    fn take_base_image(&self) {
        let image = self.path("base.tar");
        let saved =
            Command::new("docker").args(["save", "-o"]).arg(&image).arg("python:3.11-slim").status().unwrap();
        assert!(saved.success());
        assert!(self.client(&["load", "-i", image.to_str().unwrap()]).status().unwrap().success());
        std::fs::remove_file(image).unwrap();
    }
}

impl Drop for OwnDaemon {
    fn drop(&mut self) {
        self.stop();
        // What it mounted below its directory would keep that from being removed.
        let below = |line: &str| {
            let path = line.split(' ').nth(1)?;
            Path::new(path).starts_with(self.directory.path()).then(|| path.to_owned())
        };
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
        for path in mounts.lines().rev().filter_map(below) {
            let _ = Command::new("umount").args(["-l", &path]).status();
        }
    }
}

#[tokio::test]
async fn a_daemon_that_restarts_in_the_middle_of_a_run_gives_a_verdict_and_is_used_again() {
    if runtime().is_none() {
        return;
    }
    let Some(mut daemon) = OwnDaemon::new() else { return };
    daemon.take_base_image();
    let docker = Docker::new().address(daemon.address());
    let runtime = Runtime::builder().engine(docker).build().await.unwrap();
    let sandbox = sandbox(&runtime, config("restart")).await;
    let mut run = sandbox.stream("emit_log('begun')\ntime.sleep(100)");
    assert!(run.next().await.is_some());
    let stopping = std::thread::spawn(move || {
        daemon.stop();
        daemon
    });
    let result = tokio::time::timeout(HANG, run.result()).await.expect("it hangs").unwrap();
    assert_eq!(result.verdict, Verdict::Infra, "{result:#?}");
    let mut daemon = stopping.join().unwrap();
    let while_away = sandbox.run("emit_result(1)").await.err().map(|error| error.to_string());
    assert!(while_away.is_some_and(|error| !error.is_empty()), "there is no daemon, and no error");
    daemon.start();
    eventually("a container can be made again", || sandbox.stats().idle > 0).await;
    assert_eq!(answer(&sandbox, "emit_result(1)").await, 1);
    drop(sandbox);
    runtime.shutdown().await;
}
