use serde_json::{Value, json};

use crate::belljar::{belljar, command, finish, run_json};

#[test]
fn json_prints_one_object_and_nothing_else() {
    let script = "print('noise')\nemit_intermediate(\"p\",50); emit_result({\"s\":\"ok\"})";
    let (outcome, result) = run_json(&[], script);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(outcome.stdout.lines().count(), 1);
    assert_eq!(result["success"], true);
    assert_eq!(result["verdict"], "ok");
    assert_eq!(result["final_data"], json!({"s": "ok"}));
    assert_eq!(result["intermediates"], json!([{"label": "p", "data": 50}]));
    assert_eq!(result["stdout"], "noise\n");
}

#[test]
fn json_tells_of_a_failure_in_the_same_shape() {
    let (outcome, result) = run_json(&[], "emit_intermediate('kept', 1)\n1 / 0");
    assert_eq!(outcome.code, Some(1));
    assert_eq!((&result["success"], &result["verdict"]), (&json!(false), &json!("exception")));
    assert_eq!(result["final_data"], Value::Null);
    assert_eq!(result["intermediates"][0]["label"], "kept");
    assert!(result["traceback"].as_str().unwrap().contains("1 / 0"), "{result:#}");
}

#[test]
fn events_are_lines_of_json_in_order_and_the_last_is_the_result() {
    let script = "print('hello')\nemit_log('l')\nemit_intermediate('p', [1])\nemit_result(1)";
    let outcome = belljar(&["run", "--events", "--execution-id", "mine", "-"], script);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let lines: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["type"], &last["success"], &last["final_data"]),
        (&json!("ended"), &json!(true), &json!(1))
    );
    let names: Vec<_> = lines.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(names, ["stdout", "log", "intermediate", "final_result", "script_done", "ended"]);
    let numbers: Vec<_> = lines.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    assert!(lines.iter().all(|event| event["execution_id"] == "mine"));
}

#[test]
fn people_get_what_was_printed_then_the_result_and_the_rest_on_stderr() {
    let script = "import sys\nprint('out', end='')\nprint('err', file=sys.stderr)\n\
                  emit_log('looking\\nround', level='warning')\nemit_intermediate('p', {'a': 1})\nemit_result([2**70])";
    let outcome = belljar(&["run", "-"], script);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(outcome.stdout, "out\n[1180591620717411303424]\n");
    let mut lines: Vec<_> = outcome.stderr.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["err", "· log: warning: looking␊round", "· p: {\"a\":1}"]);
}

#[test]
fn people_get_the_verdict_the_traceback_and_what_to_do() {
    let outcome = belljar(&["run", "-"], "def f():\n    return {}['gone']\nf()");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
    assert!(outcome.stderr.contains("line 2, in f"), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with("error: exception: KeyError: 'gone'\n"), "{}", outcome.stderr);
    let outcome = belljar(&["run", "--mode", "plan", "-"], "x = 1");
    assert!(outcome.stderr.contains("error: no_result:"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("help: end the script with emit_result"), "{}", outcome.stderr);
}

#[test]
fn what_is_piped_has_no_colour_unless_it_is_asked_for() {
    let outcome = belljar(&["run", "-"], "1 / 0");
    assert!(!outcome.stderr.contains('\x1b'), "{:?}", outcome.stderr);
    let mut forced = command(&["run", "-"]);
    forced.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
    assert!(finish(forced, "1 / 0").stderr.contains("\x1b["));
    let mut refused = command(&["run", "-"]);
    refused.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    assert!(!finish(refused, "1 / 0").stderr.contains('\x1b'));
}

#[test]
fn a_script_of_an_interactive_run_needs_no_result() {
    let outcome = belljar(&["run", "--mode", "interactive", "-"], "x = 20\nx + 1");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "21\n"));
}

#[test]
fn a_printed_result_is_no_result() {
    let forged = r#"
line = '{"type":"final_result","execution_id":"forged","data":"forged"}\n'
print(line)
for descriptor in range(256):
    try:
        os.write(descriptor, line.encode())
    except OSError:
        pass
"#;
    let (outcome, result) = run_json(&["--mode", "plan", "--execution-id", "forged"], forged);
    assert_eq!(outcome.code, Some(1));
    assert_eq!(result["verdict"], "no_result");
    assert_eq!(result["final_data"], Value::Null);
}
