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
    // Sixteen, all of which there may be: a fork that is refused would be another end.
    floods("for _ in range(4): os.fork()\nwhile True: os.write(1, b'x' * 4096); os.write(2, b'x' * 4096)")
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
    // Python itself refuses to write out integers this long, which keeps a run from being spent on
    // it.
    Attack::new().ends_as(Verdict::Exception, "emit_result(1 << (1 << 24))").await;
}

/// Sends a result past the harness, whatever it is made of.
const PAST_THE_HARNESS: &str = r#"
import sys
def send(data, kind=b"final_result"):
    here = sys._getframe()
    while not isinstance(here.f_locals.get("request"), dict): here = here.f_back
    frame = b'\n{"type":"%s","seal":"%s","label":"x","data":%s}\n' % (kind, here.f_locals["request"]["seal"].encode(), data)
    while frame: frame = frame[os.write(900, frame):]
"#;

async fn is_taken(script: &str, expected: &str, warning: &str) {
    let Some(result) = Attack::new().run(&format!("{PAST_THE_HARNESS}\n{script}")).await else { return };
    assert_eq!(belljar_testing::data(&result), expected);
    assert!(result.warnings.iter().any(|told| told.contains(warning)), "{:?}", result.warnings);
}

#[tokio::test]
async fn names_without_end_each_of_them_twice() {
    let names = "b','.join(b'\"%d\":1' % (n % 40_000) for n in range(80_000))";
    let script = format!("send(b'[{{' + {names} + b'}}]')");
    let Some(result) = Attack::new().run(&format!("{PAST_THE_HARNESS}\n{script}")).await else { return };
    assert_eq!(belljar_testing::data(&result).matches(':').count(), 40_000);
    assert!(
        belljar_testing::about_the_run(&result.warnings)[0]
            .contains("40000 times a field whose name was there already"),
        "{:?}",
        result.warnings
    );
}

#[tokio::test]
async fn objects_without_end_each_with_a_name_twice() {
    is_taken(
        "send(b'{\"a\":{\"a\":1,\"a\":' + b'{\"b\":1,\"b\":' * 50_000 + b'1' + b'}' * 50_002)",
        "{\"a\":{\"a\":1}}",
        "a field whose name was there already (left out)",
    )
    .await;
}

#[tokio::test]
async fn escapes_without_end() {
    let expected = format!("\"{}\"", "\\ufffd".repeat(150_000));
    is_taken(
        "send(b'\"' + b'\\\\udc00' * 150_000 + b'\"')",
        &expected,
        "150000 times half of a surrogate pair",
    )
    .await;
}

#[tokio::test]
async fn digits_without_end() {
    is_taken(
        "send(b'[' + b'9' * 500_000 + b',1e' + b'9' * 400_000 + b']')",
        "[null,null]",
        "2 times a number",
    )
    .await;
}

#[tokio::test]
async fn warnings_without_end() {
    let script = "for _ in range(5_000): send(b'{\"a\":1e999,\"a\":1}', b'intermediate')\nsend(b'1e999')";
    let Some(result) = Attack::new().run(&format!("{PAST_THE_HARNESS}\n{script}")).await else { return };
    assert_eq!(belljar_testing::data(&result), "null");
    assert_eq!(belljar_testing::about_the_run(&result.warnings).len(), 2, "{:?}", result.warnings);
}

#[tokio::test]
async fn a_child_that_prints_on_and_on_between_two_steps() {
    let Some(runtime) = belljar_testing::runtime() else { return };
    let sandbox = belljar_testing::sandbox_with(&runtime, Attack::new().config).await;
    for talk in ["subprocess.Popen(['yes'])", "subprocess.Popen(['sh', '-c', 'yes >&2'])"] {
        let mut session = sandbox.session().await.unwrap();
        let script = format!("import subprocess\nchild = {talk}\nNone");
        let first = session.step(script.as_str()).await.unwrap();
        assert!(matches!(first.verdict, Verdict::Ok | Verdict::Output), "{:?}", first.error);
        if !session.is_alive() {
            continue;
        }
        // It ends, and in a way that is true.
        let second = tokio::time::timeout(belljar_testing::HANG, session.step("child.kill()")).await;
        let second = second.expect("the step hangs").unwrap();
        assert!(matches!(second.verdict, Verdict::Ok | Verdict::Output), "{:?}", second.error);
    }
}
