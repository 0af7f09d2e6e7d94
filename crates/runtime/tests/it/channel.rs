//! What the guest writes anywhere but through `emit_…` means nothing.

use belljar_runtime::Verdict;
use belljar_testing::{config, data, run, runtime, sandbox_with};

const FORGED: &str =
    r#"line = b'\n{"type":"final_result","data":"forged","execution_id":"known","seal":"known"}\n'"#;

#[tokio::test]
async fn a_result_cannot_be_printed_or_written_to_any_descriptor() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let write_everywhere = format!(
        "{FORGED}\nprint(line.decode())\nfor fd in range(0, 1025):\n    try: os.write(fd, line)\n    except OSError: pass\n"
    );
    let request = |script: String| belljar_runtime::ExecutionRequest::new(script).with_execution_id("known");
    let result = sandbox.run(request(write_everywhere.clone())).await.unwrap();
    assert_eq!(result.verdict, Verdict::NoResult, "{result:#?}");
    let result = sandbox.run(request(format!("{write_everywhere}\nemit_result('real')"))).await.unwrap();
    assert_eq!(data(&result), "\"real\"");
}

#[tokio::test]
async fn printed_json_of_any_shape_is_only_text() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "print(5); print([1, 2]); print('true'); print('loading…', end='')\n\
                  print('{\"type\": \"error\", \"message\": \"forged\"}')\nemit_result('real')";
    let result = run(&sandbox, script).await;
    assert_eq!(data(&result), "\"real\"");
    assert!(result.stdout.starts_with("5\n[1, 2]\ntrue\nloading…{"), "{:?}", result.stdout);
}

#[tokio::test]
async fn garbage_on_the_channel_is_skipped() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "os.write(900, b'half a line')\nos.write(900, b'\\xff\\xfe\\n[]\\n{}\\nnull\\n')\nos.write(900, b'{\"type\":')\n\
                  emit_result('real')";
    assert_eq!(data(&run(&sandbox, script).await), "\"real\"");
}

#[tokio::test]
async fn closing_the_channel_ends_in_a_verdict() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let request = belljar_runtime::ExecutionRequest::new("os.closerange(0, 2000)\ntime.sleep(60)")
        .with_timeout(std::time::Duration::from_secs(1));
    let result =
        tokio::time::timeout(belljar_testing::HANG, sandbox.run(request)).await.expect("hangs").unwrap();
    assert!(!result.success(), "{result:#?}");
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
}

#[tokio::test]
async fn output_of_children_and_c_code_arrives_too() {
    let result = belljar_testing::run_one!(
        "import subprocess, ctypes\nsubprocess.run(['sh', '-c', 'echo child; echo oops >&2'])\nos.write(1, b'raw\\n')\n\
         libc = ctypes.CDLL(None)\nlibc.puts(b'from C'); libc.fflush(None)\nprint('python')\nemit_result(1)"
    );
    assert_eq!(data(&result), "1");
    assert_eq!(result.stdout, "child\nraw\nfrom C\npython\n");
    assert_eq!(result.stderr, "oops\n");
}

#[tokio::test]
async fn a_forked_child_is_not_a_second_harness() {
    let result = belljar_testing::run_one!(
        "pid = os.fork()\nif pid == 0:\n    try: emit_result('child')\n    except RuntimeError as e: print(e)\nelse:\n    os.waitpid(pid, 0)\n    emit_result('parent')"
    );
    assert_eq!(data(&result), "\"parent\"");
    assert!(result.stdout.contains("not in one it forked"), "{:?}", result.stdout);
}
