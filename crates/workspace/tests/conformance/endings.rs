//! Many at once, giving up, and what is left.

use std::time::Duration;

use belljar_testing::{HANG, engine, eventually, in_time, processes_below, runtime};
use belljar_workspace::{
    Context, InteractiveProgramRunner, InteractiveProgramSpec, RunProgramSpec, WorkspaceEngine,
    WorkspaceError, WorkspacePolicy,
};

use crate::place::{listing, place, sh};
use crate::programs::{assert_stopped, heartbeat};

#[tokio::test]
async fn fifty_programs_run_in_one_workspace_at_once() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let mut programs = tokio::task::JoinSet::new();
    for number in 0..50 {
        let (runner, ws) = (place.workspaces.runner(), job.ws.clone());
        programs.spawn(async move {
            let spec =
                sh(&format!("echo {number}; echo {number} > out/{number}; echo {number} > $RUN_DIR/mark"));
            let result = runner.run_program(&Context::new(), &ws, spec).await.unwrap();
            assert_eq!(result.stdout_text().trim(), number.to_string(), "{result:?}");
        });
    }
    let ran = tokio::time::timeout(HANG, async {
        while let Some(one) = programs.join_next().await {
            one.unwrap()
        }
    });
    ran.await.expect("they hang");
    assert_eq!(job.names(&["out/*"]).await.len(), 50);
    assert_eq!(job.names(&["runs/*/mark"]).await.len(), 50);
}

#[tokio::test]
async fn many_workspaces_are_worked_in_at_once_and_none_sees_another() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let mut workers = tokio::task::JoinSet::new();
    for number in 0..20 {
        let workspaces = place.workspaces.clone();
        workers.spawn(async move {
            let (ctx, policy) = (Context::new(), WorkspacePolicy::default());
            let ws = workspaces.manager().create_workspace(&ctx, "same", policy).await.unwrap();
            let run = |script: String| {
                let (runner, ws) = (workspaces.runner(), ws.clone());
                async move { runner.run_program(&Context::new(), &ws, sh(&script)).await.unwrap() }
            };
            run(format!("echo {number} > mine")).await;
            let seen = run("cat mine; ls | wc -l".to_owned()).await;
            assert_eq!(
                seen.stdout_text().split_whitespace().collect::<Vec<_>>(),
                [number.to_string().as_str(), "6"]
            );
            workspaces.manager().cleanup(&ctx, &ws).await.unwrap();
        });
    }
    in_time(async {
        while let Some(one) = workers.join_next().await {
            one.unwrap()
        }
    })
    .await;
    assert_eq!(listing(place.workspaces.store().path()), [""; 0]);
}

#[tokio::test]
async fn a_program_whose_caller_gives_up_is_killed() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    for how in ["drop", "cancel", "deadline"] {
        let job = place.job().await;
        let (runner, ws) = (place.workspaces.runner(), job.ws.clone());
        let ctx = match how {
            "deadline" => Context::new().with_timeout(Duration::from_secs(3)),
            _ => Context::new(),
        };
        let spec = sh(&format!("{}; sleep 600", heartbeat()));
        let in_call = ctx.clone();
        let call = tokio::spawn(async move { runner.run_program(&in_call, &ws, spec).await });
        if how != "deadline" {
            eventually("it beats", || job.dir().join("beat").exists()).await;
        }
        match how {
            "drop" => call.abort(),
            "cancel" => ctx.cancel(),
            _ => {}
        }
        match (how, in_time(call).await) {
            ("drop", Err(aborted)) => assert!(aborted.is_cancelled()),
            ("cancel", Ok(Err(WorkspaceError::Cancelled))) => {}
            ("deadline", Ok(Err(WorkspaceError::DeadlineExceeded))) => {}
            (how, other) => panic!("{how}: {other:?}"),
        }
        assert_stopped(&job).await;
        in_time(job.cleanup()).await.unwrap();
    }
    // Nothing is begun in a context that has ended.
    let (job, ctx) = (place.job().await, Context::new());
    ctx.cancel();
    let refused = job.try_run_in(&ctx, sh("touch ran")).await;
    assert!(matches!(refused, Err(WorkspaceError::Cancelled)), "{refused:?}");
    assert_eq!(job.names(&["ran"]).await, [""; 0]);
}

