//! `belljar shell` as a person meets it: in a real terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::tmux::{Tmux, quoted};

/// What the prompt looks like.
const PROMPT: &str = "⌂ >>>";

/// A shell in a terminal, and a home of its own.
struct Shell {
    tmux: Tmux,
    state: tempfile::TempDir,
}

impl Shell {
    fn start() -> Option<Self> {
        Self::start_with("", tempfile::tempdir().unwrap())
    }

    /// With more variables, and a state directory.
    fn start_with(variables: &str, state: tempfile::TempDir) -> Option<Self> {
        let tmux = Tmux::start(&Self::line(variables, state.path()))?;
        let shell = Self { tmux, state };
        shell.until_prompts(1);
        Some(shell)
    }

    /// What is run: says at the end how the shell ended, and whether the terminal is as it was.
    fn line(variables: &str, state: &Path) -> String {
        let belljar = quoted(Path::new(env!("CARGO_BIN_EXE_belljar")));
        let cache = quoted(Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/cache")));
        let pid = quoted(&state.join("pid"));
        format!(
            "was=$(stty -g)\nsh -c 'echo $$ > \"$1\"; shift; exec \"$@\"' sh {pid} env -u NO_COLOR -u BELLJAR_LOG \
             -u BELLJAR_ENGINE BELLJAR_CACHE={cache} XDG_STATE_HOME={} {variables} {belljar} shell\n\
             code=$?\nuntil test \"$was\" = \"$(stty -g)\"; do sleep 0.05; done; echo \"left with $code\"",
            quoted(state),
        )
    }

    /// Waits until so many prompts were shown, the last of them empty.
    fn until_prompts(&self, count: usize) -> String {
        self.tmux.until(&format!("{count} prompts"), |screen| {
            let lines: Vec<&str> = screen.lines().filter(|line| line.starts_with(PROMPT)).collect();
            lines.len() >= count && screen.lines().next_back() == Some(PROMPT)
        })
    }

    /// Types an entry of one line, and waits for the next prompt.
    fn enter(&self, entry: &str) -> String {
        let prompts = self.tmux.screen().lines().filter(|line| line.starts_with(PROMPT)).count();
        self.tmux.type_text(entry);
        self.tmux.press("Enter");
        self.until_prompts(prompts + 1)
    }

    fn history(&self) -> String {
        fs::read_to_string(self.state.path().join("belljar/shell-history")).unwrap_or_default()
    }
}

#[test]
fn an_entry_of_several_lines_is_indented_and_can_be_recalled() {
    let Some(shell) = Shell::start() else { return };
    shell.tmux.type_slowly("def double(n):");
    shell.tmux.press("Enter");
    // The indentation is there already.
    shell.tmux.until("an indented line", |screen| screen.lines().next_back() == Some("⌂ ..."));
    shell.tmux.type_slowly("return 2 * n");
    shell.tmux.press("Enter");
    shell.tmux.until("the next line", |screen| screen.ends_with("return 2 * n\n⌂ ..."));
    shell.tmux.press("Enter");
    let screen = shell.until_prompts(2);
    assert!(screen.contains("⌂ ...     return 2 * n\n"), "{screen}");
    let screen = shell.enter("double(21)");
    assert!(screen.contains("\n42\n"), "{screen}");
    shell.enter("double = None");
    for _ in 0..3 {
        shell.tmux.press("Up");
    }
    shell.tmux.until("the function", |screen| screen.matches("def double(n):").count() == 2);
    shell.tmux.press("Enter");
    shell.tmux.until("another line", |screen| screen.lines().next_back() == Some("⌂ ..."));
    shell.tmux.press("Enter");
    shell.until_prompts(5);
    let screen = shell.enter("double(4)");
    assert!(screen.contains("\n8\n"), "{screen}");
}

#[test]
fn a_pasted_function_with_empty_lines_is_one_entry() {
    let Some(shell) = Shell::start() else { return };
    shell.tmux.paste("def outer(n):\n    total = 0\n\n    for i in range(n):\n\n        total += i\n\n    return total\n\n\nouter(5)\n");
    shell.tmux.until_shown("outer(5)");
    shell.tmux.press("Enter");
    let screen = shell.until_prompts(2);
    assert!(screen.contains("\n10\n") && !screen.contains("Error"), "{screen}");
}

#[test]
fn lines_that_come_too_fast_for_a_person_bring_their_own_indentation() {
    let Some(shell) = Shell::start() else { return };
    // As a terminal pastes that knows no brackets.
    shell.tmux.type_text("def add():\n    x = 1\n    if x:\n        y = 2\n    return x + y\n\nadd()\n");
    let screen = shell.until_prompts(3);
    assert!(screen.contains("\n3\n"), "{screen}");
}

#[test]
fn tab_completes_what_the_session_knows() {
    let Some(shell) = Shell::start() else { return };
    shell.enter("remarkable = {'first': 1}");
    shell.tmux.type_text("remark");
    shell.tmux.press("Tab");
    shell.tmux.until_shown("⌂ >>> remarkable\n".trim_end());
    shell.tmux.type_text("['fi");
    shell.tmux.press("Tab");
    shell.tmux.until_shown("remarkable['first");
    let screen = shell.enter("']");
    assert!(screen.ends_with("1\n⌂ >>>"), "{screen}");
    shell.tmux.type_text("emit_");
    shell.tmux.press("Tab");
    shell.tmux.until_shown("emit_intermediate");
    shell.tmux.press("C-c");
    // What is typed before the next prompt is there belongs to nobody.
    shell.until_prompts(4);
    shell.tmux.type_text(":ti");
    shell.tmux.press("Tab");
    shell.tmux.until_shown(":timeout");
}

#[test]
fn ctrl_c_stops_the_step_and_keeps_the_variables() {
    let Some(shell) = Shell::start() else { return };
    shell.enter("x = 20");
    shell.tmux.type_text("print('be' + 'gun'); time.sleep(600)");
    shell.tmux.press("Enter");
    shell.tmux.until_shown("\nbegun");
    shell.tmux.press("C-c");
    let screen = shell.tmux.until_shown("⌂ interrupted; the variables are kept");
    assert!(screen.contains("KeyboardInterrupt"), "{screen}");
    shell.until_prompts(3);
    let screen = shell.enter("x + 1");
    assert!(screen.contains("\n21\n"), "{screen}");
}

#[test]
fn a_step_that_does_not_stop_is_ended_and_that_is_said() {
    for presses in [1, 2] {
        let Some(shell) = Shell::start() else { return };
        shell.enter("import signal; signal.signal(signal.SIGINT, lambda *_: print('caught')) and None");
        shell.tmux.type_text("print('be' + 'gun'); time.sleep(600); 'late'");
        shell.tmux.press("Enter");
        shell.tmux.until_shown("\nbegun");
        shell.tmux.press("C-c");
        shell.tmux.until_shown("\ncaught");
        if presses == 2 {
            shell.tmux.press("C-c");
        }
        let screen = shell.tmux.until_shown("The session is over and a new one has begun");
        assert_eq!(screen.contains("has not stopped 5 s after Ctrl-C"), presses == 1, "{screen}");
        shell.until_prompts(3);
        let screen = shell.enter("'signal' in globals()");
        assert!(screen.contains("\nFalse\n"), "{screen}");
    }
}

#[test]
fn ctrl_c_clears_the_line_and_ctrl_d_leaves_the_terminal_as_it_was() {
    let Some(shell) = Shell::start() else { return };
    shell.tmux.type_text("if True:");
    shell.tmux.press("Enter");
    shell.tmux.until_shown("⌂ ...");
    shell.tmux.type_text("1 / 0");
    shell.tmux.press("C-c");
    let screen = shell.until_prompts(2);
    assert!(!screen.contains("ZeroDivisionError"), "{screen}");
    shell.tmux.press("C-d");
    shell.tmux.until_shown("left with 0");
}

#[test]
fn a_shell_that_is_ended_from_outside_leaves_the_terminal_as_it_was() {
    use rustix::process::Signal;
    for signal in [Signal::TERM, Signal::ALARM, Signal::KILL] {
        let Some(shell) = Shell::start() else { return };
        let pid = fs::read_to_string(shell.state.path().join("pid")).unwrap();
        let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        shell.tmux.until_shown(&format!("left with {}", 128 + signal.as_raw()));
    }
}

#[test]
fn the_history_outlives_its_shell_and_has_no_line_that_begins_with_a_space() {
    let state = tempfile::tempdir().unwrap();
    let Some(first) = Shell::start_with("", state) else { return };
    first.enter("one = 1");
    first.enter(" secret = 'do not keep'");
    let screen = first.enter("secret[:6]");
    assert!(screen.contains("'do not'"), "a line may begin with a space: {screen}");
    let Shell { tmux: _first, state } = first;
    let Some(second) = Shell::start_with("", state) else { return };
    second.tmux.press("Up");
    second.tmux.press("Up");
    second.tmux.until_shown("⌂ >>> one = 1");
    second.tmux.press("C-c");
    second.until_prompts(2);
    second.enter("two = 2");
    let kept = second.history();
    assert_eq!(kept, "#V2\none = 1\nsecret[:6]\ntwo = 2\n");
    let file = second.state.path().join("belljar/shell-history");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn shells_side_by_side_lose_nothing_of_each_others_history() {
    let Some(one) = Shell::start() else { return };
    let Some(other) = Tmux::start(&Shell::line("", one.state.path())) else { return };
    let other = Shell { tmux: other, state: tempfile::tempdir().unwrap() };
    other.until_prompts(1);
    for number in 0..3 {
        one.enter(&format!("one = {number}"));
        other.enter(&format!("other = {number}"));
    }
    let kept = one.history();
    for number in 0..3 {
        for name in ["one", "other"] {
            assert!(kept.contains(&format!("\n{name} = {number}\n")), "{kept}");
        }
    }
}

#[test]
fn a_history_that_cannot_be_kept_is_a_warning() {
    let state = tempfile::tempdir().unwrap();
    fs::write(state.path().join("belljar"), "not a directory").unwrap();
    let Some(shell) = Shell::start_with("", state) else { return };
    let screen = shell.enter("6 * 7");
    assert!(screen.contains("⌂ warning: the history is not kept") && screen.contains("\n42\n"), "{screen}");
}

#[test]
fn no_script_can_forge_a_prompt_or_move_it() {
    let Some(shell) = Shell::start() else { return };
    shell.enter(r"print('⌂ >>> forged'); print('\x1b[2J\x1b[H\x1b[?2004l', end=''); print('open', end='')");
    let screen = shell.enter("1 + 1");
    assert!(!screen.lines().any(|line| line.starts_with("⌂ >>> forged")), "{screen}");
    assert!(screen.contains("open\n⌂ >>> 1 + 1\n2"), "the prompt does not begin its line: {screen}");
    assert!(screen.contains("⌂ Belljar"), "the screen was cleared: {screen}");
}

#[test]
fn an_error_is_shown_as_at_pythons_own_prompt() {
    let Some(shell) = Shell::start() else { return };
    let screen = shell.enter("1 / 0");
    assert!(screen.ends_with("\nZeroDivisionError: division by zero\n⌂ >>>"), "{screen}");
}

#[test]
fn colours_can_be_declined() {
    let Some(shell) = Shell::start() else { return };
    shell.enter("x = 'text'");
    assert!(shell.tmux.colours().contains("\x1b[32m'text'"), "{:?}", shell.tmux.colours());
    let Some(shell) = Shell::start_with("NO_COLOR=1", tempfile::tempdir().unwrap()) else { return };
    shell.enter("x = 'text'");
    assert!(!shell.tmux.colours().contains('\x1b'), "{:?}", shell.tmux.colours());
}
