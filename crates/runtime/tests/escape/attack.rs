//! The blocks of `attacks/`, and what becomes of one. `belljar_testing::attacks` has their form.
//!
//! Here a block says why it matters, and what it expects is JSON: the answers that a wall which
//! held gives. Several are alternatives, for where kernels, architectures or the kind of host user
//! make an honest difference.

use std::collections::BTreeSet;

use belljar_testing::attacks;
use belljar_testing::engine;
use serde_json::Value;

use crate::support::{answer, default_sandbox};

/// One block, complete.
struct Attack<'a> {
    name: &'a str,
    script: &'a str,
    expected_on_native: Vec<Value>,
    expected_on_docker: Vec<Value>,
}

impl Attack<'_> {
    fn expected_on(&self, engine: &str) -> &[Value] {
        match engine {
            "docker" => &self.expected_on_docker,
            _ => &self.expected_on_native,
        }
    }
}

/// The blocks of one family's file, in order. Panics on one that is not complete.
fn blocks(source: &str) -> Vec<Attack<'_>> {
    attacks::blocks(source).into_iter().map(complete).collect()
}

fn complete(block: attacks::Block<'_>) -> Attack<'_> {
    let attacks::Block { name, script, .. } = block;
    assert!(block.has_reason(), "{name} does not say why it matters");
    assert!(script.contains("emit_result("), "{name} does not say what it got");
    let parse = |json| serde_json::from_str(json).unwrap_or_else(|_| panic!("{name}: {json}"));
    let [expected_on_native, expected_on_docker] =
        ["native", "docker"].map(|engine| block.expected_on(engine).into_iter().map(parse).collect());
    Attack { name, script, expected_on_native, expected_on_docker }
}

/// Runs one attack in a cell of its own; anything but the expected answer is a hole, or an attack
/// that is not one.
pub(crate) async fn must_fail(source: &str, name: &str) {
    let attacks = blocks(source);
    let attack = attacks.iter().find(|attack| attack.name == name).expect("the file has that block");
    let Some((_runtime, sandbox)) = default_sandbox().await else { return };
    let got = answer(&sandbox, attack.script).await;
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
    assert_eq!(blocks(whole)[0].expected_on("native"), [1]);
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
