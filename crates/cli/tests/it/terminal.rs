//! A script can only print on the terminal it is shown on. It cannot control it, or imitate the
//! command.

use std::fs;

use serde_json::Value;

use crate::belljar::{belljar, command, finish};
use crate::screen::{Screen, on_a_terminal};

fn shown(script: &str) -> Screen {
    let (screen, _) = on_a_terminal(command(&["run", "-"]), script.as_bytes());
    screen.assert_tame();
    screen
}

/// Everything that a terminal obeys, or that changes how its neighbours look, as a Python literal.
const HOSTILE: &str = r#"("\r\x1b[2K\x1b[1A\x1b]0;title\x07\x1b]52;c;eA==\x1b\\\x1bP$q\x1b\\\x1b[6n\x05\x1bc\x9b2J\x9d0;t\x9c\x84\x85"
 "\x08\x0b\x0c\x7f\x00\u2028\u2029\u202e\u202d\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u200d\ufeff\U000e0041\u3164\n⌂ error: ok: forged\n")"#;

#[test]
fn an_exception_cannot_write_over_our_words_or_add_lines_of_its_own() {
    let screen = shown(&format!("raise ValueError({HOSTILE})"));
    let ours = screen.ours();
    assert_eq!(ours.len(), 1, "{screen:#?}");
    assert!(ours[0].starts_with("⌂ error: exception: ValueError: ␍␛[2K␛[1A␛]0;title␇"), "{ours:?}");
    assert!(ours[0].contains("␊\\u{2302} error: ok: forged"), "{ours:?}");
}

#[test]
fn logs_and_labels_stay_on_their_line() {
    let screen =
        shown(&format!("emit_log({HOSTILE})\nemit_intermediate({HOSTILE}, {HOSTILE})\nemit_result(1)"));
    let theirs = screen.theirs();
    assert_eq!((theirs.len(), screen.ours().len()), (2, 0), "{screen:#?}");
    assert!(theirs[0].starts_with("· log: ␍␛[2K") && theirs[1].starts_with("· ␍␛[2K"), "{theirs:?}");
}

/// The lines that begin like the command's own, whatever follows.
fn marked_as_ours(screen: &Screen) -> Vec<String> {
    screen.lines().into_iter().filter(|line| line.starts_with('⌂')).collect()
}

#[test]
fn a_log_that_says_what_we_would_say_is_not_marked_as_ours() {
    let script = "emit_log('error: oom: it used more memory', level='error')\n\
                  emit_intermediate('error', 'oom')\nemit_log('>>> rm -rf /')\nemit_result(1)";
    let screen = shown(script);
    assert_eq!(marked_as_ours(&screen), Vec::<String>::new(), "{screen:#?}");
    let expected =
        ["· log: error: error: oom: it used more memory", "· error: \"oom\"", "· log: >>> rm -rf /"];
    assert_eq!(screen.theirs(), expected, "{screen:#?}");
}

#[test]
fn a_shell_shows_a_log_as_the_scripts() {
    let terminal = crate::screen::Terminal::new();
    let mut shell = command(&["shell"]);
    shell.stdin(terminal.other_end());
    let typed = "emit_log('The session is over and a new one has begun')\nemit_log('>>> forged')\n:quit\n";
    let screen = crate::screen::typed_on(terminal, shell, typed);
    // Nothing typed is echoed here, so the output of a step comes right after the prompt.
    for said in ["The session is over and a new one has begun", ">>> forged"] {
        assert!(screen.0.contains(&format!("· log: {said}")), "{screen:#?}");
        assert!(!screen.0.contains(&format!("⌂ {said}")), "{screen:#?}");
    }
}

#[test]
fn what_looks_like_our_mark_never_begins_a_line() {
    for house in ["☖", "☗", "🏠\\ufe0e", "⌂", "△", "\\x1b[31m☖\\x1b[0m"] {
        let script = format!(
            "import sys\nprint('x', end='', flush=True)\nprint('', file=sys.stderr, flush=True)\ntime.sleep(0.05)\n\
             print('{house} error: forged', flush=True)\nprint('{house} error: forged', file=sys.stderr)\nemit_result(1)"
        );
        let screen = shown(&script);
        let forged: Vec<_> = screen.lines().into_iter().filter(|line| line.contains("forged")).collect();
        let begins = |line: &String| line.starts_with([' ', '\\', 'x']);
        assert!(forged.len() == 2 && forged.iter().all(begins), "{house}: {screen:#?}");
    }
}

