//! Programs that run to their end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar_testing::{engine, in_time, needs_isolation, only_on, runtime};
use belljar_workspace::{
    Context, RunEnvProvider, RunProgramSpec, WorkspaceEngine, WorkspaceError, env_injecting_engine,
};

use crate::place::{place, place_with, sh};

fn env(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn case_60_variables_and_stdin_reach_a_program() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let spec = RunProgramSpec {
        stdin: b"in".to_vec(),
        env: env(&[("FOO", "bar")]),
        ..sh("cat; echo $FOO; echo e >&2")
    };
    let result = job.run(spec).await;
    assert_eq!((result.stdout_text().as_ref(), result.stderr_text().as_ref()), ("inbar\n", "e\n"));
    assert_eq!((result.exit_code, result.signal, result.timed_out), (0, None, false));
    assert!(result.verdict.is_none() && !result.truncated.is_any() && !result.duration.is_zero());
}

#[tokio::test]
async fn case_61_a_program_is_told_where_things_are() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let script = "pwd; for d in \"$WORKSPACE_DIR\" \"$SKILLS_DIR\" \"$WORK_DIR\" \"$OUTPUT_DIR\" \"$RUN_DIR\"; do cd \"$d\" && pwd -P; touch mark; done";
    let printed = job.does(script).await;
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines.len(), lines[0]), (6, lines[1]), "{printed}");
    let below = |line: &str| line.strip_prefix(lines[1]).unwrap().to_owned();
    assert_eq!(lines[2..5].iter().map(|line| below(line)).collect::<Vec<_>>(), ["/skills", "/work", "/out"]);
    assert!(below(lines[5]).starts_with("/runs/run_"), "{printed}");
    assert_eq!(job.names(&["**/mark"]).await.len(), 5);
    // Each run has its own directory.
    assert_ne!(job.does("echo $RUN_DIR").await, job.does("echo $RUN_DIR").await);
}

#[tokio::test]
async fn case_62_a_callers_variables_count_before_a_providers_and_those_before_the_workspaces() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let own = RunProgramSpec { env: env(&[("OUTPUT_DIR", "/mine")]), ..sh("echo $OUTPUT_DIR") };
    assert_eq!(job.run(own).await.stdout_text(), "/mine\n");
    let provided = env(&[("TOKEN", "provided"), ("MINE", "provided"), ("WORK_DIR", "provided")]);
    let provider: RunEnvProvider = Arc::new(move |_| provided.clone());
    let wrapped = env_injecting_engine(Arc::new(place.workspaces.clone()), Some(provider));
    let spec =
        RunProgramSpec { env: env(&[("MINE", "spec")]), ..sh("echo $TOKEN $MINE $WORK_DIR $OUTPUT_DIR") };
    let result = in_time(wrapped.runner().run_program(&Context::new(), &job.ws, spec)).await.unwrap();
    let printed = result.stdout_text().into_owned();
    assert!(printed.starts_with("provided spec provided /") && printed.ends_with("/out\n"), "{printed}");
}

#[tokio::test]
async fn case_63_a_bare_command_is_looked_for_in_its_own_path_alone() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.put_program("work/custom-bin/hello", "#!/bin/sh\necho found\n").await;
    let hello = |path: &str| RunProgramSpec {
        cwd: "work".to_owned(),
        env: env(&[("PATH", path)]),
        ..RunProgramSpec::new("hello", [""; 0])
    };
    assert_eq!(job.run(hello("custom-bin")).await.stdout_text(), "found\n");
    for path in ["", "/usr/bin:/bin"] {
        assert_eq!(job.run(hello(path)).await.exit_code, -1, "{path}");
    }
    let empty = RunProgramSpec { env: env(&[("PATH", "")]), ..sh("true") };
    assert_eq!(job.run(empty).await.exit_code, -1);
}

#[tokio::test]
async fn case_64_a_program_that_cannot_be_started_is_a_result_that_says_why() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.put("data.txt", "no program").await;
    job.put_program("bad", "#!/no/such/interpreter\n").await;
    for (cmd, why) in [
        ("no-such-command", "command not found"),
        ("/no/such/path", "not found"),
        ("./data.txt", "ermission denied"),
        ("./bad", "is run by is not there"),
        ("./work", "ermission denied"),
    ] {
        let result = job.run(RunProgramSpec::new(cmd, [""; 0])).await;
        assert_eq!(
            (result.exit_code, result.verdict.as_deref()),
            (-1, Some("not_started")),
            "{cmd}: {result:?}"
        );
        assert!(result.stderr_text().contains(cmd) && result.stderr_text().contains(why), "{result:?}");
    }
    // What is no program at all is refused.
    for spec in
        [RunProgramSpec::default(), sh("a\0b"), RunProgramSpec { env: env(&[("A=B", "")]), ..sh("true") }]
    {
        let refused = job.try_run(spec).await;
        assert!(matches!(refused, Err(WorkspaceError::InvalidProgram { .. })), "{refused:?}");
    }
}

