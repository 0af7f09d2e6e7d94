//! One script does it all.

use std::sync::Arc;

use belljar_agent::model::{ModelError, Prices, Reply, ScriptedModel, ScriptedReply, Stop};
use belljar_agent::vet::{Rule, Vetting};
use belljar_agent::{AgentError, GaveUp, Outcome, Task, ToolOrchestrator};
use belljar_runtime::Verdict;
use belljar_testing::{config, in_time, runtime, sandbox_with, sandbox_with_tools};

use super::{python, result_of, run, scripted, told, with_add};

#[tokio::test]
async fn a_mistake_is_found_a_failure_is_told_and_the_third_attempt_succeeds() {
    let Some(runtime) = runtime() else { return };
    let sandbox = with_add(&runtime).await;
    let prices = Some(Prices { input: 1e6, output: 0.0 });
    let reply = |script: &str| Reply::new(python(script)).with_tokens(10, 5).priced(prices);
    let model = Arc::new(ScriptedModel::new([
        reply("x = add\nemit_result(x)"),
        reply("print('so far')\nemit_result(add(1, 2).daten)"),
        reply("emit_result(add(1, 2).data)"),
    ]));
    let record = run(&ToolOrchestrator::new(sandbox, Arc::clone(&model)), "Add 1 and 2").await;
    assert_eq!(record.outcome, Outcome::Succeeded, "{record:#?}");
    assert_eq!(result_of(&record), Some("3"));
    assert_eq!((record.tokens.input, record.tokens.output, record.cost), (30, 15, Some(30.0)));
    let [first, second, third] = record.steps.as_slice() else { panic!("{record:#?}") };
    assert_eq!((first.findings[0].line, first.findings[0].rule), (1, Rule::ToolNotCalled));
    assert!(first.result.is_none(), "it was not run");
    assert_eq!(second.verdict(), Some(&Verdict::Exception));
    assert_eq!(third.verdict(), Some(&Verdict::Ok));
    assert_eq!(third.result.as_ref().unwrap().tool_calls.len(), 1);
    let system = &model.asked()[0][0].text;
    assert!(system.contains("def add(a: int, b: int) -> ToolResponse:"), "{system}");
    assert!(told(&model, 0).starts_with("Task: Add 1 and 2"));
    assert!(told(&model, 1).contains("line 1: `add` is a function and is not called here"));
    let failure = told(&model, 2);
    assert!(failure.contains("AttributeError") && failure.contains("<traceback>"), "{failure}");
    assert!(failure.contains("so far"), "{failure}");
    // It is all there when it is read again.
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<belljar_agent::RunRecord>(&text).unwrap(), record);
}

#[tokio::test]
async fn attempts_are_bounded_and_share_nothing() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let model = scripted(&["x = 1\nraise SystemExit", "emit_result(x)", "emit_result(y)", "emit_result(1)"]);
    let record = run(&ToolOrchestrator::new(sandbox, Arc::clone(&model)).vetting(None), "t").await;
    assert_eq!(record.outcome, Outcome::GaveUp { reason: GaveUp::Attempts });
    assert_eq!((record.steps.len(), record.result), (3, None));
    assert!(told(&model, 2).contains("NameError: name 'x' is not defined"));
}

#[tokio::test]
async fn words_are_not_taken_for_a_script() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let replies = [
        "I am sorry, I cannot do that.",
        "I would call emit_result(x) if I could.",
        "```python\n```",
        "\r```python\nemit_result(1)\n```",
    ];
    let model = Arc::new(ScriptedModel::new(replies));
    let orchestrator = ToolOrchestrator::new(sandbox, model).limited(|limits| limits.attempts = 4);
    let record = run(&orchestrator, "t").await;
    assert_eq!(result_of(&record), Some("1"), "{record:#?}");
    let found: Vec<_> = record.steps.iter().flat_map(|step| &step.findings).collect();
    let [none, both, empty] = found[..] else { panic!("{found:#?}") };
    let wanted = "there is no script in the reply: write the script in one ```python block";
    assert_eq!((none.rule, none.message.as_str()), (Rule::NoScript, wanted));
    assert!(record.steps[0].script.is_none());
    assert_eq!(both.rule, Rule::Syntax);
    assert!(both.message.starts_with("SyntaxError"), "{both}");
    assert!(both.message.ends_with("The reply has no ```python block: write the script in one"), "{both}");
    assert!(empty.message.starts_with("the block in the reply is empty"), "{empty}");
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_told_and_then_given_up() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let model = scripted(&["emit_result(1 / 0)"; 9]);
    let orchestrator =
        ToolOrchestrator::new(sandbox, Arc::clone(&model)).limited(|limits| limits.attempts = 9);
    let record = run(&orchestrator, "t").await;
    assert_eq!(record.outcome, Outcome::GaveUp { reason: GaveUp::Loop });
    assert_eq!(record.steps.len(), 3);
    assert!(told(&model, 2).contains("You have sent this before"));
}

