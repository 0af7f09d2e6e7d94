//! Workspaces: a program in one, files out of it and into it, a fork, making and removing one.
//!
//! Removing comes last: where many files were just removed, ext4 takes several times as long to
//! make one, and no row is to pay for another.

use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

use belljar::Runtime;
use belljar::workspace::{
    Context, OpenWorkspace, RunProgramSpec, WorkspaceEngine, WorkspacePolicy, Workspaces, WorkspacesOptions,
};

use super::report::Report;
use crate::error::CliError;

/// How many small files a workspace usually has.
const FEW: usize = 100;
/// How many are collected.
const FILES: usize = 10_000;
/// How large the file is that is copied.
const LARGE: u64 = 1 << 30;

pub(super) async fn measure(runtime: &Runtime, count: usize, report: &mut Report) -> Result<(), CliError> {
    let home = std::env::temp_dir().join(format!("belljar-bench-{}", std::process::id()));
    let measured = measure_in(runtime, count, &home, report).await;
    let removed = std::fs::remove_dir_all(&home);
    measured.map_err(CliError::from)?;
    removed.map_err(|source| CliError::System { action: "remove the measured workspaces", source })
}

async fn measure_in(
    runtime: &Runtime,
    count: usize,
    home: &std::path::Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    let workspaces = Workspaces::open(runtime, WorkspacesOptions::new(home.join("store"))).await?;
    let workspace = workspaces.workspace("bench").await?;
    let nothing = || RunProgramSpec::new("/bin/true", Vec::<String>::new());
    workspace.run(nothing()).await?;
    let mut times = Vec::new();
    for _ in 0..count {
        let begun = Instant::now();
        let ended = workspace.run(nothing()).await?;
        times.push(begun.elapsed());
        anyhow::ensure!(ended.exit_code == 0, "/bin/true ended with {}", ended.exit_code);
    }
    report.add("/bin/true in a workspace, start to end", times);
    bubblewrap(count, report);
    fill(&workspace, FEW).await?;
    let mut times = Vec::new();
    for number in 0..count.min(50) {
        let begun = Instant::now();
        workspace.fork(&format!("bench-few-{number}")).await?;
        times.push(begun.elapsed());
    }
    report.add(format!("fork of {FEW} files"), times);
    fill(&workspace, FILES).await?;
    let mut begun = Instant::now();
    let collected = workspace.collect(&["out/many/*".to_owned()]).await?.len();
    let rate = |count: f64, begun: Instant| count / begun.elapsed().as_secs_f64();
    report.add_rate("collecting small files", rate(collected as f64, begun), "files/s");
    begun = Instant::now();
    workspace.fork("bench-twin").await?;
    report.add_rate(format!("fork of {FILES} files"), begun.elapsed().as_secs_f64() * 1e3, "ms");
    let large = home.join("large");
    {
        use io::Write as _;
        let mut file = std::fs::File::create(&large)?;
        let piece = vec![7u8; 1 << 20];
        for _ in 0..LARGE >> 20 {
            file.write_all(&piece)?;
        }
    }
    begun = Instant::now();
    workspace.put_from(&large, "work/large").await?;
    report.add_rate("a file of 1 GiB in", rate(LARGE as f64 / 1e9, begun), "GB/s");
    begun = Instant::now();
    workspace.read_into("work/large", &mut io::sink()).await?;
    report.add_rate("a file of 1 GiB out", rate(LARGE as f64 / 1e9, begun), "GB/s");
    let (ctx, manager) = (Context::new(), workspaces.manager());
    let mut times = Vec::new();
    for number in 0..count {
        let begun = Instant::now();
        let made =
            manager.create_workspace(&ctx, &format!("bench-{number}"), WorkspacePolicy::default()).await?;
        manager.cleanup(&ctx, &made).await?;
        times.push(begun.elapsed());
    }
    report.add("workspace, made and removed", times);
    Ok(())
}

/// Has a program make so many small files.
async fn fill(workspace: &OpenWorkspace, files: usize) -> anyhow::Result<()> {
    let fill = format!(
        "mkdir -p out/many; i=0; while [ $i -lt {files} ]; do echo $i > out/many/$i; i=$((i+1)); done; sync"
    );
    let filled = workspace.run(RunProgramSpec::new("sh", ["-c", &fill])).await?;
    anyhow::ensure!(filled.exit_code == 0, "files could not be made: {}", filled.stderr_text());
    Ok(())
}

/// The same program in another sandbox, if it is there.
fn bubblewrap(count: usize, report: &mut Report) {
    let args = ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true"];
    let mut times = Vec::new();
    for _ in 0..count.min(200) {
        let begun = Instant::now();
        let ended = Command::new("bwrap").args(args).stdin(Stdio::null()).stderr(Stdio::null()).status();
        if !ended.is_ok_and(|ended| ended.success()) {
            report.skipped.push("/bin/true in bubblewrap: it is not installed, or may not be used".into());
            return;
        }
        times.push(begun.elapsed());
    }
    report.add("/bin/true in bubblewrap", times);
}
