use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::*;
use crate::testing::{FakeEngine, FakeExecutor};
use crate::{
    CodeExecutionInput, CodeExecutor, Context, InteractiveProgramSpec, RunProgramSpec, Workspace,
    WorkspaceEngine,
};

fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn provider(pairs: &[(&str, &str)]) -> Option<RunEnvProvider> {
    let all = env(pairs);
    Some(Arc::new(move |_| all.clone()))
}

fn spec(pairs: &[(&str, &str)], clean_env: bool) -> RunProgramSpec {
    RunProgramSpec { cmd: "true".to_owned(), env: env(pairs), clean_env, ..RunProgramSpec::default() }
}

#[tokio::test]
async fn case_76_a_provider_adds_and_replaces_nothing() {
    let engine = Arc::new(FakeEngine::default());
    let wrapped = env_injecting_engine(engine.clone(), provider(&[("TOKEN", "t"), ("EXISTING", "provider")]));
    let given = spec(&[("EXISTING", "spec")], false);
    let (ctx, ws) = (Context::new(), Workspace::default());
    wrapped.runner().run_program(&ctx, &ws, given.clone()).await.unwrap();
    assert_eq!(engine.ran.lock().unwrap()[0].env, env(&[("EXISTING", "spec"), ("TOKEN", "t")]));
    assert_eq!(given.env, env(&[("EXISTING", "spec")]));
    assert!(Arc::ptr_eq(&wrapped.manager(), &engine.manager()));
    assert_eq!(wrapped.describe(), engine.describe());
}

#[tokio::test]
async fn case_76_a_runner_is_as_interactive_as_the_one_inside() {
    let engine = Arc::new(FakeEngine { is_interactive: true, ..FakeEngine::default() });
    let wrapped = env_injecting_engine(engine.clone(), provider(&[("TOKEN", "t")]));
    let interactive = wrapped.runner().interactive().expect("the inner one is");
    let (ctx, ws) = (Context::new(), Workspace::default());
    // A fake starts nothing, but remembers what it was asked for.
    drop(interactive.start_program(&ctx, &ws, InteractiveProgramSpec::default()).await);
    assert_eq!(engine.ran.lock().unwrap()[0].env, env(&[("TOKEN", "t")]));
    let plain = env_injecting_engine(Arc::new(FakeEngine::default()), provider(&[]));
    assert!(plain.runner().interactive().is_none());
}

#[test]
fn case_77_a_clean_program_gets_only_what_is_safe() {
    let provided = env(&[
        ("PATH", "/evil"),
        ("BASH_ENV", "/evil"),
        ("LD_PRELOAD", "/evil.so"),
        ("BASH_FUNC_x%%", "() { evil; }"),
        ("BASH_FUNC_x", "() { evil; }"),
        ("PATH=.", "/evil"),
        ("1ST", "x"),
        ("", "x"),
        ("SAFE", "1"),
    ]);
    assert_eq!(merge_provided_env(spec(&[], true), provided.clone()).env, env(&[("SAFE", "1")]));
    // What is not clean takes everything, and refuses it when it is used.
    assert_eq!(merge_provided_env(spec(&[], false), provided.clone()).env, provided);
}

#[test]
fn case_78_without_provider_or_engine_nothing_is_wrapped() {
    let engine: Arc<dyn WorkspaceEngine> = Arc::new(FakeEngine::default());
    assert!(Arc::ptr_eq(&env_injecting_engine(engine.clone(), None), &engine));
    let without: Arc<dyn CodeExecutor> = Arc::new(FakeExecutor::default());
    assert!(Arc::ptr_eq(&env_injecting_executor(without.clone(), provider(&[("A", "b")])), &without));
    let with: Arc<dyn CodeExecutor> =
        Arc::new(FakeExecutor { engine: Some(engine), ..FakeExecutor::default() });
    assert!(Arc::ptr_eq(&env_injecting_executor(with.clone(), None), &with));
}

#[tokio::test]
async fn blocks_of_an_executor_can_have_the_variables_too() {
    let seen = Arc::new(Mutex::new(None));
    let engine: Arc<dyn WorkspaceEngine> = Arc::new(FakeEngine::default());
    let executor = Arc::new(FakeExecutor { engine: Some(engine), seen: Arc::clone(&seen) });
    let wrapped = env_injecting_executor(executor, provider(&[("TOKEN", "t")]));
    wrapped.execute_code(&Context::new(), CodeExecutionInput::default()).await.unwrap();
    let ctx = seen.lock().unwrap().take().expect("it ran");
    assert_eq!(ProvidedEnv::added_to(&ctx, spec(&[], false)).env, env(&[("TOKEN", "t")]));
    assert_eq!(ProvidedEnv::added_to(&Context::new(), spec(&[], false)).env, env(&[]));
    assert!(wrapped.engine().is_some());
}
