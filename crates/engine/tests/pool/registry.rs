//! Templates by what they are: each prepared once, shared, kept warm for a while, and gone when
//! their time is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use belljar_core::config::SandboxConfig;
use belljar_engine::Progress;
use belljar_engine::native::NativeEngine;
use belljar_engine::pool::{CheckoutError, OpenError, PoolError, PoolOptions, SandboxPool, TemplateHold};
use belljar_engine::{Blueprint, BoxFuture, Capabilities, Engine, EngineError, Template};
use belljar_testing::{HANG, eventually, native, processes_below};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The native engine, with a gate before each preparation and an eye on how many there are.
struct Watched {
    engine: Arc<NativeEngine>,
    gate: Semaphore,
    begun: AtomicUsize,
    dropped: AtomicUsize,
}

impl Watched {
    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

impl Engine for Watched {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn describe(&self) -> String {
        self.engine.describe()
    }

    fn capabilities(&self) -> &Capabilities {
        self.engine.capabilities()
    }

    fn prepare<'a>(
        &'a self,
        blueprint: &'a Blueprint,
        progress: &'a mut (dyn FnMut(Progress) + Send),
    ) -> BoxFuture<'a, Result<Arc<dyn Template>, EngineError>> {
        struct Unfinished<'a>(Option<&'a AtomicUsize>);
        impl Drop for Unfinished<'_> {
            fn drop(&mut self) {
                self.0.map(|dropped| dropped.fetch_add(1, Ordering::SeqCst));
            }
        }
        Box::pin(async move {
            self.begun.fetch_add(1, Ordering::SeqCst);
            let mut unfinished = Unfinished(Some(&self.dropped));
            let _passed = self.gate.acquire().await.unwrap();
            assert_ne!(blueprint.config.name, "hopeless", "an engine with a bug");
            progress(Progress::Line("through the gate".into()));
            let prepared = self.engine.prepare(blueprint, progress).await;
            unfinished.0 = None;
            prepared
        })
    }

    fn kept_owner(&self) -> Option<u32> {
        None
    }

    fn settle(&self) -> BoxFuture<'_, ()> {
        self.engine.settle()
    }
}

/// A pool on such an engine, with its gate open or closed.
async fn watched(options: PoolOptions, permits: usize) -> Option<(Arc<Watched>, Arc<SandboxPool>)> {
    let engine = Arc::new(Watched {
        engine: native().await?,
        gate: Semaphore::new(permits),
        begun: AtomicUsize::new(0),
        dropped: AtomicUsize::new(0),
    });
    let pool = Arc::new(SandboxPool::new(Arc::clone(&engine) as Arc<dyn Engine>, options).unwrap());
    Some((engine, pool))
}

const OPEN: usize = 1;
const CLOSED: usize = 0;

fn blueprint(name: &str) -> Blueprint {
    Blueprint::new(SandboxConfig { pool_size: 0, ..SandboxConfig::new(name) })
}

fn impossible() -> Blueprint {
    let mut blueprint = blueprint("impossible");
    blueprint.config.python_version = Some("3.99".parse().unwrap());
    blueprint
}

type Opening = JoinHandle<Result<TemplateHold, OpenError>>;

/// So many callers at once, each of whom has asked when this comes back.
async fn openings(pool: &Arc<SandboxPool>, blueprint: &Blueprint, count: usize) -> Vec<Opening> {
    let begun = Arc::new(AtomicUsize::new(0));
    let openings = (0..count)
        .map(|_| {
            let (pool, blueprint, begun) = (Arc::clone(pool), blueprint.clone(), Arc::clone(&begun));
            tokio::spawn(async move {
                // Tests have one thread: what follows up to the first wait is done before anybody
                // sees the count.
                begun.fetch_add(1, Ordering::SeqCst);
                pool.open(blueprint, &mut |_| {}).await
            })
        })
        .collect();
    eventually("all have asked", || begun.load(Ordering::SeqCst) == count).await;
    openings
}

async fn opened(opening: Opening) -> Result<TemplateHold, OpenError> {
    tokio::time::timeout(HANG, opening).await.expect("an open hangs").unwrap()
}

async fn open(pool: &SandboxPool, name: &str) -> TemplateHold {
    tokio::time::timeout(HANG, pool.open(blueprint(name), &mut |_| {})).await.expect("an open hangs").unwrap()
}

fn names(pool: &SandboxPool) -> Vec<String> {
    let mut names: Vec<String> = pool.templates().into_iter().map(|template| template.name).collect();
    names.sort();
    names
}