/// Threads of workspaces in this process.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let ours = ["belljar-files", "belljar-idle", "belljar-disk", "belljar-ws"];
    names.map(|name| name.trim().to_owned()).filter(|name| ours.contains(&name.as_str())).collect()
}

#[tokio::test]
async fn nothing_is_left_of_programs_and_sessions() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let policy = WorkspacePolicy { max_disk_bytes: 64 << 20, ..WorkspacePolicy::default() };
    let job = place.job_with(policy).await;
    job.does("true").await;
    let before = processes_below(std::process::id()).len();
    let session = job.start(sh("exit 0")).await;
    in_time(session.wait()).await;
    // Also while the session is still held.
    eventually("no thread is left", || threads().is_empty()).await;
    for _ in 0..5 {
        job.does("sleep 600 & true").await;
        drop(job.start(sh("sleep 600")).await);
    }
    let spec = RunProgramSpec { timeout: Some(Duration::from_millis(100)), ..sh("sleep 600") };
    assert!(job.run(spec).await.timed_out);
    eventually("no thread is left", || threads().is_empty()).await;
    if engine() != "docker" {
        eventually("no process is left", || processes_below(std::process::id()).len() <= before).await;
    }
    let name = job.dir().file_name().unwrap().to_str().unwrap();
    let beside = [format!(".in-use-{name}"), format!(".policy-{name}.json"), name.to_owned()];
    assert_eq!(listing(place.workspaces.store().path()), beside);
    assert_eq!(listing(job.dir()), ["metadata.json", "out", "runs", "skills", "work"]);
    job.cleanup().await.unwrap();
    assert_eq!(listing(place.workspaces.store().path()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_is_shut_down_ends_programs_and_sessions() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let session = job.start(sh(&format!("{}; echo ready; sleep 600", heartbeat()))).await;
    let idle = job.start(sh("cat")).await;
    let (runner, ws) = (place.workspaces.runner(), job.ws.clone());
    let call =
        tokio::spawn(
            async move { runner.run_program(&Context::new(), &ws, sh("touch began; sleep 600")).await },
        );
    eventually("both run", || job.dir().join("began").exists() && job.dir().join("beat").exists()).await;
    in_time(runtime.shutdown()).await;
    let ended = in_time(call).await.unwrap();
    assert!(ended.is_err(), "{ended:?}");
    for session in [session, idle] {
        let result = in_time(session.wait()).await;
        assert_eq!(result.exit_code, -1, "{result:?}");
        assert!(session.state().is_exited());
        assert!(matches!(session.write(b"x", true).await, Err(WorkspaceError::NotRunning)));
        in_time(session.kill(Duration::from_secs(60))).await.unwrap();
    }
    assert_stopped(&job).await;
    assert!(job.try_run(sh("true")).await.is_err());
    // The files are there, and so is the way to remove them.
    assert_eq!(job.names(&["began"]).await, ["began"]);
    job.cleanup().await.unwrap();
}

#[tokio::test]
async fn a_workspace_is_removed_while_a_program_works_in_it() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let script = "touch began; while :; do mkdir -p a/b/c d 2>/dev/null; echo x > a/b/f; mv a d/ 2>/dev/null; rm -rf d; done";
    let runner: std::sync::Arc<dyn InteractiveProgramRunner> =
        place.workspaces.runner().interactive().unwrap();
    let spec = InteractiveProgramSpec { program: sh(script), ..Default::default() };
    let session = runner.start_program(&Context::new(), &job.ws, spec).await.unwrap();
    eventually("it has begun", || job.dir().join("began").exists()).await;
    job.cleanup().await.unwrap();
    assert!(!job.dir().exists());
    in_time(session.kill(Duration::ZERO)).await.unwrap();
    assert_eq!(listing(place.workspaces.store().path()), [""; 0]);
}
