//! Guest tools: Python files whose functions scripts can call.

use belljar_runtime::{Blueprint, Fault, Runtime, RuntimeError, Sandbox, Secret, ToolSource};
use belljar_testing::{build, config, data, run, runtime, sandbox_with_tools, session, tool_sources};

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

#[tokio::test]
async fn files_do_not_share_globals_and_can_be_imported_by_name() {
    let Some(runtime) = runtime() else { return };
    let tools = [
        ("mine.py", "LIMIT = 1\ndef _help(): return LIMIT\ndef one(): return _help()\n"),
        (
            "yours.py",
            "import mine\nLIMIT = 2\ndef _help(): return LIMIT\ndef two(): return [_help(), mine.one()]\n",
        ),
        // Python has a module of that name, and keeps it.
        ("json.py", "def encode(): return json.dumps(1)\n"),
    ];
    let sandbox = sandbox_with_tools(&runtime, &tools).await;
    assert_eq!(sandbox.report().tools, ["encode", "one", "two"]);
    let script = "import json, mine\nemit_result([one(), two(), mine.LIMIT, json.loads('3'), encode(), 'LIMIT' in globals()])";
    assert_eq!(data(&run(&sandbox, script).await), r#"[1,[2,1],1,3,"1",false]"#);
}

#[tokio::test]
async fn tools_work_in_processes_that_a_script_starts() {
    let Some(runtime) = runtime() else { return };
    let tool = "import asyncio\ndef twice(x): return 2 * x\nasync def thrice(x):\n    await asyncio.sleep(0)\n    return 3 * x\n";
    let sandbox = sandbox_with_tools(&runtime, &[("numbers_tool.py", tool)]).await;
    let script = "import multiprocessing\nthrice(1)\nfound = []\n\
                  with multiprocessing.get_context('fork').Pool(1) as pool: found += [pool.map(twice, [1]), pool.map(thrice, [1])]\n\
                  with multiprocessing.get_context('spawn').Pool(1) as pool: found += [pool.map(twice, [2])]\n\
                  emit_result(found)";
    assert_eq!(data(&run(&sandbox, script).await), "[[2],[3],[4]]");
}

#[tokio::test]
async fn a_name_that_is_taken_is_refused_with_both_who_have_it() {
    let Some(runtime) = runtime() else { return };
    let tools = tool_sources(&[
        ("a.py", "def fetch(): return 'a'\n"),
        ("b.py", "def fetch(): return 'b'\n"),
        ("c.py", "def emit_result(data): pass\n"),
        ("d.py", "async def json(): pass\n"),
    ]);
    let blueprint = Blueprint { tools, ..Blueprint::new(config()) };
    let error = runtime.prepare(blueprint.clone(), &mut |_| {}).await.err().expect("it is refused");
    let RuntimeError::Tools { reasons } = &error else { panic!("{error}") };
    let expected = [
        "tool file b.py did not load: it defines fetch, and so does a.py",
        "tool file c.py did not load: it defines emit_result, which hides the emit_result that every script starts with",
        "tool file d.py did not load: it defines json, which hides the json that every script starts with",
    ];
    assert_eq!(reasons, &expected);
    let sandbox = runtime.prepare(blueprint.lenient(), &mut |_| {}).await.unwrap();
    assert_eq!(data(&run(&sandbox, "emit_result([fetch(), json.dumps(1)])").await), r#"["a","1"]"#);
}

/// Every function was once replaced by one that waits, for its own file too. So one that awaited
/// another waited for itself.
#[tokio::test]
async fn async_tools_await_each_other_and_can_be_awaited() {
    let Some(runtime) = runtime() else { return };
    let tool = "import asyncio\nasync def _base():\n    await asyncio.sleep(0)\n    return 1\n\
                async def inner(): return await _base() + 1\nasync def outer(): return await inner() + 1\ndef plain(): return 4\n";
    let sandbox = sandbox_with_tools(&runtime, &[("chain.py", tool)]).await;
    for (script, expected) in [
        ("emit_result([inner(), outer(), plain()])", "[2,3,4]"),
        ("emit_result([await outer(), await asyncio.gather(inner(), outer()), plain()])", "[3,[2,3],4]"),
        (
            "async def main():\n    task = asyncio.create_task(outer())\n    return [await task, await inner(), plain()]\n\
             emit_result([asyncio.run(main()), outer()])",
            "[[3,2,4],3]",
        ),
    ] {
        assert_eq!(data(&run(&sandbox, script).await), expected, "{script}");
    }
}

const READS_A_SECRET: &str = "import os\nKEY = os.environ['API_KEY']\nprint('loaded with', KEY)\n\
     class Client:\n    key = KEY\nasync def signed(text): return [text, Client.key == 's3cret-' + 'value']\n";

/// A sandbox whose config has the secret `API_KEY`.
async fn sandbox_with_a_secret(tools: &[(&str, &str)]) -> Option<(Runtime, Sandbox)> {
    let values = [("API_KEY".to_owned(), Secret::new("s3cret-value"))];
    let runtime = build(Runtime::builder().secrets(values))?;
    let mut blueprint = Blueprint { tools: tool_sources(tools), ..Blueprint::new(config()) };
    blueprint.config.secrets = vec!["API_KEY".into()];
    let sandbox = runtime.prepare(blueprint, &mut |_| {}).await.expect("the sandbox can be made ready");
    Some((runtime, sandbox))
}

#[tokio::test]
async fn a_tool_that_reads_a_secret_while_it_is_imported_has_it() {
    let warm = "import os\nPID = os.getpid()\ndef is_warm(): return PID != os.getpid()\n";
    let tools = [("late.py", READS_A_SECRET), ("warm.py", warm)];
    let Some((runtime, sandbox)) = sandbox_with_a_secret(&tools).await else { return };
    assert_eq!(sandbox.report().tools, ["signed", "is_warm"]);
    assert_eq!(sandbox.report().broken_tools().count(), 0);
    // A local cell is one process from its first line on.
    let is_warm = runtime.engine_name() != "local";
    for _ in 0..2 {
        let result = run(&sandbox, "emit_result([signed('x'), is_warm()])").await;
        assert_eq!(data(&result), format!(r#"[["x",true],{is_warm}]"#));
        assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("", "loaded with ***\n"));
    }
    let mut session = session(&sandbox).await;
    let loaded = session.step("first = signed('a')").await.unwrap();
    assert_eq!(loaded.stderr, "loaded with ***\n", "{loaded:#?}");
    let next = session.step("emit_result([first, await signed('b')])").await.unwrap();
    assert_eq!((data(&next), next.stderr.as_str()), (r#"[["a",true],["b",true]]"#, ""));
}

#[tokio::test]
async fn a_tool_that_fails_with_its_secret_ends_the_run_and_is_named() {
    let tool =
        "import os\nif os.getenv('API_KEY'):\n    raise ValueError('no such account')\ndef ask(): pass\n";
    let Some((_runtime, sandbox)) = sandbox_with_a_secret(&[("account.py", tool)]).await else { return };
    assert_eq!(sandbox.report().tools, ["ask"]);
    let result = run(&sandbox, "print('never')\nemit_result(1)").await;
    let message = "tool file account.py did not load: line 3: ValueError: no such account";
    assert_eq!((result.error.as_deref(), result.stdout.as_str()), (Some(message), ""), "{result:#?}");
    assert!(result.traceback.unwrap().contains("tools/account.py\", line 3"));
}
