//! The pool on real cells: fair, bounded, and empty in the end.

use std::sync::Arc;
use std::time::Duration;

use belljar_engine::Blueprint;
use belljar_engine::native::{Native, NativeEngine};
use belljar_engine::pool::{CheckoutError, PoolError, PoolOptions, SandboxPool};
use belljar_runtime::SandboxConfig;

use crate::engine::cache;
use crate::support::{HANG, config, data, eventually, processes_below, run, runtime, sandbox_with};

fn blueprint(name: &str, pool_size: usize) -> Blueprint {
    Blueprint::new(SandboxConfig { pool_size, ..SandboxConfig::new(name) })
}

pub(crate) async fn engine() -> Option<Arc<NativeEngine>> {
    runtime()?;
    Some(Arc::new(Native::new().cache_dir(cache()).open().await.unwrap()))
}

async fn pool(blueprints: Vec<Blueprint>, max_overflow: usize) -> Option<SandboxPool> {
    let pool = SandboxPool::new(engine().await?, PoolOptions { max_overflow, ..PoolOptions::default() });
    pool.startup(blueprints).await.expect("the pool starts");
    Some(pool)
}

#[tokio::test]
async fn startup_fills_every_stock_and_shutdown_empties_all() {
    let Some(pool) = pool(vec![blueprint("a", 2), blueprint("b", 1)], 0).await else { return };
    let stats = pool.stats();
    assert_eq!((stats["a"].idle, stats["b"].idle), (2, 1));
    assert!(!processes_below(std::process::id()).is_empty());
    let mut held = pool.checkout("a").await.unwrap();
    pool.shutdown().await;
    // Also what is leased: its zygote is gone, and it with it.
    let closed = std::future::poll_fn(|cx| held.cell().poll_output(cx));
    assert_eq!(tokio::time::timeout(HANG, closed).await.unwrap(), belljar_engine::Output::Closed);
    drop(held);
    eventually("nothing is left", || processes_below(std::process::id()).is_empty()).await;
}

#[tokio::test]
async fn a_startup_that_fails_keeps_nothing_and_names_the_sandbox() {
    let Some(engine) = engine().await else { return };
    let pool = SandboxPool::new(engine, PoolOptions::default());
    let mut bad = blueprint("bad", 1);
    bad.config.python_version = Some("3.99".parse().unwrap());
    let error = pool.startup(vec![blueprint("good", 1), bad]).await.unwrap_err();
    assert!(matches!(&error, PoolError::Startup { name, .. } if name == "bad"), "{error}");
    assert!(pool.stats().is_empty());
    let unknown = pool.checkout("good").await.err().unwrap();
    assert!(unknown.to_string().contains("`good`"), "{unknown}");
    eventually("nothing is left", || processes_below(std::process::id()).is_empty()).await;
}

#[tokio::test]
async fn an_unknown_name_is_told_the_known_ones() {
    let Some(pool) = pool(vec![blueprint("first", 0), blueprint("second", 0)], 1).await else { return };
    let error = pool.checkout("third").await.err().unwrap().to_string();
    assert!(error.contains("`third`") && error.contains("first, second"), "{error}");
}

#[tokio::test]
async fn more_callers_than_cells_are_all_served() {
    let Some(pool) = pool(vec![blueprint("a", 4)], 4).await else { return };
    let pool = Arc::new(pool);
    let callers: Vec<_> = (0..32)
        .map(|_| {
            let pool = Arc::clone(&pool);
            tokio::spawn(async move {
                for _ in 0..5 {
                    let lease = pool.checkout("a").await.unwrap();
                    tokio::task::yield_now().await;
                    drop(lease);
                }
            })
        })
        .collect();
    for caller in callers {
        tokio::time::timeout(HANG, caller).await.expect("a caller starves").unwrap();
    }
    let stats = pool.stats()["a"].clone();
    assert_eq!((stats.leased, stats.waiting), (0, 0), "{stats:?}");
    assert_eq!(stats.warm + stats.waited, 160);
}

