//! `belljar ws shell` as a person meets it: in a real terminal.

use std::fs;
use std::path::Path;

use crate::tmux::{Tmux, quoted};
use crate::workspaces::Home;

/// A shell in a workspace, in a terminal.
struct Shell {
    tmux: Tmux,
    home: Home,
}

impl Shell {
    fn start(arguments: &str) -> Option<Self> {
        Self::start_command(&format!("shell w {arguments}"))
    }

    fn start_command(arguments: &str) -> Option<Self> {
        let home = Home::new();
        home.ok(&["ws", "new", "w"]);
        let tmux = Tmux::start(&Self::line(&home, arguments))?;
        Some(Self { tmux, home })
    }

    /// What is run: says how the shell ended, once the terminal is as it was. Whoever makes it that
    /// may be another process than the one that was killed.
    fn line(home: &Home, arguments: &str) -> String {
        let belljar = quoted(Path::new(env!("CARGO_BIN_EXE_belljar")));
        let cache = quoted(Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/cache")));
        let (pid, store) = (quoted(&home.path("pid")), quoted(&home.path(".workspaces")));
        format!(
            "trap : INT\nwas=$(stty -g)\nsh -c 'echo $$ > \"$1\"; shift; exec \"$@\"' sh {pid} env -u BELLJAR_LOG -u BELLJAR_ENGINE \
             -u BELLJAR_TIMEOUT BELLJAR_CACHE={cache} BELLJAR_WORKSPACES={store} {belljar} ws {arguments}\n\
             code=$?\nuntil test \"$was\" = \"$(stty -g)\"; do sleep 0.05; done; echo \"left with $code\""
        )
    }

    /// A shell with a prompt that is known.
    fn with_prompt() -> Option<Self> {
        let shell = Self::start("--env 'PS1=ready> ' -- sh")?;
        shell.tmux.until("a prompt", |screen| screen.lines().next_back() == Some("ready>"));
        Some(shell)
    }

    /// Types a line, and waits for the next prompt.
    fn enter(&self, line: &str) -> String {
        let prompts = |screen: &str| screen.matches("ready>").count();
        let before = prompts(&self.tmux.screen());
        self.tmux.type_text(line);
        self.tmux.press("Enter");
        self.tmux.until("another prompt", |screen| {
            prompts(screen) > before && screen.lines().next_back() == Some("ready>")
        })
    }
}

#[test]
fn a_shell_works_in_the_workspace_and_leaves_with_its_own_code() {
    let Some(shell) = Shell::with_prompt() else { return };
    let screen = shell.enter("test -t 0 && test -t 1 && echo a real terminal");
    assert!(screen.contains("\na real terminal\n"), "{screen}");
    shell.enter("echo kept > file");
    shell.tmux.type_text("exit 7");
    shell.tmux.press("Enter");
    shell.tmux.until_shown("left with 7");
    assert_eq!(shell.home.ok(&["ws", "get", "w", "file", "-"]), "kept\n");
}

#[test]
fn without_a_command_there_is_a_shell() {
    let Some(shell) = Shell::start("") else { return };
    shell.tmux.until("a prompt", |screen| screen.trim_end().ends_with(['$', '#']));
    shell.tmux.type_text("echo $((6 * 7)) in $0");
    shell.tmux.press("Enter");
    shell.tmux.until("an answer", |screen| screen.contains("42 in bash") || screen.contains("42 in sh"));
    shell.tmux.press("C-d");
    shell.tmux.until_shown("left with 0");
}

#[test]
fn ctrl_c_and_ctrl_z_and_ctrl_d_go_to_the_program() {
    let Some(shell) = Shell::with_prompt() else { return };
    shell.tmux.type_text("sleep 600");
    shell.tmux.press("Enter");
    shell.tmux.until_shown("sleep 600");
    // Whether it has begun or not, it is the program's terminal that the key means.
    shell.tmux.press("C-c");
    shell.tmux.until("a prompt", |screen| screen.lines().next_back() == Some("ready>"));
    shell.tmux.type_text("sh -c 'echo be''gun; exec sleep 600'");
    shell.tmux.press("Enter");
    shell.tmux.until_shown("\nbegun");
    shell.tmux.press("C-z");
    shell.tmux.until_shown("Stopped");
    shell.tmux.until("a prompt", |screen| screen.lines().next_back() == Some("ready>"));
    shell.enter("kill -9 %1");
    shell.tmux.type_text("cat; echo 'ca''t has ended'");
    shell.tmux.press("Enter");
    shell.tmux.press("C-d");
    shell.tmux.until_shown("\ncat has ended");
}

#[test]
fn the_program_learns_how_large_the_terminal_is_and_when_that_changes() {
    let Some(shell) = Shell::with_prompt() else { return };
    let screen = shell.enter("stty size");
    assert!(screen.contains("\n40 100\n"), "{screen}");
    shell.tmux.resize(90, 30);
    shell.tmux.type_text("while test \"$(stty size)\" != '30 90'; do sleep 0.05; done; echo 'resi''zed'");
    shell.tmux.press("Enter");
    shell.tmux.until_shown("\nresized");
}

#[test]
fn a_shell_that_is_ended_from_outside_leaves_the_terminal_as_it_was() {
    use rustix::process::Signal;
    // One that it waits for, one that nobody thinks of, and one that cannot be caught.
    for signal in [Signal::TERM, Signal::USR1, Signal::QUIT, Signal::KILL] {
        let Some(shell) = Shell::with_prompt() else { return };
        // A program that has taken the whole screen, and hidden the cursor.
        shell.tmux.type_text(r"printf '\033[?1049h\033[?25l\033[?1003hfull screen\n'");
        shell.tmux.press("Enter");
        shell.tmux.until("another screen", |screen| screen.lines().any(|line| line == "full screen"));
        assert!(shell.tmux.is_on("alternate_on") && shell.tmux.is_on("mouse_any_flag"));
        let pid = fs::read_to_string(shell.home.path("pid")).unwrap();
        let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        shell.tmux.until_shown(&format!("left with {}", 128 + signal.as_raw()));
        for mode in ["alternate_on", "mouse_any_flag"] {
            assert!(!shell.tmux.is_on(mode), "{mode} after {signal:?}");
        }
        assert!(shell.tmux.is_on("cursor_flag"), "no cursor after {signal:?}");
    }
}

#[test]
fn what_a_program_has_changed_is_undone_and_what_it_has_shown_stays() {
    // A region that scrolls, inserting, another character set, a cursor that wraps nowhere; also if
    // nobody is left to remember.
    for end in ["true", "kill -9 $(pgrep -f -P $(cat $PID) ^belljar-terminal)"] {
        let home = Home::new();
        home.ok(&["ws", "new", "w"]);
        let script = r"echo shown; printf '\033[2;5r\033[4h\033(0\033[?7l\033[?25l\033[9;1H'; read line";
        let line = Shell::line(&home, &format!("shell w -- sh -c \"{script}\""));
        let Some(tmux) = Tmux::start(&line) else { return };
        tmux.until("its text", |screen| {
            screen.lines().any(|line| line == "shown") && tmux.is_on("insert_flag")
        });
        let pid = quoted(&home.path("pid"));
        let killed = std::process::Command::new("sh").args(["-c", &format!("PID={pid}; {end}")]).status();
        assert!(killed.unwrap().success(), "{end}");
        tmux.press("Enter");
        let screen = tmux.until_shown("left with 0");
        assert!(screen.lines().any(|line| line == "shown"), "{screen}");
        assert!(!tmux.is_on("insert_flag") && tmux.is_on("cursor_flag") && tmux.is_on("wrap_flag"), "{end}");
        assert_eq!(tmux.value("scroll_region_lower"), "39", "{end}");
    }
}

#[test]
fn a_program_that_runs_out_of_time_leaves_the_terminal_as_it_was() {
    let Some(shell) = Shell::start("--timeout 1 -- sleep 600") else { return };
    let screen = shell.tmux.until_shown("left with 124");
    assert!(screen.contains("--timeout SECS"), "{screen}");
}

#[test]
fn without_a_terminal_there_is_no_shell() {
    let home = Home::new();
    home.ok(&["ws", "new", "w"]);
    home.refused(&["ws", "shell", "w"], "a shell needs a terminal");
}

#[test]
fn ctrl_c_on_a_terminal_reaches_a_program_that_has_none() {
    let script = "trap \"echo caught; exit 7\" INT; echo begun; while :; do sleep 0.05; done";
    let Some(shell) = Shell::start_command(&format!("run w -- sh -c '{script}'")) else { return };
    shell.tmux.until("its first line", |screen| screen.lines().any(|line| line == "begun"));
    shell.tmux.press("C-c");
    let screen = shell.tmux.until_shown("left with 7");
    assert!(screen.contains("caught"), "{screen}");
}

#[test]
fn a_program_without_a_terminal_of_its_own_cannot_control_the_users() {
    let script = r"printf '\033[2J\033]0;title\007\303\244 shown\n'";
    let Some(shell) = Shell::start_command(&format!("run w -- sh -c \"{script}\"")) else { return };
    let screen = shell.tmux.until_shown("left with 0");
    assert!(screen.contains("ä shown"), "{screen}");
    assert!(!screen.starts_with("ä shown"), "the screen was cleared: {screen}");
}
