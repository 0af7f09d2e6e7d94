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
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), "7\n"), "{outcome:#?}");
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

#[test]
fn a_piped_shell_ends_with_the_code_of_the_last_step_that_failed() {
    for (steps, code) in [
        ("1 / 0\n1\n", 1),
        ("1 / 0\nimport sys; sys.exit(7)\n2\n", 7),
        ("import sys; sys.exit(7)\n1 / 0\n:quit\n", 1),
        (":nothing\n", 1),
        ("1\n:help\n", 0),
    ] {
        let outcome = belljar(&["shell"], steps);
        assert_eq!(outcome.code, Some(code), "{steps}: {outcome:#?}");
    }
}

#[test]
fn the_last_value_is_underscore_until_somebody_takes_the_name() {
    let outcome = belljar(&["shell"], "6 * 7\nNone\n_ + 1\n_ = 'mine'\n5\n_\ndel _\n_\n");
    assert_eq!(outcome.stdout, "42\n43\n5\n'mine'\n'mine'\n", "{outcome:#?}");
}

#[test]
fn steps_may_await_and_what_one_starts_the_next_can_wait_for() {
    let steps = "async def later(x):\n    await asyncio.sleep(0)\n    return x\n\n\
                 await later(1)\ntask = asyncio.ensure_future(later(2))\nawait task\n";
    let outcome = belljar(&["shell"], steps);
    assert_eq!(outcome.stdout, "1\n2\n", "{outcome:#?}");
}

#[test]
fn commands_are_for_the_shell_and_not_for_python() {
    let outcome =
        belljar(&["shell"], "x = 20\n:vars\n:timeout\n:timeout 0.5\n:reset\n:vars\n:nothing\n:vars x\n");
    assert_eq!(outcome.stdout, "  x  int  20\n", "{outcome:#?}");
    let said: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(said[1], "A step may take 0.5 s.", "{said:#?}");
    assert!(said[2].contains("A new session has begun"), "{said:#?}");
    assert_eq!(said[3], "There are no variables yet.", "{said:#?}");
    assert_eq!(said[4], "error: there is no command :nothing; :help lists them", "{said:#?}");
    assert_eq!(said[5], "error: :vars takes nothing after its name", "{said:#?}");
}

#[test]
fn a_time_limit_holds_from_the_next_step_on_and_keeps_the_variables() {
    let outcome =
        belljar(&["shell"], "x = 20\n:timeout 0.3\nwhile True: pass\n\nx\n:timeout never\n:timeout -1\n");
    assert_eq!(outcome.stdout, "20\n", "{outcome:#?}");
    assert!(
        outcome.stderr.contains("a step may take 0.3 s; give it more with :timeout SECS"),
        "{outcome:#?}"
    );
    assert!(outcome.stderr.contains("\"never\" is no time limit"), "{outcome:#?}");
    assert!(outcome.stderr.contains("up to 86400 s"), "{outcome:#?}");
}

#[test]
fn a_compound_statement_on_one_line_can_have_more_parts() {
    let outcome = belljar(&["shell"], "if 0: 'no'\nelse: print('yes')\n\n'after'\n");
    assert_eq!(outcome.stdout, "yes\n'after'\n", "{outcome:#?}");
}