/// A script that writes to a file for ever, in a session of its own and not a child of anybody. A
/// plain process has nothing but its group to be known by.
pub(crate) fn heartbeat() -> &'static str {
    match engine() {
        "local" => {
            "(while :; do date +%N > beat; sleep 0.02; done) & while ! test -s beat; do sleep 0.01; done"
        }
        _ => {
            "(setsid sh -c '(while :; do date +%N > beat; sleep 0.02; done) & ' &); \
             while ! test -s beat; do sleep 0.01; done"
        }
    }
}

/// Waits until nobody writes to the heartbeat any more.
pub(crate) async fn assert_stopped(job: &crate::place::Job<'_>) {
    let beat = || std::fs::read(job.dir().join("beat")).unwrap_or_default();
    let mut quiet = 0;
    let stopped = async {
        while quiet < 10 {
            let before = beat();
            tokio::time::sleep(Duration::from_millis(60)).await;
            quiet = if beat() == before { quiet + 1 } else { 0 };
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), stopped).await.is_ok(), "something lives on");
}

#[tokio::test]
async fn case_65_a_program_whose_time_is_over_is_killed_with_all_it_started() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let script =
        format!("echo early; {}; (sleep 100; echo late) & trap '' TERM; sleep 100; echo late", heartbeat());
    let spec = RunProgramSpec { timeout: Some(Duration::from_secs(1)), ..sh(&script) };
    let began = Instant::now();
    let result = job.run(spec).await;
    assert!(result.timed_out && result.exit_code == -1, "{result:?}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert!(result.duration >= Duration::from_millis(900), "{:?}", result.duration);
    assert_eq!(result.stdout_text(), "early\n");
    assert_stopped(&job).await;
}

#[tokio::test]
async fn case_66_a_background_process_holds_up_nobody_and_does_not_survive() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let began = Instant::now();
    let result = job.sh(&format!("{}; sleep 600 & sleep 600 & echo done", heartbeat())).await;
    assert_eq!((result.exit_code, result.stdout_text().as_ref()), (0, "done\n"), "{result:?}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_stopped(&job).await;
}

#[tokio::test]
async fn case_67_and_82_a_clean_program_has_no_variables_of_its_surroundings() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    // A file that a shell would read before anything else.
    job.put("trap.sh", "echo trapped\n").await;
    let clean = RunProgramSpec {
        clean_env: true,
        env: env(&[("MINE", "yes")]),
        ..RunProgramSpec::new("env", [""; 0])
    };
    let printed = job.run(clean).await.stdout_text().into_owned();
    let mut names: Vec<&str> =
        printed.lines().filter_map(|line| line.split_once('=')).map(|pair| pair.0).collect();
    names.sort_unstable();
    let ours = ["MINE", "OUTPUT_DIR", "PATH", "RUN_DIR", "SKILLS_DIR", "WORKSPACE_DIR", "WORK_DIR"];
    assert!(ours.iter().all(|name| names.contains(name)), "{printed}");
    let others: Vec<_> = names.iter().filter(|name| !ours.contains(name)).collect();
    let harmless = ["HOME", "LANG", "TMPDIR"];
    assert!(others.iter().all(|name| harmless.contains(name)), "{others:?}");
    // What the caller names himself counts, in a clean environment too.
    let asked = RunProgramSpec {
        clean_env: true,
        env: env(&[("BASH_ENV", "trap.sh")]),
        ..RunProgramSpec::new("bash", ["-c", "echo ran"])
    };
    let result = job.run(asked).await;
    assert!(result.exit_code == -1 || result.stdout_text() == "trapped\nran\n", "{result:?}");
}

#[tokio::test]
async fn nothing_of_the_hosts_environment_is_seen_in_a_cell() {
    let Some(runtime) = runtime() else { return };
    if needs_isolation("it has the environment of this process") {
        return;
    }
    let place = place(&runtime).await;
    let printed = place.job().await.does("env").await;
    for name in ["CARGO", "NEXTEST", "BELLJAR_TEST"] {
        assert!(!printed.contains(name), "{name}: {printed}");
    }
}

