//! The fast way for Python is `python FILE`, in everything that a grader sees.

use serde_json::{Value, json};

use super::{answer, world};

/// Programs that would show a difference.
const PROGRAMS: [(&str, &str); 26] = [
    ("", ""),
    ("print('no newline', end='')", ""),
    ("print(math.pi)", ""),
    ("print(json, os, re, time, asyncio, datetime, uuid)", ""),
    ("emit_result(1)", ""),
    ("display(1)", ""),
    ("print(sorted(name for name in globals() if not name.startswith('__')))", ""),
    ("print(__name__, __file__.rsplit('/', 1)[1], __doc__, __package__, __spec__)", ""),
    ("'''a doc'''\nfrom __future__ import annotations\nx: undefined = 1\nprint(__doc__, x)", ""),
    ("import sys\nprint(sys.argv[0].rsplit('/', 1)[1:], sys.argv[1:], sys.stdin.read())", "é\n"),
    ("import sys\nfor line in sys.stdin: print(repr(line))", "a\r\nb\n\nc"),
    ("print(input(), input())", "1\n"),
    (
        "def f(x):\n    return 1 / x\n\ntry:\n    f(0)\nexcept ZeroDivisionError as e:\n    raise ValueError('é') from e",
        "",
    ),
    ("def f(:\n  pass", ""),
    ("x = 1\n  y = 2", ""),
    ("print('before')\nimport sys\nsys.exit('why')", ""),
    ("import sys\nsys.exit(300)", ""),
    ("import os\nos._exit(5)", ""),
    ("import os, sys\nprint('kept', flush=True)\nos.kill(os.getpid(), 9)", ""),
    (
        "import atexit, threading, time\natexit.register(print, 'last')\nthreading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()",
        "",
    ),
    ("import sys\nsys.excepthook = lambda *a: print('hooked', a[0].__name__)\n1 / 0", ""),
    ("class A:\n    def __del__(self): print('gone')\na = A()", ""),
    (
        "if __name__ == '__main__':\n    import pickle\n    class P: pass\n    print(type(pickle.loads(pickle.dumps(P()))))",
        "",
    ),
    (
        "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout)",
        "",
    ),
    (
        "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    with m.Pool(2) as p: print(p.map(f, [1, 2, 3]))",
        "",
    ),
    (
        "import warnings, sys\nwarnings.warn('careful')\nprint(sys.flags.optimize, file=sys.stderr)\nassert False, 'asserted'",
        "",
    ),
];

#[tokio::test]
async fn a_python_program_behaves_as_with_python_itself() {
    let Some(world) = world().await else { return };
    let mut differences = Vec::new();
    for (code, stdin) in PROGRAMS {
        let mut told = Vec::new();
        // A limit that is lower than the sandbox's needs a cell of its own, and a new interpreter.
        for memory in [-1, 900] {
            let body = json!({
                "code": code, "language": "python", "stdin": stdin, "memory_limit_MB": memory, "run_timeout": 20,
            });
            let answer = answer(&world, "/run_code", &body).await;
            told.push(json!([
                answer["status"],
                part(&answer, "return_code"),
                text(&answer, "stdout"),
                text(&answer, "stderr")
            ]));
        }
        if told[0] != told[1] {
            differences.push(format!("{code}\n{}\n{}", told[0], told[1]));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    world.stop().await;
}

fn part<'a>(answer: &'a Value, name: &str) -> &'a Value {
    &answer["run_result"][name]
}

/// What was printed, without the directory that the program is in, which is not the same.
fn text(answer: &Value, name: &str) -> String {
    part(answer, name).as_str().unwrap_or_default().replace("/workspace/box/", "/workspace/")
}

#[tokio::test]
async fn a_time_limit_holds_whatever_a_program_catches() {
    let Some(world) = world().await else { return };
    let stubborn = "print('begun', flush=True)\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass";
    for memory in [-1, 900] {
        let body = json!({"code": stubborn, "run_timeout": 1, "memory_limit_MB": memory});
        let answer = answer(&world, "/run_code", &body).await;
        assert_eq!(answer["status"], "Failed");
        assert_eq!(*part(&answer, "status"), "TimeLimitExceeded", "{answer}");
        assert_eq!(
            (part(&answer, "return_code"), part(&answer, "stdout")),
            (&Value::Null, &json!("begun\n"))
        );
    }
    world.stop().await;
}
