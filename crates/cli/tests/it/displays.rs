//! What a script displays, on a terminal and elsewhere.

use std::process::Command;

use serde_json::json;

use crate::belljar::{belljar, command, run_json};
use crate::screen::{Screen, on_a_terminal};

/// A table with text, a picture of one pixel, and a value without another form than text.
const SCRIPT: &str = "import zlib, struct
class Table:
    def __repr__(self): return 'a  b\\n1  2'
    def _repr_html_(self): return '<table>'
class Picture:
    def __repr__(self): return '<Picture>'
    def _repr_png_(self):
        def chunk(kind, data):
            return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
        header = struct.pack('>IIBBBBB', 1, 1, 8, 2, 0, 0, 0)
        return b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(bytes(4))) + chunk(b'IEND', b'')
print('printed')
display(Table())
display(Picture())
Table()
";

fn on_terminal(variables: &[(&str, &str)], script: &str) -> Screen {
    let mut command: Command = command(&["run", "-"]);
    for name in ["TMUX", "KITTY_WINDOW_ID", "TERM_PROGRAM"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    let (screen, code) = on_a_terminal(command, script.as_bytes());
    assert_eq!(code, Some(0), "{screen:#?}");
    screen
}

#[test]
fn stdout_is_what_python_prints_and_displays_are_beside_it() {
    let piped = belljar(&["run", "-"], SCRIPT);
    assert_eq!((piped.code, piped.stdout.as_str()), (Some(0), "printed\n"), "{piped:#?}");
    let expected = "a  b\n1  2\n[image/png, 69 bytes: --out DIR saves it]\na  b\n1  2\n";
    assert_eq!(piped.stderr, expected);
}

#[test]
fn a_terminal_shows_text_and_names_pictures() {
    let screen = on_terminal(&[], SCRIPT);
    screen.assert_tame();
    let expected = ["printed", "a  b", "1  2", "⌂ [image/png, 69 bytes: --out DIR saves it]", "a  b", "1  2"];
    assert_eq!(screen.lines(), expected, "{screen:#?}");
}

#[test]
fn a_terminal_that_can_shows_the_picture_two_columns_in() {
    for (variables, begins) in [
        (&[("KITTY_WINDOW_ID", "1")][..], "\n  \x1b_Ga=T,f=100,q=2,m=0;iVBORw0KGgo"),
        (
            &[("TERM_PROGRAM", "iTerm.app")],
            "\n  \x1b]1337;File=inline=1;preserveAspectRatio=1;size=69:iVBORw0KGgo",
        ),
    ] {
        let screen = on_terminal(variables, SCRIPT);
        assert!(screen.0.contains(begins), "{screen:#?}");
        assert!(!screen.0.contains("--out DIR"), "{screen:#?}");
    }
    let inside = on_terminal(&[("KITTY_WINDOW_ID", "1"), ("TMUX", "/tmp/tmux")], SCRIPT);
    inside.assert_tame();
}

#[test]
fn a_display_cannot_talk_to_the_terminal_or_pass_for_us() {
    let hostile = r#"
display({"text/plain": "\x1b]52;c;eA==\x07\x9b2J\r⌂ error: forged", "text/\x1b[2J": "x"}, raw=True)
display({"image/png": b"\x1b]0;title\x07", "image/x-any": b"\x1b]0;title\x07"}, raw=True)
display({"image/\x1b[2J": b"x"}, raw=True)
"#;
    for variables in [&[][..], &[("KITTY_WINDOW_ID", "1")], &[("TERM_PROGRAM", "WezTerm")]] {
        let screen = on_terminal(variables, hostile);
        screen.assert_tame();
        assert_eq!(screen.ours(), ["⌂ [image/x-any, 10 bytes: --out DIR saves it]"], "{screen:#?}");
    }
}

#[test]
fn json_has_every_form() {
    let (_, result) = run_json(
        &[],
        "display({'text/html': '<b>', 'image/x-any': b'hi', 'application/json': [1]}, raw=True)",
    );
    let expected = json!([{"data": {"text/html": "<b>", "image/x-any": "aGk=", "application/json": [1]}}]);
    assert_eq!(result["displays"], expected, "{result:#}");
}
