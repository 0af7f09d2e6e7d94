//! A script runs as `python FILE` would: arguments, exit code, stdin, the end of the program.

use std::time::Duration;

use belljar_runtime::{
    ExecutionMode, ExecutionRequest, ExecutionResult, ResourceLimits, Sandbox, SandboxConfig, Stdin, Verdict,
    stdin_from_async_reader, stdin_from_reader,
};
use belljar_testing::{HANG, config, data, engine, interrupted, needs_isolation, runtime, sandbox_with};
use tokio::io::AsyncWriteExt;

fn program(script: &str) -> ExecutionRequest {
    ExecutionRequest::new(script).with_mode(ExecutionMode::Script)
}

async fn run(sandbox: &Sandbox, request: ExecutionRequest) -> ExecutionResult {
    tokio::time::timeout(HANG, sandbox.run(request)).await.expect("the run hangs").unwrap()
}

#[tokio::test]
async fn a_program_needs_no_result_and_has_its_own_exit_code() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for (script, verdict, stderr) in [
        ("print(1)", Verdict::Ok, ""),
        ("import sys; sys.exit()", Verdict::Ok, ""),
        ("import sys; sys.exit(0)", Verdict::Ok, ""),
        ("import sys; sys.exit(3)", Verdict::Exited { code: 3 }, ""),
        ("import sys; sys.exit(-1)", Verdict::Exited { code: 255 }, ""),
        ("import sys; sys.exit('no luck')", Verdict::Exited { code: 1 }, "no luck\n"),
        ("os._exit(0)", Verdict::Ok, ""),
        ("os._exit(7)", Verdict::Exited { code: 7 }, ""),
        ("raise ValueError('x')", Verdict::Exception, ""),
        ("if True print(1)", Verdict::Exception, ""),
        ("emit_result(1)\nraise ValueError('after its result')", Verdict::Exception, ""),
        ("emit_result(1)\nimport sys\nsys.exit(4)", Verdict::Exited { code: 4 }, ""),
    ] {
        let result = run(&sandbox, program(script)).await;
        assert_eq!((&result.verdict, result.stderr.as_str()), (&verdict, stderr), "{script}: {result:#?}");
    }
    let result = run(&sandbox, program("emit_result([1])\nprint('on')")).await;
    assert_eq!((data(&result), result.stdout.as_str()), ("[1]", "on\n"));
}

#[tokio::test]
async fn in_other_modes_leaving_after_the_result_is_no_failure() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let result = run(&sandbox, "emit_result(1)\nimport sys\nsys.exit(0)".into()).await;
    assert_eq!(data(&result), "1");
    assert!(!result.warnings.iter().any(|warning| warning.contains("emit_result")), "{result:#?}");
    let result = run(&sandbox, "import sys; sys.exit(3)".into()).await;
    assert_eq!(result.verdict, Verdict::Exited { code: 3 });
    assert_eq!(result.error.as_deref(), Some("Script called sys.exit(3)"));
    let mut session = sandbox.session().await.unwrap();
    let result = session.step("x = 1\nimport sys\nsys.exit(0)").await.unwrap();
    assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
    assert_eq!(data(&session.step("emit_result(x)").await.unwrap()), "1");
}

#[tokio::test]
async fn a_program_has_its_arguments_its_file_and_a_real_main() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import sys, pickle, inspect\n\
                  class Point:\n    pass\n\
                  assert pickle.loads(pickle.dumps(Point())).__class__ is Point\n\
                  assert inspect.getsource(Point).startswith('class Point'), inspect.getsource(Point)\n\
                  assert sys.argv[0] == __file__ == os.path.abspath('tool.py'), (sys.argv, __file__)\n\
                  assert open(__file__).read().startswith('import sys')\n\
                  if __name__ == '__main__':\n    print(sys.argv[1:])";
    let request = program(script).with_name("tool.py").with_args(["-v", "", "a b", "ü"]);
    let result = run(&sandbox, request).await;
    assert_eq!(result.stdout, "['-v', '', 'a b', 'ü']\n", "{result:#?}");
    let result = run(&sandbox, program("import sys; print(sys.argv)").with_args(["x"])).await;
    assert_eq!(result.stdout, "['-c', 'x']\n", "{result:#?}");
    let failing = program("def f():\n    1 / 0\nf()").with_name("bad.py");
    let traceback = run(&sandbox, failing).await.traceback.unwrap();
    assert!(traceback.contains("bad.py\", line 2, in f\n    1 / 0"), "{traceback}");
}