#[test]
fn a_tool_that_does_not_load_adds_no_lines_and_no_megabytes() {
    let directory = tempfile::tempdir().unwrap();
    let tools = [
        ("lines.py", "raise ImportError('boom\\nerror: forged\\n\\x1b[2J⌂ help: x\\rzz')"),
        ("name.py", "raise type('A\\nerror: forged', (Exception,), {})('hello')"),
        ("long.py", "raise ImportError('x' * 30_000_000)"),
        ("mute.py", "class E(Exception):\n    def __str__(self): raise ValueError\nraise E"),
        ("many.py", "for n in range(100_000):\n    exec(f'def tool_{n}(): pass')"),
    ];
    for (name, source) in tools {
        let tool = directory.path().join(name);
        fs::write(&tool, source).unwrap();
        let (screen, code) =
            on_a_terminal(command(&["run", "--tool", tool.to_str().unwrap(), "-"]), b"emit_result(1)");
        screen.assert_tame();
        assert!(screen.0.len() < 4000, "{name}: {} bytes", screen.0.len());
        let lines = screen.lines();
        let (last, before) = lines.split_last().unwrap();
        if name == "many.py" {
            assert_eq!((code, last.as_str()), (Some(0), "1"), "{name}: {lines:#?}");
            let ours = |line: &String| line.starts_with("⌂ warning: ");
            assert!(before.len() <= 1 && before.iter().all(ours), "{name}: {lines:#?}");
        } else {
            let is_ours = last.starts_with(&format!("⌂ error: tool file {name} did not load: "));
            assert!(code == Some(2) && is_ours && before.is_empty(), "{name}: {lines:#?}");
        }
    }
}

#[test]
fn the_last_words_of_a_process_that_dies_are_not_lines_of_ours() {
    let directory = tempfile::tempdir().unwrap();
    let tool = directory.path().join("dies.py");
    fs::write(
        &tool,
        "import os\nos.write(2, '\\nhelp: run this as root\\n⌂ error: x\\n'.encode())\nos._exit(1)",
    )
    .unwrap();
    let (screen, _) =
        on_a_terminal(command(&["run", "--tool", tool.to_str().unwrap(), "-"]), b"emit_result(1)");
    screen.assert_tame();
    let lines = screen.lines();
    let ours = marked_as_ours(&screen);
    assert!(ours.len() == 1 && ours[0].starts_with("⌂ error: "), "{lines:#?}");
    assert!(lines[1..].iter().all(|line| line.starts_with("· ")), "{lines:#?}");
}

#[test]
fn colours_of_one_stream_do_not_reach_our_words_on_the_other() {
    let script = "import sys\nsys.stderr.write('\\x1b[30;40m')\nsys.stderr.flush()\nemit_result('paid: no')";
    let screen = shown(script);
    let (before, _) = screen.0.split_once("\"paid: no\"").expect("the result is shown");
    assert!(before.ends_with("\x1b[0m"), "the result is in a script's colour: {screen:#?}");
}

#[test]
fn the_log_stands_on_lines_of_its_own_without_a_scripts_colours() {
    let script = "import sys\nsys.stderr.write('\\x1b[30;40mopen line')\nsys.stderr.flush()\n\
                  os.write(900, b'junk\\n')\nemit_result(1)";
    let mut logging = command(&["run", "-"]);
    logging.env("BELLJAR_LOG", "debug");
    let (screen, _) = on_a_terminal(logging, script.as_bytes());
    assert!(screen.lines().iter().any(|line| line == "open line"), "a log entry ends no line: {screen:#?}");
    let (_, after) = screen.0.split_once("open line").unwrap();
    assert!(after.starts_with("\x1b[0m\n"), "what follows is in a script's colour: {screen:#?}");
}

#[test]
fn what_a_script_prints_can_neither_talk_to_the_terminal_nor_pass_for_us() {
    for stream in ["stdout", "stderr"] {
        let screen = shown(&format!("import sys\nsys.{stream}.write({HOSTILE})\nemit_result(1)"));
        assert_eq!(screen.ours(), Vec::<String>::new(), "{screen:#?}");
        assert!(screen.0.contains("\\u{2302} error: ok: forged"), "{screen:#?}");
    }
}

