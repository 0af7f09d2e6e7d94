//! Limits of programs and of workspaces: enforced, or refused.

use belljar_testing::{engine, runtime};
use belljar_workspace::{
    PutFile, ResourceLimits, RunProgramSpec, WorkspaceEngine, WorkspaceError, WorkspacePolicy,
};

use crate::place::{Job, place, place_with};

async fn limited(
    job: &Job<'_>,
    limits: ResourceLimits,
    script: &str,
) -> Result<belljar_workspace::RunResult, WorkspaceError> {
    job.try_run(RunProgramSpec { limits, ..RunProgramSpec::new("python3", ["-c", script]) }).await
}

#[tokio::test]
async fn case_98_limits_of_a_program_are_enforced_or_refused() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let can = place.workspaces.describe().limits;
    assert!(engine() != "local" || !(can.memory_mb || can.max_pids || can.cpu_percent), "{can:?}");
    let usual = ResourceLimits::default();
    let refused = |tried: &Result<_, WorkspaceError>| matches!(tried, Err(WorkspaceError::Limit { .. }));

    let script = "x = bytearray(300 << 20); x[::4096] = bytes(len(x[::4096])); print('lived')";
    let tried = limited(&job, ResourceLimits { memory_mb: 64, ..usual }, script).await;
    match can.memory_mb {
        true => {
            let result = tried.unwrap();
            assert!(!result.is_success() && result.stdout.is_empty(), "{result:?}");
            assert_eq!(result.verdict.as_deref(), Some("oom"));
        }
        false => assert!(refused(&tried), "{tried:?}"),
    }

    let script = r"
import os, time
made = 0
try:
    for _ in range(60):
        if os.fork() == 0: time.sleep(600)
        made += 1
except OSError as error: print('refused')
print(made)";
    let tried = limited(&job, ResourceLimits { max_pids: 12, ..usual }, script).await;
    match can.max_pids {
        true => {
            let printed = tried.unwrap().stdout_text().into_owned();
            let (refused, made) = printed.split_once('\n').expect("it is refused");
            // A container has one of ours in it, which does not count.
            assert!(refused == "refused" && made.trim().parse::<u32>().unwrap() <= 12, "{printed}");
        }
        false => assert!(refused(&tried), "{tried:?}"),
    }

    let script = "import time\nbegan = time.monotonic()\nwhile time.monotonic() - began < 2: pass\nprint(time.process_time())";
    let tried = limited(&job, ResourceLimits { cpu_percent: 20, ..usual }, script).await;
    match can.cpu_percent {
        true => {
            let result = tried.unwrap();
            let spent: f64 = result.stdout_text().trim().parse().unwrap_or_else(|_| panic!("{result:?}"));
            assert!(spent < 1.2, "{spent} seconds of 2");
        }
        false => assert!(refused(&tried), "{tried:?}"),
    }
}

#[tokio::test]
async fn case_98_a_program_adds_no_more_to_the_disk_than_it_may() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.put("there", vec![1; 3 << 20]).await;
    let limits = ResourceLimits { disk_mb: 8, ..ResourceLimits::default() };
    let fits = "open('work/fits', 'wb').write(b'x' * (4 << 20)); print('done')";
    assert_eq!(limited(&job, limits, fits).await.unwrap().stdout_text(), "done\n");
    let one_file =
        "f = open('work/big', 'wb', 0)\nfor _ in range(300): f.write(b'x' * (1 << 20))\nprint('done')";
    let result = limited(&job, limits, one_file).await.unwrap();
    assert!(!result.is_success() && result.stdout.is_empty(), "{result:?}");
    let size = std::fs::metadata(job.dir().join("work/big")).unwrap().len();
    assert!(size <= 8 << 20, "{size}");
    // Many files, and in places that are closed to everybody.
    let many = r"
import os, time
for n in range(300):
    os.mkdir(f'work/{n}')
    with open(f'work/{n}/f', 'wb') as f: f.write(b'x' * (1 << 20))
    os.chmod(f'work/{n}', 0)
    time.sleep(0.02)