#[tokio::test]
async fn case_68_a_program_runs_below_its_workspace() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let at = |cwd: &str| RunProgramSpec { cwd: cwd.to_owned(), ..sh("pwd -P; echo x > mark") };
    for cwd in ["../etc", "..", "work/../../etc", "/../etc"] {
        let refused = job.try_run(at(cwd)).await;
        assert!(matches!(refused, Err(WorkspaceError::Escapes { .. })), "{cwd}: {refused:?}");
    }
    let root = job.does("pwd -P").await.trim().to_owned();
    for (cwd, below) in [
        ("", ""),
        (".", ""),
        ("/", ""),
        ("work/new/deep", "/work/new/deep"),
        ("/etc", "/etc"),
        ("./a//b/", "/a/b"),
    ] {
        let result = job.run(at(cwd)).await;
        assert_eq!(result.stdout_text().trim(), format!("{root}{below}"), "{cwd}: {result:?}");
        assert!(job.dir().join(below.trim_start_matches('/')).join("mark").is_file(), "{cwd}");
    }
    // Through no link, wherever it leads, and over no file.
    job.does("ln -s /etc escape; ln -s work inside; echo x > file").await;
    for cwd in ["escape", "escape/new", "inside", "file", "file/below"] {
        let result = job.run(at(cwd)).await;
        assert_eq!(
            (result.exit_code, result.verdict.as_deref()),
            (-1, Some("not_started")),
            "{cwd}: {result:?}"
        );
        assert!(result.stderr_text().contains("no directory of the workspace"), "{cwd}: {result:?}");
    }
}

#[tokio::test]
async fn case_89_output_is_bounded_and_the_rest_is_in_a_file() {
    let Some(runtime) = runtime() else { return };
    let place = place_with(&runtime, |options| {
        options.max_output_bytes = 1000;
        options.max_spill_bytes = 100_000;
    })
    .await;
    let job = place.job().await;
    let printed = "import sys, os\nos.write(1, b'%05d' % 7 * 10)\nfor n in range(2000): os.write(1, b'%09d\\n' % n)\n\
                   os.write(2, b'e' * 1000)";
    let result = job.run(RunProgramSpec::new("python3", ["-c", printed])).await;
    let all: String = "00007".repeat(10) + &(0..2000).map(|n| format!("{n:09}\n")).collect::<String>();
    assert!(result.is_success() && result.truncated.stderr.is_none() && result.stderr.len() == 1000);
    assert_eq!(result.stdout, all.as_bytes()[..1000]);
    let cut = result.truncated.stdout.clone().unwrap();
    assert_eq!(cut.total_bytes, all.len() as u64);
    let spill = cut.spill.unwrap();
    assert!(spill.starts_with("runs/run_") && spill.ends_with("/stdout"), "{spill}");
    assert_eq!(job.text(&spill).await.as_deref(), Some(all.as_str()));
    assert_eq!(job.does(&format!("cat {spill}")).await.len(), 1000);
    // The file is bounded, too, and what it has is the beginning.
    let result = job
        .run(RunProgramSpec::new(
            "python3",
            ["-c", "import os\nfor n in range(30_000): os.write(2, b'%09d\\n' % n)"],
        ))
        .await;
    let cut = result.truncated.stderr.clone().unwrap();
    assert_eq!((cut.total_bytes, result.stderr.len()), (300_000, 1000));
    let spilled = job.collect(&[&cut.spill.unwrap()]).await;
    let all: String = (0..30_000).map(|n| format!("{n:09}\n")).collect();
    assert!(spilled[0].size_bytes == 100_000 && spilled[0].content == all.as_bytes()[..100_000]);
}

#[tokio::test]
async fn a_spill_file_that_cannot_be_made_is_not_named() {
    let Some(runtime) = runtime() else { return };
    let place = place_with(&runtime, |options| options.max_output_bytes = 10).await;
    let job = place.job().await;
    let script = "mkdir -p $RUN_DIR/stdout/x; rm -rf $RUN_DIR/stderr; ln -s ../../work/w $RUN_DIR/stderr; \
                  yes | head -c 1000; yes | head -c 1000 >&2";
    let result = job.sh(script).await;
    let (out, err) = (result.truncated.stdout.unwrap(), result.truncated.stderr.unwrap());
    assert_eq!((out.total_bytes, out.spill, err.total_bytes), (1000, None, 1000));
    // The link has been replaced, not followed.
    assert!(!job.dir().join("work/w").exists());
    assert_eq!(job.collect(&[&err.spill.unwrap()]).await[0].size_bytes, 1000);
}

#[tokio::test]
async fn case_90_a_cell_reaches_nobody() {
    let Some(runtime) = runtime() else { return };
    if needs_isolation("a plain process has this machine's network") {
        return;
    }
    let place = place(&runtime).await;
    assert!(!place.workspaces.describe().network_allowed);
    let script = r"
import socket
def tried(what):
    try: return what() and 'made'
    except OSError as error: return 'refused'
print(tried(lambda: socket.create_connection(('1.1.1.1', 53), 2)))
print(tried(lambda: socket.create_connection(('169.254.169.254', 80), 2)))
print(tried(lambda: socket.socket(socket.AF_VSOCK).connect((2, 1)) or True))
one, other = socket.socketpair()
one.send(b'x'); print(other.recv(1))
";
    let printed = place.job().await.py(script).await;
    assert_eq!(printed, "refused\nrefused\nrefused\nb'x'\n");
}

