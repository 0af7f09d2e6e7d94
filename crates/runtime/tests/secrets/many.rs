//! As many secrets as there may be, and values of several lines.

use belljar_runtime::{Runtime, SandboxConfig, Secret, Secrets};
use belljar_testing::{build, config, data, run, sandbox_with};

use crate::{NAME, granted};

const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj'AgEAAoIBAQC7\n\
    \tq0\"x\\9zUvR4\n\
    -----END PRIVATE KEY-----\n";

/// What of the key must not be seen.
const TELLING: [&str; 4] = ["MIIEvQIBADANB", "AgEAAoIBAQC7", "zUvR4", "q0"];

/// Ways in which a value of several lines is printed.
const SLIPS: [&str; 10] = [
    "print(key)",
    "print(repr(key))",
    "print([key], {'key': key})",
    "print(key.encode())",
    "import json; print(json.dumps({'key': key}))",
    "import json; print(json.dumps({'key': key}, indent=2, ensure_ascii=False))",
    "for line in key.splitlines(): print('  |', line)",
    "import textwrap; print(textwrap.indent(key, '> '))",
    "print(key.split('\\n'))",
    "raise ValueError([key])",
];

#[tokio::test]
async fn a_key_of_several_lines_is_hidden_however_it_is_printed() {
    let Some((_runtime, sandbox)) = granted(KEY).await else { return };
    for script in SLIPS {
        let result =
            run(&sandbox, &format!("key = os.environ['{NAME}']\n{script}\nemit_result(repr(key))")).await;
        let said = format!("{result:?}");
        for part in TELLING {
            assert!(!said.contains(part), "{script}: {part} is in {said}");
        }
        assert!(said.contains("***"), "{script} said nothing, so nothing was tried: {said}");
    }
    // What every key in this format begins with tells nothing, and is not touched.
    let public = run(&sandbox, "print('-----BEGIN PRIVATE KEY-----')\nemit_result(1)").await;
    assert_eq!(public.stdout, "-----BEGIN PRIVATE KEY-----\n");
}

#[tokio::test]
async fn as_many_secrets_as_there_may_be_are_given_and_hidden() {
    const COUNT: usize = 1000;
    let value = |number: usize| format!("{number:04}-{}", "v".repeat(900));
    let secrets: Secrets =
        (0..COUNT).map(|number| (format!("KEY_{number}"), Secret::new(value(number)))).collect();
    let Some(runtime) = build(Runtime::builder().secrets(secrets)) else { return };
    let secrets = (0..COUNT).map(|number| format!("KEY_{number}")).collect();
    let sandbox = sandbox_with(&runtime, SandboxConfig { secrets, ..config() }).await;
    // Programs get them too: all of them are passed to one.
    let script = "import subprocess\n\
        seen = subprocess.run(['env'], capture_output=True, text=True).stdout\n\
        keys = [line for line in seen.splitlines() if line.startswith('KEY_')]\n\
        for key in sorted(keys)[::100]: print(key)\n\
        emit_result([len(keys), len(os.environ['KEY_999'])])";
    let result = run(&sandbox, script).await;
    assert_eq!(data(&result), "[1000,905]");
    assert_eq!(result.stdout.lines().count(), 10);
    assert!(result.stdout.lines().all(|line| line.ends_with("=***")), "{}", result.stdout);
}