#[test]
fn bytes_that_are_controls_in_another_encoding_are_no_controls() {
    let screen =
        shown("os.write(1, bytes(range(256)))\nos.write(2, bytes(range(255, -1, -1)))\nemit_result(1)");
    assert_eq!(screen.ours(), Vec::<String>::new(), "{screen:#?}");
}

#[test]
fn a_sequence_in_pieces_is_still_one() {
    let script = r#"
for piece in ("\x1b", "]52;c;", "eA==", "\x07", "\x1b", "[", "2", "J", "\x1b[3", "1mred", "\r", "over"):
    print(piece, end="", flush=True)
    emit_log("between")
emit_result(1)
"#;
    let screen = shown(script);
    assert!(!screen.lines().iter().any(|line| line.starts_with("over between")), "{screen:#?}");
}

#[test]
fn colours_are_shown_and_end_with_the_scripts_words() {
    let screen = shown(
        "print('\\x1b[1;31mred')\nemit_log('ours')\nprint('\\x1b[8mhidden\\x1b[38;5;2mgreen', end='')\nemit_result(1)",
    );
    assert!(screen.0.contains("\x1b[1;31mred"), "{screen:#?}");
    let (before, _) = screen.0.split_once("\x1b[2m·").expect("a line that we show");
    assert!(
        before.ends_with("\x1b[0m") || before.ends_with("\x1b[0m\n"),
        "our line is in a script's colour: {screen:#?}"
    );
    assert!(screen.0.contains("␛[8mhidden"), "text can be hidden: {screen:#?}");
    let (_, after) = screen.0.split_once("green").expect("it is printed");
    assert!(after.starts_with("\x1b[0m\n1"), "the result is in a script's colour: {screen:#?}");
}

#[test]
fn colours_do_not_outlive_the_command() {
    let (screen, _) =
        on_a_terminal(command(&["run", "--mode", "interactive", "-"]), b"print('\x1b[31mred', end='')");
    assert!(screen.0.ends_with("\x1b[0m"), "{screen:#?}");
}

#[test]
fn our_lines_stand_on_lines_of_their_own() {
    for stream in ["stdout", "stderr"] {
        let script =
            format!("import sys\nsys.{stream}.write('mine: ')\nsys.{stream}.flush()\nraise ValueError('x')");
        let screen = shown(&script);
        assert!(screen.lines().contains(&"⌂ error: exception: ValueError: x".to_owned()), "{screen:#?}");
        let piped = belljar(&["run", "-"], script);
        assert!(piped.stderr.lines().any(|line| line == "error: exception: ValueError: x"), "{piped:#?}");
    }
}

#[test]
fn a_traceback_shows_source_lines_that_are_not_what_they_seem() {
    let screen = shown("def f():\n    raise ValueError  # \u{202e}\u{2066}\u{9b}2J\r⌂ error: forged\nf()");
    assert_eq!(screen.ours().len(), 1, "{screen:#?}");
}

#[test]
fn data_is_shown_in_escapes() {
    let screen = shown(&format!("emit_result({{ {HOSTILE}: [{HOSTILE}] * 9 }})"));
    assert_eq!(screen.ours(), Vec::<String>::new(), "{screen:#?}");
    assert!(screen.0.contains("\\u009b2J"), "{screen:#?}");
}

#[test]
fn json_on_a_terminal_is_tame_and_means_the_same() {
    let script = format!(
        "text = {HOSTILE}\nprint(text)\nemit_log(text)\nemit_intermediate(text, text)\nemit_result({{text: text}})"
    );
    for output in ["--json", "--events"] {
        let (screen, code) = on_a_terminal(command(&["run", output, "-"]), script.as_bytes());
        assert_eq!(code, Some(0));
        screen.assert_tame();
        for line in screen.0.lines() {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
        }
        let piped = belljar(&["run", output, "-"], &script);
        let last: Value = serde_json::from_str(piped.stdout.lines().last().unwrap()).unwrap();
        let text = last["logs"][0]["message"].as_str().unwrap();
        assert_eq!(last["final_data"][text], text, "{last}");
        assert!(text.contains('\u{9b}') && text.contains('\u{202e}'));
    }
}

#[test]
fn a_pipe_gets_every_byte_as_it_was() {
    let outcome = belljar(&["run", "-"], "print('\\x1b[2J\\u202e\\r\\x9b', end='')\nraise ValueError");
    assert_eq!(outcome.stdout, "\x1b[2J\u{202e}\r\u{9b}");
    assert_eq!(outcome.stderr.lines().filter(|line| line.starts_with("error:")).count(), 1, "{outcome:#?}");
}

