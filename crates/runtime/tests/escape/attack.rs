//! Attacks written down as blocks of Python, and what becomes of one.
//!
//! ```text
//!  # attack: etc_shadow
//!  # Password hashes of the host's users.
//!  # expect: "ENOENT"
//!  emit_result(attempt(open, "/etc/shadow"))
//! ```
//!
//! Several `expect` lines are alternatives, for where kernels, architectures or the kind of host user make an honest difference. Lines of
//! the form `# expect docker: "EACCES"` stand instead of the plain ones on that engine, and the line before them says why that is harmless.

use std::collections::BTreeSet;

use crate::engine::engine;
use crate::support::{answer, default_sandbox};

/// One block.
struct Attack<'a> {
    name: &'a str,
    expected: Vec<serde_json::Value>,
    /// What counts on docker, where that is something else.
    expected_on_docker: Vec<serde_json::Value>,
    body: &'a str,
}

impl Attack<'_> {
    fn expected_on(&self, engine: &str) -> &[serde_json::Value] {
        match engine {
            "docker" if !self.expected_on_docker.is_empty() => &self.expected_on_docker,
            _ => &self.expected,
        }
    }
}

/// The blocks of one family's file, in order. Panics on one that is not complete.
fn blocks(source: &str) -> Vec<Attack<'_>> {
    source.split("# attack: ").skip(1).map(block).collect()
}

fn block(text: &str) -> Attack<'_> {
    let (name, mut rest) = text.split_once('\n').expect("a block has more than a name");
    let parse = |json| serde_json::from_str(json).unwrap_or_else(|_| panic!("{name}: {json}"));
    let (mut expected, mut expected_on_docker) = (Vec::new(), Vec::new());
    // Why it matters, and why a difference does not.
    let (mut said_why, mut excused) = (false, false);
    while let Some((comment, next)) = rest.strip_prefix("# ").and_then(|line| line.split_once('\n')) {
        if let Some(json) = comment.strip_prefix("expect docker: ") {
            assert!(excused, "{name} does not say why a container may differ");
            expected_on_docker.push(parse(json));
        } else if let Some(json) = comment.strip_prefix("expect: ") {
            expected.push(parse(json));
        } else {
            excused = !expected.is_empty();
            said_why |= expected.is_empty();
        }
        rest = next;
    }
    assert!(said_why, "{name} does not say why it matters");
    assert!(!expected.is_empty(), "{name} does not say what to expect");
    assert!(rest.contains("emit_result("), "{name} does not say what it got");
    Attack { name, expected, expected_on_docker, body: rest }
}

/// Runs one attack in a cell of its own; anything but the expected answer is a hole, or an attack that is not one.
pub(crate) async fn must_fail(source: &str, name: &str) {
    let attacks = blocks(source);
    let attack = attacks.iter().find(|attack| attack.name == name).expect("the file has that block");
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let got = answer(&sandbox, attack.body).await;
    let expected = attack.expected_on(engine());
    assert!(expected.contains(&got), "{name} got {got}, and may get only {expected:?}");
}

/// No block is forgotten, and none is there twice.
pub(crate) fn declares_all(source: &str, declared: &[&str]) {
    let written: Vec<&str> = blocks(source).iter().map(|attack| attack.name).collect();
    let (in_file, in_list) = (BTreeSet::from_iter(&written), BTreeSet::from_iter(declared));
    assert_eq!(in_file, in_list);
    assert_eq!(written.len(), in_file.len(), "a name is used twice");
}

#[test]
fn a_block_without_a_reason_or_an_expectation_is_refused() {
    let whole = "# attack: a\n# Why.\n# expect: 1\nemit_result(1)\n";
    assert_eq!(blocks(whole)[0].expected, [1]);
    for line in ["# Why.\n", "# expect: 1\n", "emit_result(1)\n"] {
        let partial = whole.replace(line, "");
        assert!(std::panic::catch_unwind(|| blocks(&partial).len()).is_err(), "{partial}");
    }
}

#[test]
fn what_a_container_may_answer_stands_instead_of_the_rest_and_has_a_reason() {
    let whole = "# attack: a\n# Why.\n# expect: 1\n# Harmless.\n# expect docker: 2\n# expect docker: 3\nemit_result(1)\n";
    let attack = &blocks(whole)[0];
    assert_eq!(
        (attack.expected_on("native"), attack.expected_on("docker")),
        (&[1.into()][..], &[2.into(), 3.into()][..])
    );
    let plain = "# attack: a\n# Why.\n# expect: 1\nemit_result(1)\n";
    assert_eq!(blocks(plain)[0].expected_on("docker"), [1]);
    for line in ["# Why.\n", "# expect: 1\n", "# Harmless.\n"] {
        let partial = whole.replace(line, "");
        assert!(std::panic::catch_unwind(|| blocks(&partial).len()).is_err(), "{partial}");
    }
}
