//! What a script finds in its globals, and what it is told when it errs.

use belljar_runtime::{LogLevel, SandboxConfig, Secret, Verdict};
use belljar_testing::{build, config, data, run, runtime, sandbox_with};

#[tokio::test]
async fn the_globals_of_the_reference_harness_are_there() {
    let result = belljar_testing::run_one!(
        "names = ['asyncio', 'datetime', 'json', 'math', 'os', 're', 'time', 'uuid', 'ToolResponse', 'emit_intermediate', 'emit_log', 'emit_result']\n\
         emit_result([[n for n in names if n not in globals()], __name__, ToolResponse(True, 1, 'm').data])"
    );
    assert_eq!(data(&result), r#"[[],"__main__",1]"#);
}

#[tokio::test]
async fn events_are_collected_in_order() {
    let result = belljar_testing::run_one!(
        "emit_log('hello'); emit_log('careful', level='warning')\nfor i in range(3): emit_intermediate('p', i)\nemit_result({'s': 'ok'})"
    );
    assert_eq!(data(&result), r#"{"s":"ok"}"#);
    let labels: Vec<_> = result.intermediates.iter().map(|i| (i.label.as_str(), i.data.as_str())).collect();
    assert_eq!(labels, [("p", "0"), ("p", "1"), ("p", "2")]);
    assert_eq!(result.logs[1].level, LogLevel::Warning);
}

#[tokio::test]
async fn values_json_cannot_hold_are_named() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for (value, told) in [
        ("float('nan')", "data is nan"),
        ("[1, float('inf')]", "data[1] is inf"),
        ("{'a': {'b': b'x'}}", "data['a']['b'] is a bytes"),
        ("{'a': [{1, 2}]}", "data['a'][0] is a set"),
        ("object()", "data is a object"),
        ("{(1, 2): 3}", "has the key (1, 2), a tuple"),
        ("datetime.datetime(2020, 1, 1)", "use .isoformat()"),
        ("'\\ud800'", "lone surrogate"),
        ("ToolResponse()", "ToolResponse"),
    ] {
        let result = run(&sandbox, &format!("emit_result({value}, strict=True)")).await;
        assert_eq!(result.verdict, Verdict::Exception, "{value}: {result:#?}");
        let error = result.error.unwrap();
        assert!(error.contains(told), "{value}: {error}");
        let traceback = result.traceback.unwrap();
        assert!(
            traceback.contains(&format!("emit_result({value}, strict=True)")),
            "no line of the script is shown: {traceback}"
        );
        assert!(!traceback.contains("harness"), "{traceback}");
    }
    let cycle = run(&sandbox, "x = []; x.append(x); emit_result(x)").await;
    assert!(cycle.error.unwrap().contains("refers back"));
    let deep = run(&sandbox, "x = []\nfor _ in range(100_000): x = [x]\nemit_result(x)").await;
    assert!(deep.error.unwrap().contains("nested deeper than 60 levels"));
}

#[tokio::test]
async fn values_json_can_hold_come_back_exactly() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for (value, json) in [
        ("None", "null"),
        ("10**40", "10000000000000000000000000000000000000000"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("'é😀\\n\\x00'", r#""é😀\n\u0000""#),
        ("{1: 'a', None: 'b'}", r#"{"1":"a","null":"b"}"#),
        ("(1, 2)", "[1,2]"),
        ("'x' * 900_000", &format!("\"{}\"", "x".repeat(900_000))),
    ] {
        assert_eq!(data(&run(&sandbox, &format!("emit_result({value})")).await), json);
    }
}

#[tokio::test]
async fn a_traceback_shows_the_scripts_lines_and_not_the_harnesss() {
    let result = belljar_testing::run_one!("def inner():\n    return {}['missing']\n\ninner()");
    assert_eq!(result.error.as_deref(), Some("KeyError: 'missing'"));
    let traceback = result.traceback.unwrap();
    assert!(traceback.contains("File \"<agent_script>\", line 4"), "{traceback}");
    assert!(traceback.contains("return {}['missing']"), "{traceback}");
    assert!(!traceback.contains("harness"), "{traceback}");
}

#[tokio::test]
async fn a_syntax_error_shows_its_line() {
    let result = belljar_testing::run_one!("x = 1\nif x\n    pass");
    assert_eq!(result.verdict, Verdict::Exception);
    let error = result.error.unwrap();
    assert!(error.contains("SyntaxError") && error.contains("line 2") && error.contains("if x"), "{error}");
}

#[tokio::test]
async fn sys_exit_is_an_error_that_names_the_code() {
    let result = belljar_testing::run_one!("import sys; sys.exit(3)");
    assert_eq!(result.error.as_deref(), Some("Script called sys.exit(3)"));
}

#[tokio::test]
async fn big_scripts_run() {
    let script = format!("{}emit_result(1)", "# comment\n".repeat(500_000));
    assert_eq!(data(&belljar_testing::run_one!(&script)), "1");
}

#[tokio::test]
async fn threads_that_are_no_daemons_may_finish() {
    let result = belljar_testing::run_one!(
        "import threading\nthreading.Thread(target=lambda: (time.sleep(0.1), emit_result('from the thread'))).start()"
    );
    assert_eq!(data(&result), "\"from the thread\"");
}

#[tokio::test]
async fn a_fork_of_the_scripts_own_is_repaired_as_any_other() {
    // Python's hooks make the copy forget threads that it has not, and release a lock that one of
    // them held.
    let result = belljar_testing::run_one!(
        "import threading, logging\nlock, go = logging._lock, threading.Event()\n\
         def hold():\n    with lock: held.set(); go.wait()\nheld = threading.Event()\nt = threading.Thread(target=hold, daemon=True)\nt.start(); held.wait()\n\
         os.register_at_fork(after_in_child=lambda: globals().update(hooked=True))\n\
         go.set(); t.join(); u = threading.Thread(target=threading.Event().wait, daemon=True); u.start()\n\
         pid = os.fork()\nif pid == 0:\n    fine = threading.active_count() == 1 and hooked and lock.acquire(timeout=5)\n    os._exit(0 if fine else 1)\n\
         emit_result([os.waitpid(pid, 0)[1], threading.main_thread().native_id == os.getpid()])"
    );
    assert_eq!(data(&result), "[0,true]");
}

#[tokio::test]
async fn missing_secrets_are_listed_all_at_once() {
    let Some(runtime) = runtime() else { return };
    let secrets = ["FIRST", "SECOND"].map(String::from).to_vec();
    let config = SandboxConfig { secrets, ..config() };
    let error = runtime.sandbox(config.clone()).await.err().expect("it is refused");
    assert!(error.to_string().contains("have no value: FIRST, SECOND"), "{error}");
    let lenient = belljar_runtime::Blueprint::new(config).lenient();
    let sandbox = runtime.prepare(lenient, &mut |_| {}).await.unwrap();
    let result = run(&sandbox, "emit_result(1)").await;
    assert_eq!(result.error.as_deref(), Some("Missing required environment variables: ['FIRST', 'SECOND']"));
}

#[tokio::test]
async fn a_cell_gets_the_secrets_its_config_names_and_no_others() {
    if runtime().is_none() {
        return;
    }
    let values = [("MINE", "s3cret"), ("OTHER", "not yours")].map(|(n, v)| (n.to_owned(), Secret::new(v)));
    let runtime = build(belljar_runtime::Runtime::builder().secrets(values)).unwrap();
    let sandbox = sandbox_with(&runtime, SandboxConfig { secrets: vec!["MINE".into()], ..config() }).await;
    let result = run(&sandbox, "emit_result([os.environ['MINE'] == 's3cret', 'OTHER' in os.environ])").await;
    assert_eq!(data(&result), "[true,false]");
}

#[tokio::test]
async fn pickle_dataclasses_and_multiprocessing_find_main() {
    let result = belljar_testing::run_one!(
        "import pickle, dataclasses, multiprocessing\n@dataclasses.dataclass\nclass P:\n    x: int\ndef f(x): return x * 2\n\
         with multiprocessing.Pool(2) as pool: doubled = pool.map(f, [1, 2, 3])\n\
         emit_result([pickle.loads(pickle.dumps(P(3))).x, doubled])"
    );
    assert_eq!(data(&result), "[3,[2,4,6]]");
}

/// What a hostile script can reach of the harness is what it could reach anyway: the modules that
/// run it. None is on its path, so none has a plain name, and none stands in the way of a module of
/// the script's own.
#[tokio::test]
async fn the_harness_is_not_on_the_path_of_scripts() {
    let result = belljar_testing::run_one!(
        "import importlib, importlib.util, sys\nhome = os.path.dirname(sys.modules['belljar_harness'].__file__)\n\
         names = [name[:-3] for place in (home, os.path.dirname(home)) for name in os.listdir(place) if name.endswith('.py')]\n\
         found = [name for name in names + ['belljar_cell'] if name not in sys.modules and importlib.util.find_spec(name)]\n\
         led = [path for path in sys.path if 'belljar' in path and path != os.getcwd()]\n\
         for name in names: open(f'{name}.py', 'w').write(f'MINE = {name!r}')\n\
         importlib.invalidate_caches()\n\
         taken = [name for name in names if importlib.import_module(name).MINE != name]\n\
         emit_result([len(names) > 10, found, led, taken])"
    );
    assert_eq!(data(&result), "[true,[],[],[]]");
}