#[tokio::test]
async fn what_is_registered_for_the_end_happens_at_the_end() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import atexit, threading, sys\n\
                  atexit.register(lambda: print('last'))\n\
                  threading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()\n\
                  print('main')\n";
    for (end, verdict) in [
        ("", Verdict::Ok),
        ("sys.exit(5)", Verdict::Exited { code: 5 }),
        ("raise KeyError('k')", Verdict::Exception),
    ] {
        let result = run(&sandbox, program(&format!("{script}{end}"))).await;
        assert_eq!((result.stdout.as_str(), result.verdict), ("main\nthread\nlast\n", verdict), "{end}");
    }
}

#[tokio::test]
async fn await_works_outside_of_functions() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x + 1\n\
                  print(await f(1), await asyncio.gather(f(2), f(3)))\n\
                  async with asyncio.timeout(5) if hasattr(asyncio, 'timeout') else asyncio.Lock():\n    print('with')";
    let result = run(&sandbox, program(script)).await;
    assert_eq!(result.stdout, "2 [3, 4]\nwith\n", "{result:#?}");
    let ordinary = "import asyncio\nasync def main():\n    return 7\nprint(asyncio.run(main()))";
    assert_eq!(run(&sandbox, program(ordinary)).await.stdout, "7\n");
    let mut session = sandbox.session().await.unwrap();
    let steps =
        ["task = asyncio.create_task(asyncio.sleep(0, 'slept'))\nawait asyncio.sleep(0)", "await task"];
    session.step(steps[0]).await.unwrap();
    assert_eq!(session.step(steps[1]).await.unwrap().stdout, "'slept'\n");
}

#[tokio::test]
async fn variables_of_a_request_are_its_own() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import subprocess\nprint(os.environ.get('COLOUR'), flush=True)\n\
                  subprocess.run(['sh', '-c', 'echo $COLOUR'])";
    let result = run(&sandbox, program(script).with_env("COLOUR", "gr\u{fc}n")).await;
    assert_eq!(result.stdout, "gr\u{fc}n\ngr\u{fc}n\n", "{result:#?}");
    assert_eq!(run(&sandbox, program(script)).await.stdout, "None\n\n");
    let error = sandbox.run(program("1").with_env("LD_PRELOAD", "x")).await.unwrap_err();
    assert!(error.to_string().contains("must not be set"), "{error}");
}

#[tokio::test]
async fn limits_of_a_request_are_lower_and_never_higher() {
    let Some(runtime) = runtime() else { return };
    let limits = ResourceLimits { max_output_bytes: 100_000, ..ResourceLimits::default() };
    let sandbox = sandbox_with(&runtime, SandboxConfig { resource_limits: limits, ..config() }).await;
    let mut request = program("print('x' * 10_000)");
    request.max_output_bytes = Some(5_000);
    assert_eq!(run(&sandbox, request).await.verdict, Verdict::Output);
    let mut request = program("print('x' * 200_000)");
    request.max_output_bytes = Some(1 << 30);
    assert_eq!(run(&sandbox, request).await.verdict, Verdict::Output);
    if engine() != "local" {
        let mut request = program("while True: pass");
        request.cpu_time = Some(Duration::from_millis(200));
        let result = run(&sandbox, request).await;
        assert!(matches!(result.verdict, Verdict::TimeoutCpu | Verdict::TimeoutWall), "{result:#?}");
    }
}

#[tokio::test]
async fn stdin_is_read_to_its_end_and_no_further() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let lines = "print(input())\nprint(input('? '))\ntry: input()\nexcept EOFError: print('end')";
    let result = run(&sandbox, program(lines).with_stdin("one\ntwo\n")).await;
    assert_eq!(result.stdout, "one\n? two\nend\n", "{result:#?}");
    let result = run(&sandbox, program("try: input()\nexcept EOFError: print('end')")).await;
    assert_eq!(result.stdout, "end\n", "{result:#?}");
    let bytes: Vec<u8> = (0..=255).collect();
    let script = "import sys\nprint(sys.stdin.buffer.read() == bytes(range(256)))";
    assert_eq!(run(&sandbox, program(script).with_stdin(bytes)).await.stdout, "True\n");
    let child = "import subprocess\nsubprocess.run(['wc', '-l'])\nsubprocess.run(['cat', '/dev/stdin'])";
    assert_eq!(run(&sandbox, program(child).with_stdin("a\nb\n")).await.stdout, "2\n");
    let ends = "import sys\nprint(list(sys.stdin), sys.stdin.newlines)";
    let result = run(&sandbox, program(ends).with_stdin("a\r\nb\rc\n")).await;
    assert_eq!(result.stdout, "['a\\r\\n', 'b\\rc\\n'] None\n", "line ends are as Python has them here");
}

