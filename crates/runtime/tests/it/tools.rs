//! Guest tools: Python files whose functions scripts can call.

use belljar_runtime::{Blueprint, Fault, RuntimeError, ToolSource};
use belljar_testing::{config, data, run, runtime, sandbox_with_tools};

const PROFILE: &str = "import asyncio\n\nasync def fetch_profile(user_id):\n    await asyncio.sleep(0)\n    return ToolResponse(True, {'name': user_id})\n\ndef add(a, b):\n    return a + b\n";

#[tokio::test]
async fn sync_and_async_tools_are_called_alike() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with_tools(&runtime, &[("profile.py", PROFILE)]).await;
    assert_eq!(sandbox.report().tools, ["fetch_profile", "add"]);
    let result =
        run(&sandbox, "r = fetch_profile(user_id='u9')\nemit_result([r.success, r.data['name'], add(1, 2)])")
            .await;
    assert_eq!(data(&result), r#"[true,"u9",3]"#);
}

#[tokio::test]
async fn a_tool_that_does_not_load_is_named_with_its_line_and_the_rest_load() {
    let Some(runtime) = runtime() else { return };
    let tools = [
        ("bad_syntax.py", "x = 1\ndef f(:\n"),
        ("bad_import.py", "x = 1\n\nimport not_there\n"),
        ("good.py", "def ok(): return 1\n"),
    ];
    let sources = tools.map(|(name, source)| ToolSource { file_name: name.into(), source: source.into() });
    let blueprint = Blueprint { tools: sources.into(), ..Blueprint::new(config()) };
    let error = runtime.prepare(blueprint.clone(), &mut |_| {}).await.err().expect("it is refused");
    assert!(matches!(&error, RuntimeError::Tools { reasons } if reasons.len() == 2), "{error}");
    assert_eq!(error.fault(), Fault::Caller);
    let sandbox = runtime.prepare(blueprint.lenient(), &mut |_| {}).await.unwrap();
    let result = run(&sandbox, "emit_result(ok())").await;
    assert_eq!(data(&result), "1");
    let warnings = result.warnings.join("\n");
    assert!(warnings.contains("bad_syntax.py did not load: line 2: SyntaxError"), "{warnings}");
    assert!(warnings.contains("bad_import.py did not load: line 3: ModuleNotFoundError"), "{warnings}");
}

#[tokio::test]
async fn an_exception_in_a_tool_shows_the_tools_line() {
    let Some(runtime) = runtime() else { return };
    let sandbox =
        sandbox_with_tools(&runtime, &[("t.py", "def boom():\n    raise ValueError('inside')\n")]).await;
    let result = run(&sandbox, "boom()").await;
    let traceback = result.traceback.unwrap();
    assert!(
        traceback.contains("/tools/t.py\", line 2") && traceback.contains("raise ValueError"),
        "{traceback}"
    );
}

#[tokio::test]
async fn tool_names_that_are_paths_are_refused() {
    let Some(runtime) = runtime() else { return };
    for name in ["../x.py", "a/b.py", "x.txt", ".py", ".hidden.py"] {
        let tool = belljar_runtime::ToolSource { file_name: name.into(), source: String::new() };
        let blueprint = Blueprint { tools: vec![tool], ..Blueprint::new(config()) };
        assert!(runtime.prepare(blueprint, &mut |_| {}).await.is_err(), "{name} was taken");
    }
}
