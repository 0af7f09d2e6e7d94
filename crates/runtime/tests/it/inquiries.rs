//! Questions about a session between two steps. Whatever the guest answers, or does not, the
//! session goes on as it was.

use belljar_runtime::{EventKind, OutputStream, Runtime, RuntimeError, Secret, Secrets};
use belljar_testing::{build, config, runtime, sandbox_with, session};

/// Has a guest answer in another way. A script shares its interpreter with what answers.
fn answering(function: &str) -> String {
    format!(
        "import sys\nguest = sys.modules['belljar_harness'].cell\nanswer = guest._answer\n\
         def odd(*question):\n    {function}\nguest._answer = odd"
    )
}

#[tokio::test]
async fn a_line_goes_on_by_the_names_of_its_session() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = session(&sandbox).await;
    let fresh = session.complete("emit_res").await.unwrap();
    assert_eq!((fresh.start, fresh.matches), (0, vec!["emit_result".to_owned()]));
    session.step("alpha = {'one': 1}\nalpine = 2").await.unwrap();
    let found = session.complete("print(alp").await.unwrap();
    assert_eq!((found.start, found.matches), (6, vec!["alpha".to_owned(), "alpine".to_owned()]));
    assert_eq!(session.complete("alpha.val").await.unwrap().matches, ["values"]);
    assert_eq!(session.complete("alpha['o").await.unwrap().matches, ["one"]);
    assert_eq!(session.complete("nowhere.").await.unwrap().matches, Vec::<String>::new());
    let variables = session.variables().await.unwrap();
    let told: Vec<_> = variables.iter().map(|v| (&*v.name, &*v.kind, v.summary.as_deref())).collect();
    assert_eq!(told, [("alpha", "dict", Some("1 item")), ("alpine", "int", Some("2"))]);
}

#[tokio::test]
async fn asking_is_no_step_and_changes_nothing() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = session(&sandbox).await;
    session.complete("x").await.unwrap();
    session.step("before = set(globals())\n6 * 7").await.unwrap();
    for _ in 0..3 {
        session.complete("pri").await.unwrap();
        session.variables().await.unwrap();
    }
    let step = session.step("assert set(globals()) - before == {'before'}\n_").await.unwrap();
    assert_eq!(step.stdout, "42\n", "{step:?}");
    let failed = session.step("1 / 0").await.unwrap();
    assert!(failed.traceback.as_deref().unwrap().contains("<agent_script step 3>"), "{failed:?}");
}

#[tokio::test]
async fn a_guest_that_does_not_answer_keeps_its_session() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for odd in
        ["pass", "time.sleep(3); answer(*question)", "question[0].send(b'{\"type\":\"answer\",\"data\":')"]
    {
        let mut session = session(&sandbox).await;
        session.step(answering(odd)).await.unwrap();
        session.step("x = 20").await.unwrap();
        session.complete("x").await.unwrap();
        assert!(session.is_alive(), "{odd}");
        assert_eq!(session.step("emit_result(x)").await.unwrap().final_data.unwrap().as_str(), "20", "{odd}");
    }
}

#[tokio::test]
async fn nobody_who_stops_waiting_ends_the_session() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = session(&sandbox).await;
    session.step(answering("pass")).await.unwrap();
    let asked = tokio::time::timeout(std::time::Duration::from_millis(20), session.complete("x")).await;
    assert!(asked.is_err(), "{asked:?}");
    assert_eq!(session.step("1 + 1").await.unwrap().stdout, "2\n");
}

#[tokio::test]
async fn what_is_printed_while_a_session_is_asked_is_told_by_the_next_step() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = session(&sandbox).await;
    session.step(answering("print('between', flush=True); answer(*question)")).await.unwrap();
    assert_eq!(session.complete("emit_l").await.unwrap().matches, ["emit_log"]);
    let mut events = Vec::new();
    let step = session.step_with("print('within')", |event| events.push(event.kind)).await.unwrap();
    assert_eq!(step.stdout, "within\n");
    let leftover = EventKind::Leftover { stream: OutputStream::Stdout, text: "between\n".into() };
    assert!(events.contains(&leftover), "{events:?}");
}

#[tokio::test]
async fn answers_hide_secrets_as_results_do() {
    let builder = Runtime::builder().secrets(Secrets::new().with("TOKEN", Secret::new("hidden-value")));
    let Some(runtime) = build(builder) else { return };
    let mut config = config();
    config.secrets = vec!["TOKEN".into()];
    let sandbox = sandbox_with(&runtime, config).await;
    let mut session = session(&sandbox).await;
    session.step("d = {os.environ['TOKEN']: 1}\nt = os.environ['TOKEN']").await.unwrap();
    assert_eq!(session.complete("d['").await.unwrap().matches, ["***"]);
    assert!(!format!("{:?}", session.variables().await.unwrap()).contains("hidden-value"));
}

#[tokio::test]
async fn a_session_that_is_over_or_busy_cannot_be_asked() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = session(&sandbox).await;
    let mut step = session.stream("emit_intermediate('begun', 1)\ntime.sleep(600)");
    while !matches!(step.next().await.unwrap().kind, EventKind::Intermediate { .. }) {}
    let error = session.complete("x").await.unwrap_err();
    assert!(matches!(error, RuntimeError::StepUnderWay { .. }), "{error:?}");
    step.handle().cancel();
    step.result().await.unwrap();
    let error = session.complete("x").await.unwrap_err();
    assert!(matches!(error, RuntimeError::SessionOver { .. }), "{error:?}");
}