fn processes() -> usize {
    processes_below(std::process::id()).len()
}

#[tokio::test]
async fn eight_concurrent_opens_of_one_config_prepare_once() {
    let Some((engine, pool)) = watched(PoolOptions::default(), CLOSED).await else { return };
    let openings = openings(&pool, &blueprint("a"), 8).await;
    assert_eq!((engine.begun(), pool.templates().len()), (1, 1));
    engine.gate.add_permits(1);
    let mut holds = Vec::new();
    for opening in openings {
        holds.push(opened(opening).await.unwrap());
    }
    assert_eq!((engine.begun(), pool.templates().len()), (1, 1));
    // Each is a hold of its own: one that is closed takes nothing from the others.
    holds.pop().unwrap().close().await;
    for hold in &holds {
        drop(hold.checkout().await.unwrap());
    }
    pool.shutdown().await;
    assert_eq!(processes(), 0);
}

#[tokio::test]
async fn concurrent_opens_share_the_error_and_the_next_one_tries_again() {
    let Some((engine, pool)) = watched(PoolOptions::default(), CLOSED).await else { return };
    let openings = openings(&pool, &impossible(), 8).await;
    engine.gate.add_permits(1);
    for opening in openings {
        let error = opened(opening).await.unwrap_err();
        assert!(matches!(&error, OpenError::Prepare(_)) && error.to_string().contains("3.99"), "{error}");
    }
    assert_eq!((engine.begun(), pool.templates().len()), (1, 0));
    assert!(pool.open(impossible(), &mut |_| {}).await.is_err());
    assert_eq!(engine.begun(), 2);
}

#[tokio::test]
async fn an_engine_that_panics_leaves_nobody_waiting_and_nothing_on_the_books() {
    let Some((engine, pool)) = watched(PoolOptions::default(), CLOSED).await else { return };
    let openings = openings(&pool, &blueprint("hopeless"), 2).await;
    engine.gate.add_permits(1);
    for opening in openings {
        let told =
            tokio::time::timeout(HANG, opening).await.expect("an open hangs").unwrap_err().into_panic();
        let told = told.downcast_ref::<String>().unwrap();
        assert_eq!(told, "the engine panicked while it prepared sandbox `hopeless`");
    }
    assert_eq!((engine.begun(), pool.templates().len()), (1, 0));
    drop(open(&pool, "a").await.checkout().await.unwrap());
    tokio::time::timeout(HANG, pool.shutdown()).await.expect("shutdown hangs");
}

#[tokio::test]
async fn all_who_wait_hear_of_the_progress() {
    let Some((engine, pool)) = watched(PoolOptions::default(), CLOSED).await else { return };
    let listen = || {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move {
            let mut heard = Vec::new();
            pool.open(blueprint("a"), &mut |step| heard.push(step)).await.unwrap();
            heard
        })
    };
    let listeners = [listen(), listen()];
    eventually("it is begun", || engine.begun() == 1).await;
    engine.gate.add_permits(1);
    for listener in listeners {
        assert_eq!(listener.await.unwrap(), [Progress::Line("through the gate".into())]);
    }
}

