//! Everything that can be said, too much of it.

use belljar_runtime::Verdict;

use crate::attack::Attack;

async fn floods(script: &str) {
    let attack = Attack::new().with(|config| config.resource_limits.max_output_bytes = 256 * 1024);
    if let Some(result) = attack.run(script).await {
        assert_eq!(result.verdict, Verdict::Output, "{}", result.error.unwrap_or_default());
        assert_eq!(result.error.unwrap(), "Script output exceeded 262,144 byte limit");
        let kept = result.stdout.len() + result.stderr.len();
        assert!(kept <= 256 * 1024, "{kept} bytes were kept");
    }
}

#[tokio::test]
async fn standard_output() {
    floods("while True: print('x' * 1000)").await;
}

#[tokio::test]
async fn standard_error() {
    floods("import sys\nwhile True: print('x' * 1000, file=sys.stderr)").await;
}

#[tokio::test]
async fn one_endless_line() {
    floods("import sys\nwhile True: sys.stdout.write('x' * 1000)").await;
}

#[tokio::test]
async fn both_pipes_from_many_processes() {
    floods("for _ in range(6): os.fork()\nwhile True: os.write(1, b'x' * 4096); os.write(2, b'x' * 4096)")
        .await;
}

#[tokio::test]
async fn events() {
    floods("while True: emit_intermediate('x', 'x' * 100)").await;
}

#[tokio::test]
async fn log_lines() {
    floods("while True: emit_log('')").await;
}

#[tokio::test]
async fn an_endless_line_on_the_channel() {
    floods("while True: os.write(900, b'x' * 65536)").await;
}

#[tokio::test]
async fn empty_lines_on_the_channel() {
    floods("while True: os.write(900, b'\\n' * 65536)").await;
}

#[tokio::test]
async fn tool_calls_that_nobody_asked_for() {
    floods(
        r#"while True: os.write(900, b'\n{"type":"tool_call","call_id":"1","tool":"x","args":{}}\n' * 100)"#,
    )
    .await;
}

#[tokio::test]
async fn a_result_longer_than_all_output_may_be() {
    let attack = Attack::new().with(|config| config.resource_limits.max_output_bytes = 256 * 1024);
    let Some(result) = attack.run("emit_result('x' * (1 << 20))").await else { return };
    assert_eq!(result.verdict, Verdict::Exception);
    assert!(result.error.unwrap().contains("max_output_bytes"));
}

#[tokio::test]
async fn nesting_without_end() {
    let script = "deep = []\nfor _ in range(200000): deep = [deep]\nemit_result(deep)";
    Attack::new().ends_as(Verdict::Exception, script).await;
}

#[tokio::test]
async fn numbers_without_end() {
    // Python itself refuses to write out integers this long, which keeps a run from being spent on it.
    Attack::new().ends_as(Verdict::Exception, "emit_result(1 << (1 << 24))").await;
}