#[tokio::test]
async fn large_input_is_passed_on_as_it_is_read() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let digest = "import sys, hashlib\nprint(len(data := sys.stdin.buffer.read()), sum(data[::997]))";
    let expected =
        format!("{} {}\n", bytes.len(), bytes.iter().step_by(997).map(|b| u64::from(*b)).sum::<u64>());
    let result = run(&sandbox, program(digest).with_stdin(bytes.clone())).await;
    assert_eq!(result.stdout, expected, "{result:#?}");
    let from_reader = stdin_from_reader(std::io::Cursor::new(bytes));
    assert_eq!(run(&sandbox, program(digest).with_stdin(from_reader)).await.stdout, expected);
    // Nobody reads it, and nobody waits for it.
    let unread = program("print('done')").with_stdin(vec![b'x'; 1 << 20]);
    assert_eq!(run(&sandbox, unread).await.stdout, "done\n");
    let endless = stdin_from_reader(std::io::repeat(b'y'));
    let result = run(&sandbox, program("import sys\nprint(sys.stdin.read(5))").with_stdin(endless)).await;
    assert_eq!(result.stdout, "yyyyy\n");
}

#[tokio::test]
async fn a_script_waits_for_input_that_is_still_to_come() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let (mut ours, theirs) = tokio::io::duplex(64);
    let request =
        program("while True:\n    try: print('got', input(), flush=True)\n    except EOFError: break")
            .with_stdin(stdin_from_async_reader(theirs));
    let mut execution = sandbox.stream(request);
    for line in ["one", "two"] {
        ours.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        let event = tokio::time::timeout(HANG, execution.next()).await.expect("hangs").unwrap();
        assert!(format!("{event:?}").contains(&format!("got {line}")), "{event:?}");
    }
    drop(ours);
    let result = tokio::time::timeout(HANG, execution.result()).await.expect("hangs").unwrap();
    assert_eq!((result.stdout.as_str(), result.verdict), ("got one\ngot two\n", Verdict::Ok));
}

#[tokio::test]
async fn a_script_that_waits_for_input_can_be_stopped() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let (_ours, theirs) = tokio::io::duplex(64);
    let request = program("print('waits', flush=True)\ninput()").with_stdin(stdin_from_async_reader(theirs));
    let mut execution = sandbox.stream(request);
    tokio::time::timeout(HANG, execution.next()).await.expect("hangs").unwrap();
    let handle = execution.handle();
    let result = interrupted(&handle, execution.result()).await.unwrap();
    assert_eq!(result.verdict, Verdict::Cancelled, "{result:#?}");
    let (_ours, theirs) = tokio::io::duplex(64);
    let request = program("input()")
        .with_stdin(stdin_from_async_reader(theirs))
        .with_timeout(Duration::from_millis(300));
    assert_eq!(run(&sandbox, request).await.verdict, Verdict::TimeoutWall);
}

#[tokio::test]
async fn input_that_fails_ends_with_a_warning() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the line is dead"))
        }
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let request = program("import sys\nprint(repr(sys.stdin.read()))").with_stdin(stdin_from_reader(Broken));
    let result = run(&sandbox, request).await;
    assert_eq!(result.stdout, "''\n");
    assert!(result.warnings.iter().any(|warning| warning.contains("the line is dead")), "{result:#?}");
}

#[tokio::test]
async fn a_step_of_a_session_has_input_of_its_own() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    let step = |stdin: &'static str| ExecutionRequest::new("import sys\nsys.stdin.read()").with_stdin(stdin);
    for stdin in ["one", "two"] {
        assert_eq!(session.step(step(stdin)).await.unwrap().stdout, format!("'{stdin}'\n"));
        assert_eq!(session.step("sys.stdin.read()").await.unwrap().stdout, "''\n");
    }
    let without = ExecutionRequest::new("sys.stdin.read()").with_stdin(Stdin::Empty);
    assert_eq!(session.step(without).await.unwrap().stdout, "''\n");
}

#[tokio::test]
async fn processes_start_in_every_way() {
    if needs_isolation("the interpreter outside may have no spawn") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for method in ["fork", "spawn", "forkserver"] {
        let script = format!(
            "import multiprocessing\ndef square(x):\n    return x * x\n\
             if __name__ == '__main__':\n    context = multiprocessing.get_context('{method}')\n    \
             with context.Pool(2) as pool:\n        print(pool.map(square, range(5)))"
        );
        let result = run(&sandbox, program(&script).with_name("squares.py")).await;
        assert_eq!(result.stdout, "[0, 1, 4, 9, 16]\n", "{method}: {result:#?}");
    }
}