#[tokio::test]
async fn callers_are_served_in_the_order_they_came() {
    let Some(pool) = pool(vec![blueprint("a", 1)], 0).await else { return };
    let pool = Arc::new(pool);
    let first = pool.checkout("a").await.unwrap();
    let (order, mut served) = tokio::sync::mpsc::unbounded_channel();
    let mut callers = Vec::new();
    for number in 0..5 {
        let (pool, order) = (Arc::clone(&pool), order.clone());
        let before = pool.stats()["a"].waiting;
        let shared = Arc::clone(&pool);
        callers.push(tokio::spawn(async move {
            let _lease = shared.checkout("a").await.unwrap();
            order.send(number).unwrap();
        }));
        eventually("the caller is in line", || pool.stats()["a"].waiting > before).await;
    }
    drop(first);
    for expected in 0..5 {
        assert_eq!(
            tokio::time::timeout(HANG, served.recv()).await.expect("somebody starves"),
            Some(expected)
        );
    }
}

#[tokio::test]
async fn a_caller_who_gives_up_leaves_the_place_to_the_next_and_leaks_nothing() {
    let Some(pool) = pool(vec![blueprint("a", 0)], 1).await else { return };
    let pool = Arc::new(pool);
    let held = pool.checkout("a").await.unwrap();
    let impatient = pool.checkout_within("a", Duration::from_millis(20)).await;
    assert!(matches!(
        impatient,
        Err(PoolError::Checkout(CheckoutError::TimedOut { in_use: 1, capacity: 1, .. }))
    ));
    assert_eq!(pool.stats()["a"].waiting, 0);
    let shared = Arc::clone(&pool);
    let patient = tokio::spawn(async move { shared.checkout("a").await.map(drop) });
    eventually("the next is in line", || pool.stats()["a"].waiting == 1).await;
    drop(held);
    tokio::time::timeout(HANG, patient).await.expect("the next starves").unwrap().unwrap();
    // Given up while the cell is being made for them: it is kept for whoever comes next.
    for _ in 0..20 {
        let _ = tokio::time::timeout(Duration::from_micros(50), pool.checkout("a")).await;
    }
    eventually("every slot is free or idle", || {
        let stats = pool.stats()["a"].clone();
        stats.leased == 0 && stats.making == 0 && stats.waiting == 0
    })
    .await;
    drop(pool.checkout_within("a", HANG).await.unwrap());
}

#[tokio::test]
async fn idle_cells_hold_no_more_memory_than_they_may() {
    let Some(engine) = engine().await else { return };
    let options = PoolOptions { max_overflow: 4, max_idle_memory: 9 << 20, ..PoolOptions::default() };
    let pool = SandboxPool::new(engine, options);
    pool.startup(vec![blueprint("large", 50)]).await.unwrap();
    let idle = pool.stats()["large"].idle;
    assert!((1..=9).contains(&idle), "{idle} cells are idle under a ceiling of 9 MiB");
    // Callers get theirs all the same.
    let leases: Vec<_> = [pool.checkout("large").await, pool.checkout("large").await].into_iter().collect();
    assert!(leases.iter().all(Result::is_ok));
}

#[tokio::test]
async fn a_burst_larger_than_the_stock_is_served_by_making_cells() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, SandboxConfig { pool_size: 2, ..config() }).await;
    let runs: Vec<_> = (0..20)
        .map(|number| {
            let sandbox = sandbox.clone();
            tokio::spawn(async move { run(&sandbox, &format!("emit_result({number})")).await })
        })
        .collect();
    for (number, result) in runs.into_iter().enumerate() {
        assert_eq!(data(&result.await.unwrap()), number.to_string());
    }
}

#[tokio::test]
async fn many_runs_leave_no_descriptor_process_or_control_group() {
    if !crate::engine::only_on("native", "what containers leave behind is counted in tests/docker") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let processes = || processes_below(std::process::id()).len();
    run(&sandbox, "emit_result(1)").await;
    eventually("the first cell is gone", || processes() == 2).await;
    let before = descriptors();
    for number in 0..200 {
        assert_eq!(data(&run(&sandbox, &format!("emit_result({number})")).await), number.to_string());
    }
    eventually("helper and zygote are all that is left", || processes() == 2).await;
    eventually("every descriptor is closed", || descriptors() <= before).await;
    let own = format!("belljar-{}-", std::process::id());
    drop(sandbox);
    runtime.shutdown().await;
    // The engine's own group, in which those of the cells were, goes with the engine.
    drop(runtime);
    for controller in ["memory", "pids", "cpu", "cpuacct"] {
        let left = find_directories(std::path::Path::new("/sys/fs/cgroup").join(controller).as_path(), &own);
        assert_eq!(left, Vec::<String>::new(), "control groups are left");
    }
}

pub(crate) fn find_directories(root: &std::path::Path, prefix: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(entry.path().display().to_string());
        }
        found.extend(find_directories(&entry.path(), prefix));
    }
    found
}