#[tokio::test]
async fn replies_without_a_usable_script_cost_an_attempt() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let model = Arc::new(ScriptedModel::new([
        Reply::new("```sh\nls\n```"),
        Reply::new(""),
        Reply::new("```python\nemit_result(").with_stop(Stop::Length),
        Reply::new("I think the answer is seven."),
        Reply::new("emit_result(7)"),
    ]));
    let orchestrator =
        ToolOrchestrator::new(sandbox, Arc::clone(&model)).limited(|limits| limits.attempts = 5);
    let record = run(&orchestrator, "t").await;
    assert_eq!(result_of(&record), Some("7"), "{record:#?}");
    let rules: Vec<Rule> = record.steps.iter().flat_map(|step| &step.findings).map(|it| it.rule).collect();
    assert_eq!(rules, [Rule::NoScript, Rule::NoScript, Rule::CutOff, Rule::NoScript]);
}

#[tokio::test]
async fn a_model_that_fails_or_refuses_is_an_outcome() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let key = ModelError::Key { endpoint: "e".into(), status: 401, message: "no".into() };
    for (reply, said, callers) in [
        (ScriptedReply::from(key), "does not accept the key", true),
        (ScriptedReply::from(Reply::new("I will not.").with_stop(Stop::Refused)), "I will not.", false),
    ] {
        let record = run(&ToolOrchestrator::new(sandbox.clone(), ScriptedModel::new([reply])), "t").await;
        let Outcome::ModelFailed { error, is_callers } = &record.outcome else { panic!("{record:#?}") };
        assert!(error.contains(said) && *is_callers == callers, "{error}");
    }
    let orchestrator = ToolOrchestrator::new(sandbox, scripted(&[]));
    assert!(matches!(in_time(orchestrator.run(" ")).await, Err(AgentError::NoTask)));
    let none = orchestrator.limited(|limits| limits.attempts = 0);
    assert!(matches!(in_time(none.run("t")).await, Err(AgentError::Limit { limit: "attempts" })));
}

#[tokio::test]
async fn tokens_are_bounded_whether_or_not_they_are_counted() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let counted: Vec<Reply> =
        (0..5).map(|n| Reply::new(python(&format!("emit_result({n} / 0)"))).with_tokens(40, 2)).collect();
    let uncounted: Vec<Reply> = counted.iter().map(|reply| Reply::new(reply.text.clone())).collect();
    for replies in [counted, uncounted] {
        let orchestrator =
            ToolOrchestrator::new(sandbox.clone(), ScriptedModel::new(replies)).limited(|limits| {
                limits.tokens = Some(50);
                limits.attempts = 5;
            });
        let record = run(&orchestrator, "t").await;
        assert_eq!(record.outcome, Outcome::GaveUp { reason: GaveUp::Tokens });
        assert!(matches!(record.steps.len(), 1 | 2), "{record:#?}");
    }
}

#[tokio::test]
async fn files_go_in_and_come_out() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let model = scripted(&["open('out.txt', 'w').write(open('in.txt').read() * 2)\nemit_result('ok')"]);
    let task = Task::new("double it").with_file("in.txt", "ab").collecting(["*.txt"]);
    let record = run(&ToolOrchestrator::new(sandbox, Arc::clone(&model)), task).await;
    let [file] = record.files() else { panic!("{record:#?}") };
    assert_eq!((file.name.as_str(), &file.bytes().unwrap()[..]), ("out.txt", b"abab".as_slice()));
    assert!(told(&model, 0).contains("Files in the current directory: in.txt"));
}

#[tokio::test]
async fn functions_of_python_files_are_described_as_scripts_see_them() {
    let Some(runtime) = runtime() else { return };
    let source = "async def rate(code: str, *, day='today') -> float:\n    \"\"\"Looks a rate up.\n\n    In \\\"euro\\\".\n    \"\"\"\n    return 1.5\n\ndef _hidden(): pass\n";
    let sandbox = sandbox_with_tools(&runtime, &[("rates.py", source)]).await;
    let model = scripted(&["emit_result(rate('USD'))"]);
    let record = run(&ToolOrchestrator::new(sandbox, Arc::clone(&model)), "t").await;
    assert_eq!(result_of(&record), Some("1.5"), "{record:#?}");
    let system = &model.asked()[0][0].text;
    assert!(
        system.contains("def rate(code: str, *, day: Any = \"today\") -> Any:\n    \"\"\"Looks a rate up."),
        "{system}"
    );
    assert!(!system.contains("_hidden"), "{system}");
}

#[tokio::test]
async fn rules_of_the_caller_are_part_of_the_prompt_and_of_what_is_looked_for() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let model = scripted(&["import os\nos.system('true')\nemit_result(1)", "emit_result(2)"]);
    let orchestrator = ToolOrchestrator::new(sandbox, Arc::clone(&model))
        .rules("Use no shell.")
        .vetting(Vetting::default().forbidding(["os.system"]));
    let record = run(&orchestrator, "t").await;
    assert_eq!(
        record.steps[0].findings[0].to_string(),
        "line 2: `os.system` must not be called here: do it another way"
    );
    assert_eq!(result_of(&record), Some("2"));
    assert!(model.asked()[0][0].text.ends_with("\n\nUse no shell."));
}
