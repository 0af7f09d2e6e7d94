//! What a program finds and how it ends is what `python FILE` has. `scripts/corpus` compares many
//! whole scripts; here is what was once different.

use belljar_runtime::{ExecutionMode, ExecutionRequest, ExecutionResult, Sandbox, Verdict};
use belljar_testing::{HANG, config, runtime, sandbox_with};

async fn run(sandbox: &Sandbox, request: ExecutionRequest) -> ExecutionResult {
    let request = request.with_mode(ExecutionMode::Script);
    tokio::time::timeout(HANG, sandbox.run(request)).await.expect("the run hangs").unwrap()
}

#[tokio::test]
async fn streams_have_their_names_and_can_be_reconfigured() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import sys\n\
                  for stream in sys.stdin, sys.stdout, sys.stderr:\n    \
                  print(stream.name, stream.mode, stream.fileno(), stream.seekable())\n\
                  sys.stdout.reconfigure(encoding='utf-8', errors='replace')\n\
                  print('ü', ascii(sys.stdin.read()))";
    let result = run(&sandbox, ExecutionRequest::new(script).with_stdin(&b"caf\xe9"[..])).await;
    let expected = "<stdin> r 0 False\n<stdout> w 1 False\n<stderr> w 2 False\nü 'caf\\udce9'\n";
    assert_eq!(result.stdout, expected, "{result:#?}");
}

#[tokio::test]
async fn streams_can_be_opened_by_name() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import subprocess\n\
                  open('/dev/stdout', 'w').write('from Python\\n')\n\
                  subprocess.run('echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin', shell=True)";
    let result = run(&sandbox, ExecutionRequest::new(script).with_stdin(&b"in\n"[..])).await;
    let printed = (result.stdout.as_str(), result.stderr.as_str());
    assert_eq!(printed, ("from Python\nout\nin\n", "err\n"), "{result:#?}");
}

#[tokio::test]
async fn a_hook_of_the_script_hears_of_an_uncaught_error() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import sys, traceback, atexit\n\
                  atexit.register(print, 'end')\n\
                  def hook(kind, error, trace):\n    \
                  print(kind.__name__, error, [frame.name for frame in traceback.extract_tb(trace)])\n";
    for (rest, verdict, printed) in [
        ("", Verdict::Exception, "KeyError 'k' ['<module>']\nend\n"),
        ("    sys.exit(9)\n", Verdict::Exited { code: 9 }, "KeyError 'k' ['<module>']\nend\n"),
        ("    raise ValueError('in the hook')\n", Verdict::Exception, "KeyError 'k' ['<module>']\nend\n"),
    ] {
        let result = run(&sandbox, format!("{script}{rest}sys.excepthook = hook\n{{}}['k']").into()).await;
        assert_eq!((result.stdout.as_str(), &result.verdict), (printed, &verdict), "{rest}: {result:#?}");
        assert_eq!(rest.contains("ValueError"), result.stderr.contains("in the hook"), "{result:#?}");
    }
    let result = run(&sandbox, format!("{script}sys.excepthook = hook\nsys.exit(3)").into()).await;
    assert_eq!((result.stdout.as_str(), result.verdict), ("end\n", Verdict::Exited { code: 3 }));
}

#[tokio::test]
async fn at_the_end_files_are_written_out_and_objects_finished() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    // A function makes a circle of the variables, which only a collection finds.
    for function in ["", "def f():\n    pass\n"] {
        let script = format!("{function}file = open('kept.txt', 'w')\nfile.write('all of it')");
        let result = run(&sandbox, ExecutionRequest::new(script).collecting(["*.txt"])).await;
        let sizes: Vec<_> = result.files.iter().map(|file| file.size).collect();
        assert_eq!(sizes, [9], "{function}: {result:#?}");
    }
    let script = "LOG = []\n\
                  class Thing:\n    \
                  def __del__(self):\n        LOG.append(1)\n        print('finished', len(LOG))\n\
                  one, two = Thing(), [Thing()]\n";
    for end in ["", "raise ValueError", "import sys\nsys.exit(1)"] {
        let result = run(&sandbox, format!("{script}{end}").into()).await;
        assert_eq!(result.stdout, "finished 1\nfinished 2\n", "{end}: {result:#?}");
    }
    // It is a program's last act, and bounded like the rest.
    let slow = "class Slow:\n    def __del__(self):\n        while True: pass\nslow = Slow()";
    let mut config = config();
    config.resource_limits.execution_timeout_sec = 1.0;
    let result = run(&sandbox_with(&runtime, config).await, slow.into()).await;
    assert_eq!(result.verdict, Verdict::TimeoutWall, "{result:#?}");
}

#[tokio::test]
async fn an_alarm_that_nobody_handles_is_deadly() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nsignal.pause()";
    assert_eq!(run(&sandbox, script.into()).await.verdict, Verdict::Signaled { signal: 14 });
    let handled = "import signal\nclass Late(Exception):\n    pass\n\
                   def ring(*_):\n    raise Late\n\
                   signal.signal(signal.SIGALRM, ring)\n\
                   signal.setitimer(signal.ITIMER_REAL, 0.01)\n\
                   try:\n    signal.pause()\nexcept Late:\n    print('late')";
    assert_eq!(run(&sandbox, handled.into()).await.stdout, "late\n");
}

#[tokio::test]
async fn the_source_of_a_script_has_the_lines_of_its_file() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import inspect, sys\n\x0c\nSEPARATOR = '\u{2028}'\ndef f():\n    pass\n\
                  print(inspect.getsource(f), inspect.getsourcelines(f)[1])\n\
                  assert inspect.getsource(sys.modules['__main__']) == open(__file__).read()\n";
    let result = run(&sandbox, ExecutionRequest::new(script).with_name("paged.py")).await;
    assert_eq!(result.stdout, "def f():\n    pass\n 4\n", "{result:#?}");
}

/// Also where the limit on memory counts addresses, without control groups.
#[tokio::test]
async fn two_dozen_threads_fit_into_little_memory() {
    let Some(runtime) = runtime() else { return };
    let mut config = config();
    config.resource_limits.memory_mb = 256;
    let script = "import threading\ngo = threading.Event()\n\
                  threads = [threading.Thread(target=go.wait) for _ in range(24)]\n\
                  for thread in threads:\n    thread.start()\n\
                  go.set()\n\
                  for thread in threads:\n    thread.join()\n\
                  print(len(threads))";
    let result = run(&sandbox_with(&runtime, config).await, script.into()).await;
    assert_eq!(result.stdout, "24\n", "{result:#?}");
}