#[tokio::test]
async fn case_91_programs_do_not_queue_and_their_clocks_are_their_own() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    // Each waits for the other: one after the other neither would end.
    let wait =
        |mine: &str, other: &str| sh(&format!("touch {mine}; while ! test -e {other}; do sleep 0.01; done"));
    let (one, other) = tokio::join!(job.run(wait("a", "b")), job.run(wait("b", "a")));
    assert!(one.is_success() && other.is_success(), "{one:?} {other:?}");
}

#[tokio::test]
async fn arguments_reach_a_program_byte_for_byte() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let odd = [
        "",
        " ",
        "a b",
        "$HOME",
        "`id`",
        "';\"",
        "\\",
        "\n",
        "\t",
        "*",
        "-n",
        "--",
        "é",
        "\u{1f600}",
        "\u{7f}\u{1b}[0m",
        "%s",
    ];
    let long = "x".repeat(100_000);
    let script = "import sys, json; print(json.dumps([a if len(a) < 99 else len(a) for a in sys.argv[1:]]))";
    let args = ["-c", script].into_iter().chain(odd).chain([long.as_str()]);
    let result = job.run(RunProgramSpec::new("python3", args)).await;
    let mut expected: Vec<serde_json::Value> = odd.iter().map(|arg| (*arg).into()).collect();
    expected.push(100_000.into());
    assert_eq!(
        serde_json::from_slice::<Vec<serde_json::Value>>(&result.stdout).unwrap(),
        expected,
        "{result:?}"
    );
    let values = RunProgramSpec {
        env: env(&[("ODD", "a\nb='c' é"), ("EMPTY", "")]),
        ..sh("printf %s \"$ODD${EMPTY-unset}\"")
    };
    assert_eq!(job.run(values).await.stdout_text(), "a\nb='c' é");
}

#[tokio::test]
async fn stdin_is_empty_large_or_binary_and_may_go_unread() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    assert_eq!(job.does("cat | wc -c").await.trim(), "0");
    let bytes: Vec<u8> = (0..20 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let stdin = |script: &str| RunProgramSpec { stdin: bytes.clone(), ..sh(script) };
    assert!(job.run(stdin("cat > out/copy")).await.is_success());
    assert!(std::fs::read(job.dir().join("out/copy")).unwrap() == bytes);
    // A program that does not read it ends as if there were none.
    assert_eq!(job.run(stdin("exit 4")).await.exit_code, 4);
    assert_eq!(job.run(stdin("head -c 3 > /dev/null; exec <&-; sleep 0.2; exit 5")).await.exit_code, 5);
}

#[tokio::test]
async fn endings_are_told_apart() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    for (script, exit_code, signal) in [
        ("exit 0", 0, None),
        ("exit 255", 255, None),
        ("kill -KILL $$", 137, Some(9)),
        ("kill -ABRT $$", 134, Some(6)),
        ("kill -TERM $$", 143, Some(15)),
        ("exit 137", 137, None),
        ("(kill -9 $(sh -c 'echo $PPID')); exit 3", 3, None),
    ] {
        let result = job.sh(script).await;
        assert_eq!(
            (result.exit_code, result.signal, result.timed_out),
            (exit_code, signal, false),
            "{script}: {result:?}"
        );
    }
}

#[tokio::test]
async fn binary_output_is_kept_as_it_is() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let script = "import os; os.write(1, bytes(range(256)) * 100); os.write(2, b'\\xff\\x00\\xfe')";
    let result = place.job().await.run(RunProgramSpec::new("python3", ["-c", script])).await;
    let all: Vec<u8> = (0..=255).collect();
    assert!(result.stdout == all.repeat(100) && result.stderr == b"\xff\x00\xfe");
    let json = serde_json::to_string(&result).unwrap();
    assert_eq!(serde_json::from_str::<belljar_workspace::RunResult>(&json).unwrap().stdout, result.stdout);
}

#[tokio::test]
async fn the_local_engine_says_that_it_isolates_nothing() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let said = place.workspaces.describe();
    let expected = match engine() {
        "native" => "cell",
        "docker" => "container",
        _ => "none",
    };
    assert_eq!(said.isolation, expected);
    assert!(said.interactive && said.terminal && said.streaming && said.supports_clean_env);
    let policy = belljar_workspace::WorkspacePolicy { isolated: true, ..Default::default() };
    let made = place.workspaces.manager().create_workspace(&Context::new(), "x", policy).await;
    assert_eq!(made.is_ok(), expected != "none", "{made:?}");
    let _ = only_on("local", "said above");
}