#[tokio::test]
async fn a_preparation_goes_on_when_the_one_who_began_it_gives_up() {
    let Some((engine, pool)) = watched(PoolOptions::default(), CLOSED).await else { return };
    let mut openings = openings(&pool, &blueprint("a"), 2).await;
    let first = openings.remove(0);
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    engine.gate.add_permits(1);
    drop(opened(openings.remove(0)).await.unwrap().checkout().await.unwrap());
    assert_eq!((engine.begun(), engine.dropped.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test]
async fn a_preparation_that_nobody_waits_for_is_dropped() {
    let Some((engine, pool)) = watched(PoolOptions::default(), CLOSED).await else { return };
    for opening in openings(&pool, &blueprint("a"), 2).await {
        opening.abort();
    }
    eventually("it is dropped", || engine.dropped.load(Ordering::SeqCst) == 1).await;
    assert_eq!(names(&pool), Vec::<String>::new());
    engine.gate.add_permits(1);
    open(&pool, "a").await;
    assert_eq!(engine.begun(), 2);
}

#[tokio::test]
async fn shutdown_stops_what_is_being_prepared_and_tells_those_who_wait() {
    let Some((engine, pool)) = watched(PoolOptions::default(), CLOSED).await else { return };
    let openings = openings(&pool, &blueprint("a"), 2).await;
    tokio::time::timeout(HANG, pool.shutdown()).await.expect("shutdown hangs");
    assert_eq!(engine.dropped.load(Ordering::SeqCst), 1);
    for opening in openings {
        assert!(matches!(opened(opening).await, Err(OpenError::ShutDown)));
    }
    assert!(matches!(pool.open(blueprint("b"), &mut |_| {}).await, Err(OpenError::ShutDown)));
    assert_eq!((engine.begun(), processes()), (1, 0));
}

#[tokio::test]
async fn a_template_that_nobody_holds_is_kept_warm_and_shared() {
    let Some((engine, pool)) = watched(PoolOptions::default(), OPEN).await else { return };
    drop(open(&pool, "a").await);
    assert!(!pool.templates()[0].is_held);
    drop(open(&pool, "a").await.checkout().await.unwrap());
    assert_eq!(engine.begun(), 1);
}

#[tokio::test]
async fn a_template_that_nobody_holds_ends_when_its_time_is_over() {
    let options = PoolOptions { keep_warm: Duration::from_millis(50), ..PoolOptions::default() };
    let Some((engine, pool)) = watched(options, OPEN).await else { return };
    let held = open(&pool, "held").await;
    drop(open(&pool, "a").await);
    eventually("its time is over", || names(&pool) == ["held"]).await;
    // Helper and zygote of the other one.
    eventually("its processes are gone", || processes() == 2).await;
    // A lease is as good as a hold.
    let lease = held.checkout().await.unwrap();
    drop((held, open(&pool, "b").await));
    eventually("the time of the other is over", || names(&pool) == ["held"]).await;
    drop(lease);
    eventually("nothing is left", || processes() == 0).await;
    assert_eq!(engine.begun(), 3);
}

#[tokio::test]
async fn the_least_recently_used_template_makes_room_for_another() {
    let options = PoolOptions { max_templates: 3, ..PoolOptions::default() };
    let Some((_, pool)) = watched(options, OPEN).await else { return };
    let held = open(&pool, "held").await;
    let (a, b) = (open(&pool, "a").await, open(&pool, "b").await);
    drop(b);
    drop(a);
    // The one that goes is gone before the other is there.
    drop(open(&pool, "c").await);
    assert_eq!((names(&pool), processes()), (vec!["a".into(), "c".into(), "held".into()], 6));
    drop(open(&pool, "a").await);
    drop(open(&pool, "d").await);
    assert_eq!((names(&pool), processes()), (vec!["a".into(), "d".into(), "held".into()], 6));
    drop(held.checkout().await.unwrap());
}

#[tokio::test]
async fn more_templates_than_the_maximum_are_opened_while_all_are_held_and_go_when_let_go_of() {
    let options = PoolOptions { max_templates: 1, ..PoolOptions::default() };
    let Some((_, pool)) = watched(options, OPEN).await else { return };
    let held = [open(&pool, "a").await, open(&pool, "b").await, open(&pool, "c").await];
    assert_eq!(names(&pool), ["a", "b", "c"]);
    let [a, b, c] = held;
    drop((a, b));
    assert_eq!(names(&pool), ["c"]);
    eventually("their processes are gone", || processes() == 2).await;
    drop(c);
    assert_eq!(names(&pool), ["c"], "the last one is kept warm");
}

#[tokio::test]
async fn a_name_is_a_label_for_what_was_started_under_it_last() {
    let Some((engine, pool)) =
        watched(PoolOptions { keep_warm: Duration::ZERO, ..PoolOptions::default() }, OPEN).await
    else {
        return;
    };
    pool.startup(vec![blueprint("a")]).await.unwrap();
    let first = pool.checkout("a").await.unwrap();
    let mut other = blueprint("a");
    other.config.scratch_size_mb = 32;
    pool.startup(vec![other]).await.unwrap();
    let second = pool.checkout("a").await.unwrap();
    assert_eq!((names(&pool), engine.begun()), (vec!["a".into(), "a".into()], 2));
    assert_ne!(first.hold().key(), second.hold().key());
    assert!(first.begin().is_ok(), "a cell that is checked out goes on");
    drop(first);
    eventually("what nobody holds is gone", || pool.templates().len() == 1).await;
    assert!(second.begin().is_ok());
    pool.shutdown().await;
    assert_eq!(processes(), 0);
    assert!(second.begin().is_err());
    let told = pool.checkout("a").await.err().unwrap();
    assert!(matches!(told, PoolError::Checkout(CheckoutError::ShutDown { .. })), "{told}");
}
