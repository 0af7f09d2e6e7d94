use crate::belljar::belljar;

#[test]
fn shell_keeps_state_across_steps() {
    let outcome = belljar(&["shell"], "x = 20\ndef f(n):\n    return n + x\n\nf(22)\n'no prompt'\n");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "42\n'no prompt'\n"), "{outcome:#?}");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn shell_goes_on_after_an_error_and_shows_its_traceback() {
    let outcome = belljar(&["shell"], "x = 7\n1 / 0\nx\n");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "7\n"), "{outcome:#?}");
    assert!(
        outcome.stderr.contains("1 / 0") && outcome.stderr.contains("ZeroDivisionError"),
        "{}",
        outcome.stderr
    );
    assert_eq!(belljar(&["shell"], "x = 7\n1 / 0\n").code, Some(1));
}

#[test]
fn shell_runs_what_is_left_at_the_end_of_input() {
    let outcome = belljar(&["shell"], "for i in range(3):\n    print(i)");
    assert_eq!(outcome.stdout, "0\n1\n2\n", "{outcome:#?}");
}

#[test]
fn shell_ends_at_quit() {
    for quit in [":quit", "exit", "exit()", "quit()"] {
        let outcome = belljar(&["shell"], format!("1\n{quit}\n2\n"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "1\n"), "{quit}: {outcome:#?}");
    }
}

#[test]
fn shell_says_so_when_a_step_took_the_session_with_it() {
    let outcome = belljar(&["shell"], "x = 1\nos._exit(3)\n'x' in globals()\n");
    assert_eq!(outcome.stdout, "False\n", "{outcome:#?}");
    assert!(outcome.stderr.contains("exited with 3"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("a new one has begun"), "{}", outcome.stderr);
}

#[test]
fn two_shells_share_nothing() {
    belljar(&["shell"], "x = 1\nopen('/workspace/left', 'w').close()\n");
    let outcome = belljar(&["shell"], "'x' in globals(), os.listdir('/workspace')\n");
    assert_eq!(outcome.stdout, "(False, [])\n", "{outcome:#?}");
}
