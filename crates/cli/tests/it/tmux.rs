//! A real terminal to type on: tmux, with a server of its own for each test.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Long enough for any machine.
const HANG: Duration = Duration::from_secs(40);

/// A terminal with a shell in it. Ends with its server.
pub(crate) struct Tmux {
    /// Where the server's socket is.
    place: tempfile::TempDir,
}

impl Tmux {
    /// Runs this in a new terminal, by `sh`. `None` if there is no tmux, which it says. It panics
    /// if `BELLJAR_TEST_REQUIRE` lists `tmux`.
    pub(crate) fn start(line: &str) -> Option<Self> {
        let tmux = Self { place: tempfile::tempdir().expect("there is room") };
        // What runs afterwards keeps the terminal, so that its last screen can be read.
        let kept = format!("{line}\nexec sleep 600");
        let started =
            tmux.command(&["new-session", "-d", "-x", "100", "-y", "40", "sh", "-c", &kept]).output();
        match started {
            Ok(output) if output.status.success() => Some(tmux),
            failed => {
                let required = std::env::var("BELLJAR_TEST_REQUIRE").unwrap_or_default();
                assert!(!required.split(',').any(|part| part == "tmux"), "tmux is required here: {failed:?}");
                println!("tmux: skipped (it cannot be started: {failed:?})");
                None
            }
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.place.path().join("socket"));
        tmux.args(["-f", "/dev/null", "-u"]).args(arguments);
        tmux.env_remove("TMUX").env("TERM", "xterm-256color");
        tmux
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().expect("tmux was there before");
        assert!(output.status.success(), "tmux {arguments:?}: {output:?}");
        output
    }

    /// Types text as it is.
    pub(crate) fn type_text(&self, text: &str) {
        self.ask(&["send-keys", "-l", text]);
    }

    /// Types text as a person does, who is not as fast as a paste.
    pub(crate) fn type_slowly(&self, text: &str) {
        for letter in text.chars() {
            self.type_text(&letter.to_string());
            sleep(Duration::from_millis(40));
        }
    }

    /// Presses a key by its name in tmux: `Enter`, `C-c`, `Tab`.
    pub(crate) fn press(&self, key: &str) {
        self.ask(&["send-keys", key]);
    }

    /// Pastes, as terminals do: in brackets, if the program has asked for them.
    pub(crate) fn paste(&self, text: &str) {
        let mut load =
            self.command(&["load-buffer", "-"]).stdin(Stdio::piped()).spawn().expect("it was there");
        load.stdin.take().expect("stdin is a pipe").write_all(text.as_bytes()).expect("it reads");
        assert!(load.wait().expect("it ends").success());
        self.ask(&["paste-buffer", "-p", "-d"]);
    }

    /// Whether a flag of the terminal is set, by its name in tmux.
    pub(crate) fn is_on(&self, flag: &str) -> bool {
        self.value(flag) == "1"
    }

    /// Something of the terminal, by its name in tmux.
    pub(crate) fn value(&self, name: &str) -> String {
        let asked = self.ask(&["display-message", "-p", &format!("#{{{name}}}")]);
        String::from_utf8_lossy(&asked.stdout).trim().to_owned()
    }

    /// Makes the terminal larger or smaller.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.ask(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// What the terminal shows and has shown, without empty lines at the end.
    pub(crate) fn screen(&self) -> String {
        let output = self.ask(&["capture-pane", "-p", "-S", "-"]);
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// The same, with colours as escape sequences.
    pub(crate) fn colours(&self) -> String {
        String::from_utf8_lossy(&self.ask(&["capture-pane", "-p", "-e", "-S", "-"]).stdout).into_owned()
    }

    /// Waits until the screen is so. Returns it.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(began.elapsed() < HANG, "the screen never showed {what}:\n{screen}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Waits until this is somewhere on the screen.
    pub(crate) fn until_shown(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}

/// A word for `sh`.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_str().expect("it is text").replace('\'', r"'\''"))
}
