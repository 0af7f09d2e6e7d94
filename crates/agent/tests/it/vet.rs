//! What is looked for in a script, in a real cell.

use belljar_agent::vet::{Rule, Vetting};
use belljar_runtime::Sandbox;
use belljar_testing::{config, in_time, runtime, sandbox_with};

async fn look(sandbox: &Sandbox, vetting: &Vetting, script: &str) -> Vec<(u32, Rule)> {
    let tools = ["search".to_owned(), "add".to_owned()];
    let findings = in_time(vetting.vet(sandbox, script, &tools, true)).await.unwrap();
    findings.into_iter().map(|finding| (finding.line, finding.rule)).collect()
}

#[tokio::test]
async fn mistakes_are_found_with_their_lines() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let vetting = Vetting::default().forbidding(["os.system"]);
    for (script, expected) in [
        ("emit_result(search('x'))", vec![]),
        ("x = 1\nx = (\n", vec![(2, Rule::Syntax)]),
        ("return 1", vec![(1, Rule::Syntax)]),
        ("a\0b", vec![(1, Rule::Syntax)]),
        ("emit_result(await add(1, 2))", vec![]),
        ("x = search\nemit_result(x)", vec![(1, Rule::ToolNotCalled)]),
        ("f = search\nemit_result(f('x'))", vec![]),
        ("emit_result(list(map(search, 'ab')))", vec![]),
        ("emit_result(search)", vec![(1, Rule::ToolNotCalled)]),
        ("emit_result(add.data)", vec![(1, Rule::ToolNotCalled)]),
        ("def search(q):\n    return q\nemit_result(search('x'))", vec![(1, Rule::HidesTool)]),
        ("x = input()\nemit_result(x)", vec![(1, Rule::ForbiddenCall)]),
        ("from os import system as s\ns('x')\nemit_result(1)", vec![(2, Rule::ForbiddenCall)]),
        ("import builtins\nbuiltins.input()\nemit_result(1)", vec![(2, Rule::ForbiddenCall)]),
        ("print(1)\nprint(2)\n", vec![(2, Rule::NoResult)]),
        ("done = emit_result\ndone(1)", vec![]),
    ] {
        assert_eq!(look(&sandbox, &vetting, script).await, expected, "{script}");
    }
    let long = format!("x = {:?}\n", "y".repeat(300_000));
    assert_eq!(look(&sandbox, &vetting, &long).await, [(1, Rule::Length)]);
}

#[tokio::test]
async fn rules_can_be_left_out() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "x = search\ninput()\ndef add(): pass\n";
    assert_eq!(look(&sandbox, &Vetting::syntax_only(), script).await, []);
    assert_eq!(look(&sandbox, &Vetting::default(), script).await.len(), 4);
}

#[tokio::test]
async fn a_script_that_is_looked_at_does_not_run_and_cannot_answer_for_itself() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import os\nemit_result([])\nos._exit(0)\ninput()";
    assert_eq!(look(&sandbox, &Vetting::default(), script).await, [(4, Rule::ForbiddenCall)]);
    // What Python cannot read is a finding, or left to the run. It is never a failure of ours.
    for deep in [format!("x = {}", "(".repeat(5000)), format!("x = {}1", "-".repeat(100_000))] {
        let found = look(&sandbox, &Vetting::syntax_only(), &deep).await;
        assert!(found.is_empty() || found == [(1, Rule::Syntax)], "{found:?}");
    }
}
