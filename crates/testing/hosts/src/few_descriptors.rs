//! A host that may have few files open, and asks for more cells than fit. It keeps the rest of its
//! descriptors, is told the numbers, and nothing is left of cells that could not be made.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use belljar::{Runtime, SandboxConfig};
use rustix::process::{Resource, Rlimit, setrlimit};

const MAY_HAVE: u64 = 1024;

pub(crate) fn run() {
    let limit = Rlimit { current: Some(MAY_HAVE), maximum: Some(MAY_HAVE) };
    setrlimit(Resource::Nofile, limit).expect("a limit can be lowered");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("tokio starts");
    runtime.block_on(ask_for_too_much());
    assert_eq!(groups(), Vec::<PathBuf>::new(), "control groups are left");
}

async fn ask_for_too_much() {
    let runtime = Runtime::builder().max_overflow(usize::MAX).build().await.expect("the engine opens");
    a_stock_that_does_not_fit(&runtime).await;
    cells_that_do_not_fit(&runtime).await;
    runtime.shutdown().await;
}

async fn a_stock_that_does_not_fit(runtime: &Runtime) {
    let before = open();
    let config = SandboxConfig { pool_size: 10_000, ..SandboxConfig::new("large") };
    let error = runtime.sandbox(config).await.err().expect("the stock does not fit").to_string();
    for part in ["pool_size = 10000", "takes 12 file descriptors", "may have 1024", "ulimit -n"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(open(), before, "something was made");
    let config = SandboxConfig { pool_size: 2, ..SandboxConfig::new("small") };
    let sandbox = runtime.sandbox(config).await.expect("a small stock fits");
    assert!(sandbox.run("emit_result(1)").await.expect("it runs").success());
    sandbox.close().await;
}

async fn cells_that_do_not_fit(runtime: &Runtime) {
    let config = SandboxConfig { pool_size: 0, ..SandboxConfig::new("many") };
    let sandbox = runtime.sandbox(config).await.expect("it is made ready");
    let error = sandbox.warm(usize::MAX).await.expect_err("so many do not fit").to_string();
    let is_text = error.chars().all(|character| !character.is_control() && character != '\u{fffd}');
    assert!(is_text && error.contains("ulimit -n") && error.contains("1024"), "{error}");
    // Each of the others fails or becomes ready. Only then is it known how many there are.
    while sandbox.stats().making > 0 {
        tokio::task::yield_now().await;
    }
    let idle = sandbox.stats().idle;
    assert!(idle > 30, "only {idle} cells fit: {error}");
    let mine: Vec<_> =
        (0..64).map(|_| File::open("/dev/null").expect("the host has descriptors left")).collect();
    assert!(fs::read_dir("/proc/self/fd").is_ok_and(|entries| entries.count() > mine.len()));
    drop(mine);
    // Those that could not be made have no group any more.
    let began = std::time::Instant::now();
    loop {
        let most = groups().iter().map(|group| cells_in(group)).max().unwrap_or(0);
        if most <= idle {
            break;
        }
        assert!(began.elapsed().as_secs() < 20, "{most} groups for {idle} cells");
        tokio::task::yield_now().await;
    }
    // Cells that are there are of use, and others can be made as soon as there is room.
    for number in 0..8 {
        let result = sandbox.run(format!("emit_result({number})")).await.expect("an idle cell is given");
        assert!(result.success(), "{result:#?}");
    }
}

fn open() -> usize {
    fs::read_dir("/proc/self/fd").expect("the host has descriptors left").count()
}

/// This host's own control groups.
fn groups() -> Vec<PathBuf> {
    let mut found = Vec::new();
    search(Path::new("/sys/fs/cgroup"), &format!("belljar-{}-", std::process::id()), &mut found);
    found
}

fn search(directory: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
    for directory in directories_in(directory) {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match name.starts_with(prefix) {
            true => found.push(directory),
            false => search(&directory, prefix, found),
        }
    }
}

fn cells_in(group: &Path) -> usize {
    directories_in(group).len()
}

fn directories_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}
