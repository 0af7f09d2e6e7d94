//! Steps in one session.

use std::sync::Arc;

use belljar_agent::model::ScriptedModel;
use belljar_agent::{AgentMode, GaveUp, Outcome, Task, ToolOrchestrator};
use belljar_runtime::Verdict;
use belljar_testing::{config, runtime, sandbox_with};

use super::{python, result_of, run, scripted, told};

#[tokio::test]
async fn variables_stay_and_each_step_is_seen() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let model = scripted(&["x = 20\nprint('hello')\nx + 1", "y = x / 0", "emit_result(x + 2)"]);
    let orchestrator = ToolOrchestrator::new(sandbox, Arc::clone(&model)).mode(AgentMode::Interactive);
    let record = run(&orchestrator, "t").await;
    assert_eq!((result_of(&record), record.success()), (Some("22"), true), "{record:#?}");
    let seen = told(&model, 1);
    assert!(seen.contains("<stdout>\nhello\n21\n</stdout>"), "{seen}");
    assert!(told(&model, 2).contains("ZeroDivisionError"));
    assert_eq!(record.steps[1].verdict(), Some(&Verdict::Exception));
}

#[tokio::test]
async fn a_model_may_be_done_without_a_result() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let replies =
        ["Let me think.".to_owned(), python("open('a.txt', 'w').write('x')"), "DONE\nIt is there.".into()];
    let model = Arc::new(ScriptedModel::new(replies));
    let orchestrator = ToolOrchestrator::new(sandbox, Arc::clone(&model)).mode(AgentMode::Interactive);
    let record = run(&orchestrator, Task::new("write it").collecting(["*"])).await;
    assert_eq!(record.outcome, Outcome::Succeeded, "{record:#?}");
    assert_eq!((record.answer.as_deref(), &record.result), (Some("It is there."), &None));
    assert!(told(&model, 1).contains("there is no script in the reply, and no DONE"));
    assert_eq!(&record.files()[0].bytes().unwrap()[..], b"x");
}

#[tokio::test]
async fn a_session_that_dies_is_replaced_and_the_model_is_told() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let model =
        scripted(&["x = 1", "import os\nos._exit(3)", "emit_result(['x' in globals(), open('f').read()])"]);
    let orchestrator = ToolOrchestrator::new(sandbox, Arc::clone(&model)).mode(AgentMode::Interactive);
    let record = run(&orchestrator, Task::new("t").with_file("f", "given")).await;
    assert_eq!(result_of(&record), Some(r#"[false,"given"]"#), "{record:#?}");
    assert!(told(&model, 2).contains("a new one has begun"), "{}", told(&model, 2));
}

#[tokio::test]
async fn steps_are_bounded_and_circles_are_noticed() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let counting = scripted(&["n = globals().get('n', 0) + 1\nn"; 30]);
    let orchestrator = ToolOrchestrator::new(sandbox.clone(), counting).mode(AgentMode::Interactive);
    let record = run(&orchestrator.limited(|limits| limits.steps = 5), "t").await;
    assert_eq!(record.outcome, Outcome::GaveUp { reason: GaveUp::Steps }, "each step gives something new");
    assert_eq!(record.steps.len(), 5);
    let circling = scripted(&["1", "2", "1", "2", "1", "2"]);
    let orchestrator = ToolOrchestrator::new(sandbox.clone(), circling).mode(AgentMode::Interactive);
    let record = run(&orchestrator, "t").await;
    assert_eq!((record.outcome, record.steps.len()), (Outcome::GaveUp { reason: GaveUp::Loop }, 5));
    let failing = scripted(&["a", "a  # again", "a  # and again", "a  # still"]);
    let orchestrator = ToolOrchestrator::new(sandbox, failing).mode(AgentMode::Interactive);
    let record = run(&orchestrator, "t").await;
    assert_eq!((record.outcome, record.steps.len()), (Outcome::GaveUp { reason: GaveUp::Loop }, 3));
}