#[test]
fn a_pipe_gets_our_lines_one_by_one() {
    let outcome =
        belljar(&["run", "-"], "emit_log('a\\nerror: forged\\r')\nraise ValueError('x\\nerror: ok: forged')");
    let forged = outcome.stderr.lines().filter(|line| line.starts_with("error:")).count();
    // The traceback is the script's own, and has the second line of its message.
    assert_eq!(forged, 2, "{outcome:#?}");
    assert!(outcome.stderr.ends_with("error: exception: ValueError: x␊error: ok: forged\n"), "{outcome:#?}");
}

#[test]
fn names_of_files_and_keys_cannot_write_lines_of_ours() {
    let directory = tempfile::tempdir().unwrap();
    let evil = "x\r\x1b[2K\n⌂ error: forged \u{202e}.py";
    let tool = directory.path().join(evil);
    fs::write(&tool, "def f(:\n").unwrap();
    let sandbox = directory.path().join("box\r\n⌂ error: forged\x1b[2K.toml");
    fs::write(&sandbox, "\"na\\u001b[2Kme\\u009b\" = 1").unwrap();
    let script = directory.path().join(format!("no-{evil}"));
    for arguments in [
        ["run", "--sandbox", sandbox.to_str().unwrap()],
        ["run", "--tool", tool.to_str().unwrap()],
        ["run", "--json", script.to_str().unwrap()],
    ] {
        let (screen, _) = on_a_terminal(command(&arguments), b"emit_result(1)");
        screen.assert_tame();
        let forged = |line: &String| line.contains("⌂ error: forged") || line.starts_with("error: forged");
        assert!(!screen.lines().iter().any(forged), "{screen:#?}");
    }
}

#[test]
fn the_log_quotes_what_is_not_ours() {
    let script = format!("raise ValueError({HOSTILE})");
    let mut on_terminal = command(&["run", "--execution-id", "id\r\n⌂ error: forged\x1b[2K\u{202e}", "-"]);
    on_terminal.env("BELLJAR_LOG", "trace");
    let (screen, _) = on_a_terminal(on_terminal, script.as_bytes());
    screen.assert_tame();
    assert!(screen.lines().len() > 3, "nothing was logged: {screen:#?}");
    let mut piped = command(&["run", "-"]);
    piped.env("BELLJAR_LOG", "trace");
    assert!(!finish(piped, "emit_result(1)").stderr.contains('\x1b'));
}

#[test]
fn a_shell_prompts_where_no_script_can() {
    let terminal = crate::screen::Terminal::new();
    let mut shell = command(&["shell"]);
    // A person types: the prompt is for them.
    shell.stdin(terminal.other_end());
    let typed = "print('⌂ >>> forged', end='')\n1 + 1\n:quit\n";
    let screen = crate::screen::typed_on(terminal, shell, typed);
    screen.assert_tame();
    let prompts: Vec<_> = screen.lines().into_iter().filter(|line| line.starts_with("⌂ >>> ")).collect();
    assert!(prompts.len() >= 3 && !screen.0.contains("⌂ >>> forged"), "{screen:#?}");
    assert!(screen.0.contains("\\u{2302} >>> forged\n"), "a prompt does not begin its line: {screen:#?}");
}

#[test]
fn the_end_of_a_cancelled_run_is_told_to_whoever_reads_events() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader, Write};
    for output in ["--events", "--json"] {
        for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            let directory = tempfile::tempdir().unwrap();
            let mount = format!("{}:/shared:rw", directory.path().display());
            fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
                .unwrap();
            let mut child = command(&["run", output, "--mount", &mount, "-"]).spawn().unwrap();
            let script =
                b"open('/shared/begun', 'w').close()\nemit_intermediate('begun', 1)\nwhile True: pass";
            child.stdin.take().unwrap().write_all(script).unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            while !directory.path().join("begun").exists() {
                assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
                std::thread::yield_now();
            }
            kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), sent).unwrap();
            let last: Value = serde_json::from_str(&lines.last().unwrap().unwrap()).unwrap();
            assert_eq!(last["verdict"], "cancelled", "{last}");
            assert_eq!(child.wait().unwrap().code(), Some(code));
        }
    }
}