print('done')";
    let result = limited(&job, limits, many).await.unwrap();
    assert!(!result.is_success() && result.stdout.is_empty(), "{result:?}");
    assert_eq!(result.verdict.as_deref(), Some("disk"), "{result:?}");
}

#[tokio::test]
async fn a_workspace_holds_no_more_than_its_policy_says() {
    let Some(runtime) = runtime() else { return };
    let place = place_with(&runtime, |options| options.max_disk_bytes = 64 << 20).await;
    let policy = WorkspacePolicy { max_disk_bytes: 4 << 20, ..WorkspacePolicy::default() };
    let job = place.job_with(policy).await;
    let full = |tried: &Result<(), WorkspaceError>| matches!(tried, Err(WorkspaceError::DiskFull { .. }));
    job.put("fits", vec![1; 1 << 20]).await;
    let tried = job.try_put(vec![PutFile::new("big", vec![1; 4 << 20])]).await;
    assert!(full(&tried), "{tried:?}");
    let source = place.outside("source");
    std::fs::write(source.join("big"), vec![1; 4 << 20]).unwrap();
    let tried = job.stage(&source, "dst").await;
    assert!(full(&tried), "{tried:?}");
    assert_eq!(job.names(&["**"]).await, ["fits", "metadata.json"]);
    // A program may have written more before anybody looked. Then nothing more is written in it.
    let result = job
        .sh("for n in 1 2 3 4 5 6 7 8; do head -c 3000000 /dev/zero > f$n; sleep 0.3; done; sleep 600")
        .await;
    assert_eq!(result.verdict.as_deref(), Some("disk"), "{result:?}");
    let tried = job.try_put(vec![PutFile::new("small", "x")]).await;
    assert!(full(&tried), "{tried:?}");
    let result = job.sh("echo more > more").await;
    assert!(!result.is_success(), "{result:?}");
    // But room can be made.
    let result = job.sh("rm f?").await;
    assert!(result.is_success(), "{result:?}");
    job.put("small", "x").await;
    job.cleanup().await.unwrap();
    // The engine's own limit is for everybody.
    let greedy = WorkspacePolicy { max_disk_bytes: 1 << 40, ..WorkspacePolicy::default() };
    let job = place.job_with(greedy).await;
    let tried = job.try_put(vec![PutFile::new("big", vec![1; 65 << 20])]).await;
    assert!(full(&tried), "{tried:?}");
}

/// Another process may make a workspace anew, with less room. Here it is another engine on the same
/// directory.
#[tokio::test]
async fn a_policy_that_somebody_else_changes_counts_at_once() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job_with(WorkspacePolicy { persist: true, ..WorkspacePolicy::default() }).await;
    job.put("big", vec![1; 4 << 20]).await;
    let store = place.workspaces.store().path().to_owned();
    let elsewhere = place_with(&runtime, |options| options.store = store).await;
    elsewhere.workspaces.remove("job").await.unwrap();
    let policy = WorkspacePolicy { max_disk_bytes: 2 << 20, ..WorkspacePolicy::default() };
    elsewhere.workspaces.workspace_with("job", policy).await.unwrap();
    let tried = job.try_put(vec![PutFile::new("big", vec![1; 4 << 20])]).await;
    assert!(matches!(tried, Err(WorkspaceError::DiskFull { .. })), "{tried:?}");
    let result = job.sh("head -c 4000000 /dev/zero > big").await;
    assert!(!result.is_success(), "{result:?}");
}

#[tokio::test]
async fn a_program_does_not_hide_what_it_writes_in_the_depth() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let policy = WorkspacePolicy { max_disk_bytes: 4 << 20, ..WorkspacePolicy::default() };
    let job = place.job_with(policy).await;
    let script = r"
import os, time
for _ in range(90):
    os.mkdir('d'); os.chdir('d')
for n in range(200):
    open(str(n), 'wb').write(b'x' * (1 << 20)); time.sleep(0.1)
print('done')";
    let result = job.run(RunProgramSpec::new("python3", ["-c", script])).await;
    assert!(!result.is_success() && result.stdout.is_empty(), "{result:?}");
    job.cleanup().await.unwrap();
}
