use std::time::{Duration, Instant};

use crate::belljar::{belljar, command, finish, run_json};

#[test]
fn an_endless_loop_ends_as_timeout_wall_with_124() {
    for script in
        ["while True: pass", "while True:\n  try:\n    while True: pass\n  except BaseException: pass"]
    {
        let begun = Instant::now();
        let (outcome, result) = run_json(&["--timeout", "1"], script);
        assert_eq!(
            (outcome.code, &result["verdict"]),
            (Some(124), &"timeout_wall".into()),
            "{script}: {outcome:#?}"
        );
        assert!(begun.elapsed() < Duration::from_secs(30), "{script}: it took {:?}", begun.elapsed());
    }
}

#[test]
fn a_fraction_of_a_second_is_a_time_limit_and_people_are_told_how_to_raise_it() {
    let outcome = belljar(&["run", "--timeout", "0.25", "-"], "time.sleep(60)");
    assert_eq!(outcome.code, Some(124), "{outcome:#?}");
    assert!(
        outcome.stderr.contains("error: timeout_wall: Script timed out after 0.25s"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("help: it may take 0.25 s; give it more with --timeout"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn too_much_memory_ends_with_137_where_the_kernel_counts_it() {
    let (outcome, result) = run_json(&["--memory", "64"], "emit_result(len(b'x' * (1 << 30)))");
    assert_eq!(result["success"], false);
    let doctor = belljar(&["doctor", "--json"], "").json();
    let counted = doctor["protections"].as_array().unwrap().iter();
    let counted =
        counted.filter(|row| row["name"] == "cgroup_memory" && row["state"] == "active").count() == 1;
    if counted {
        assert_eq!((outcome.code, &result["verdict"]), (Some(137), &"oom".into()), "{result:#}");
    } else {
        assert!(matches!(outcome.code, Some(1 | 137)), "{outcome:#?}");
    }
}

#[test]
fn a_script_that_dies_failed() {
    for (options, code) in [(&[][..], 3), (&["--mode", "plan"], 1)] {
        let (outcome, result) = run_json(options, "os._exit(3)");
        assert_eq!(
            (outcome.code, &result["verdict"], &result["exit_code"]),
            (Some(code), &"exited".into(), &3.into())
        );
    }
    for (options, code) in [(&[][..], 137), (&["--mode", "plan"], 1)] {
        let (outcome, result) = run_json(options, "os.kill(os.getpid(), 9)");
        assert_eq!((outcome.code, &result["success"]), (Some(code), &false.into()), "{result:#}");
    }
}

#[test]
fn bad_usage_ends_with_2() {
    for arguments in [
        &["run", "--no-such-option"][..],
        &["run", "--json", "--events", "-"],
        &["run", "--mode", "later", "-"],
        &["run", "--engine", "firecracker", "-"],
        &["no-such-command"],
        &[],
    ] {
        let outcome = belljar(arguments, "emit_result(1)");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{arguments:?}: {outcome:#?}");
        assert!(!outcome.stderr.is_empty());
    }
}

#[test]
fn a_machine_on_which_no_cell_can_be_made_ends_doctor_with_3() {
    let mut doctor = command(&["doctor", "--json"]);
    doctor.env("BELLJAR_PYTHON", "/no/such/python");
    let outcome = finish(doctor, "");
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    let report = outcome.json();
    assert_eq!(report["ok"], false);
    let last = report["checks"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["name"], &last["state"]), (&"first run".into(), &"failed".into()));
    assert!(last["detail"].as_str().unwrap().contains("/no/such/python"), "{last}");
}
