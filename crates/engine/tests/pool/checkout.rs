//! Who gets which cell, and when: fair, bounded, and empty in the end.

use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use belljar_core::config::SandboxConfig;
use belljar_engine::Blueprint;
use belljar_engine::pool::{CheckoutError, PoolError, PoolOptions, SandboxPool};
use belljar_testing::{HANG, eventually, native, processes_below};

fn blueprint(name: &str, pool_size: usize) -> Blueprint {
    Blueprint::new(SandboxConfig { pool_size, ..SandboxConfig::new(name) })
}

async fn pool(blueprints: Vec<Blueprint>, max_overflow: usize) -> Option<SandboxPool> {
    let pool =
        SandboxPool::new(native().await?, PoolOptions { max_overflow, ..PoolOptions::default() }).unwrap();
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
    let Some(engine) = native().await else { return };
    let pool = SandboxPool::new(engine, PoolOptions::default()).unwrap();
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
    let Some(engine) = native().await else { return };
    let options = PoolOptions { max_overflow: 4, max_idle_memory: 9 << 20, ..PoolOptions::default() };
    let pool = SandboxPool::new(engine, options).unwrap();
    pool.startup(vec![blueprint("large", 50)]).await.unwrap();
    let idle = pool.stats()["large"].idle;
    assert!((1..=9).contains(&idle), "{idle} cells are idle under a ceiling of 9 MiB");
    // Callers get theirs all the same.
    let leases: Vec<_> = [pool.checkout("large").await, pool.checkout("large").await].into_iter().collect();
    assert!(leases.iter().all(Result::is_ok));
}

/// Looks into the pool on whatever thread wakes it, as an executor would that polls there.
struct Looks {
    pool: Arc<SandboxPool>,
    seen: mpsc::Sender<usize>,
}

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        let _ = self.seen.send(self.pool.stats()["a"].leased);
    }
}

#[tokio::test]
async fn a_caller_may_look_into_the_pool_while_it_is_woken() {
    let Some(pool) = pool(vec![blueprint("a", 0)], 1).await else { return };
    let (pool, (seen, looked)) = (Arc::new(pool), mpsc::channel());
    let waker = Waker::from(Arc::new(Looks { pool: Arc::clone(&pool), seen }));
    let mut checkout = std::pin::pin!(pool.checkout("a"));
    assert!(checkout.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(), "there is no stock");
    // Nobody else has the pool's books at that time, so this comes, and tells of the cell.
    assert_eq!(looked.recv_timeout(HANG), Ok(1));
    drop(checkout.await.unwrap());
}
