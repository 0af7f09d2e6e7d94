//! Tools as a Python stub file, for models that read code and for editors.

use super::python::{documentation, in_docstring, signature};
use super::{Tool, ToolSet};

/// What every stub file begins with.
const HEAD: &str = r#"from typing import Any, Literal

class ToolResponse:
    """What a tool returns: whether it worked, its data, and a message for the reader."""
    success: bool
    data: Any
    message: str
"#;

impl ToolSet {
    /// A Python stub file (`.pyi`) with every tool: its signature and what there is to say about
    /// it.
    pub fn stubs(&self) -> String {
        let mut file = HEAD.to_owned();
        for tool in self.iter() {
            file += "\n";
            file += &stub(tool);
        }
        file
    }
}

fn stub(tool: &Tool) -> String {
    let lines = documentation(tool);
    let mut text = format!("def {}:", signature(tool));
    match lines.as_slice() {
        [] => text += " ...\n",
        [only] => text += &format!("\n    \"\"\"{}\"\"\"\n", in_docstring(only)),
        [first, rest @ ..] => {
            text += &format!("\n    \"\"\"{}\n", in_docstring(first));
            for line in rest {
                let indent = if line.is_empty() { "" } else { "    " };
                text += &format!("{indent}{}\n", in_docstring(line));
            }
            text += "    \"\"\"\n";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::Stdio;

    use proptest::strategy::{Strategy as _, ValueTree as _};
    use proptest::test_runner::TestRunner;

    use crate::tool::tests::{sets, several};
    use crate::tool::{Tool, ToolSet};

    #[test]
    fn stubs_look_like_this() {
        insta::assert_snapshot!(several().stubs());
    }

    /// Reads files that are split by NULs. A stub file has none.
    const READER: &str = "import ast, sys\n\
        for text in sys.stdin.buffer.read().decode().split('\\0'):\n\
        \x20   tree = ast.parse(text)\n\
        \x20   names = [node.name for node in tree.body[1:] if isinstance(node, ast.FunctionDef)]\n\
        \x20   assert len(tree.body) == len(names) + 2, text\n\
        \x20   print(*names)\n";

    #[expect(clippy::disallowed_methods, reason = "a test may ask Python; the crate itself runs nothing")]
    fn python(input: &str) -> Option<String> {
        let mut child = std::process::Command::new("python3")
            .args(["-c", READER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input.as_bytes()));
            child.wait_with_output().unwrap()
        });
        assert!(output.status.success(), "Python does not read a stub file: see its traceback");
        Some(String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn python_reads_the_stubs_of_any_tools_and_finds_these_tools_alone() {
        let mut runner = TestRunner::deterministic();
        let mut all: Vec<ToolSet> =
            (0..200).map(|_| sets().new_tree(&mut runner).unwrap().current()).collect();
        for text in [
            "\"\"\"",
            "\\",
            "\\\"\"\"\nimport os",
            "\r",
            "x\u{c}y\0",
            "\u{2028}",
            "a\n  b\n\n",
            "\"",
            "\\\"",
            "x \\\\\"",
            "\\N{x}",
        ] {
            let mut set = ToolSet::new();
            set.add(Tool::new("t", text).with_example(text)).unwrap();
            all.push(set);
        }
        let files: Vec<_> = all.iter().map(ToolSet::stubs).collect();
        assert!(files.iter().all(|file| !file.contains('\0')));
        let Some(found) = python(&files.join("\0")) else {
            println!("skipped: there is no python3");
            return;
        };
        for (set, found) in all.iter().zip(found.lines()) {
            let names: Vec<_> = set.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names.join(" "), found);
        }
        assert_eq!(found.lines().count(), all.len());
    }
}
