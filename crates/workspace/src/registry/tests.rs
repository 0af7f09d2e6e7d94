use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use tokio::sync::{Notify, Semaphore};

use super::*;
use crate::BoxFuture;

/// A manager that counts, fails and waits as a test wishes.
struct Manager {
    created: AtomicUsize,
    cleaned: AtomicUsize,
    failures: AtomicUsize,
    /// One permit for each creation.
    gate: Semaphore,
    is_creating: Notify,
    instance: Mutex<Option<String>>,
    /// The instance that there is after the next creation.
    replaced_by: Mutex<Option<String>>,
    panics: AtomicUsize,
}

impl Manager {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            created: AtomicUsize::new(0),
            cleaned: AtomicUsize::new(0),
            failures: AtomicUsize::new(0),
            gate: Semaphore::new(1000),
            is_creating: Notify::new(),
            instance: Mutex::new(None),
            replaced_by: Mutex::new(None),
            panics: AtomicUsize::new(0),
        })
    }

    fn closed() -> Arc<Self> {
        let manager = Self::new();
        manager.gate.forget_permits(1000);
        manager
    }

    fn is_in(self: &Arc<Self>, instance: &str) -> Arc<Self> {
        *self.instance.lock().unwrap() = Some(instance.to_owned());
        Arc::clone(self)
    }

    fn counts(&self) -> (usize, usize) {
        (self.created.load(Ordering::SeqCst), self.cleaned.load(Ordering::SeqCst))
    }
}

/// Takes one off, if there is one.
fn take(count: &AtomicUsize) -> bool {
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

impl WorkspaceManager for Manager {
    fn create_workspace<'a>(
        &'a self,
        _: &'a Context,
        exec_id: &'a str,
        _: WorkspacePolicy,
    ) -> BoxFuture<'a, Result<Workspace, WorkspaceError>> {
        Box::pin(async move {
            let number = self.created.fetch_add(1, Ordering::SeqCst) + 1;
            self.is_creating.notify_one();
            self.gate.acquire().await.unwrap().forget();
            assert!(!take(&self.panics), "a manager of a test panics");
            if take(&self.failures) {
                return Err(WorkspaceError::NotRunning);
            }
            if let Some(instance) = self.replaced_by.lock().unwrap().take() {
                *self.instance.lock().unwrap() = Some(instance);
            }
            Ok(Workspace { id: exec_id.to_owned(), path: format!("/{exec_id}/{number}") })
        })
    }

    fn cleanup<'a>(&'a self, _: &'a Context, _: &'a Workspace) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async {
            self.cleaned.fetch_add(1, Ordering::SeqCst);
            if take(&self.failures) { Err(WorkspaceError::NotRunning) } else { Ok(()) }
        })
    }

    fn instance_id<'a>(&'a self, _: &'a Context) -> BoxFuture<'a, Result<Option<String>, WorkspaceError>> {
        Box::pin(async { Ok(self.instance.lock().unwrap().clone()) })
    }
}

/// The same manager each time, as its users see it.
fn shared(manager: &Arc<Manager>) -> Arc<dyn WorkspaceManager> {
    manager.clone()
}

#[tokio::test]
async fn case_31_the_same_id_has_the_same_workspace() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), Manager::new(), Context::new());
    let first = registry.acquire(&ctx, &shared(&manager), "a/b").await.unwrap();
    assert_eq!(registry.acquire(&ctx, &shared(&manager), "a/b").await.unwrap(), first);
    assert_ne!(registry.acquire(&ctx, &shared(&manager), "a_b").await.unwrap(), first);
    assert_eq!(manager.counts(), (2, 0));
}

#[tokio::test]
async fn case_31_a_failure_is_not_remembered() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), Manager::new(), Context::new());
    manager.failures.store(1, Ordering::SeqCst);
    let failed = registry.acquire(&ctx, &shared(&manager), "a").await.unwrap_err();
    assert!(matches!(failed.original(), WorkspaceError::NotRunning), "{failed}");
    assert!(registry.is_empty());
    registry.acquire(&ctx, &shared(&manager), "a").await.unwrap();
    assert_eq!(manager.counts(), (2, 0));
}

#[tokio::test]
async fn two_managers_never_share_a_workspace() {
    let (registry, ctx) = (WorkspaceRegistry::new(), Context::new());
    let (one, other) = (Manager::new(), Manager::new());
    registry.acquire(&ctx, &shared(&one), "a").await.unwrap();
    registry.acquire(&ctx, &shared(&other), "a").await.unwrap();
    assert_eq!((one.counts(), other.counts(), registry.len()), ((1, 0), (1, 0), 2));
}

#[tokio::test]
async fn case_32_who_began_may_give_up_without_harm_to_the_others() {
    let (registry, manager) = (WorkspaceRegistry::new(), Manager::closed());
    let leader = Context::new();
    let led = tokio::spawn({
        let (registry, manager, leader) = (registry.clone(), shared(&manager), leader.clone());
        async move { registry.acquire(&leader, &manager, "a").await }
    });
    manager.is_creating.notified().await;
    let ctx = Context::new();
    let manager_of_follower = shared(&manager);
    let mut follower = Box::pin(registry.acquire(&ctx, &manager_of_follower, "a"));
    let is_waiting = std::future::poll_fn(|task| Poll::Ready(follower.as_mut().poll(task).is_pending()));
    assert!(is_waiting.await);
    leader.cancel();
    assert!(matches!(led.await.unwrap(), Err(WorkspaceError::Cancelled)));
    manager.gate.add_permits(1);
    assert_eq!(follower.await.unwrap().path, "/a/1");
    assert_eq!(manager.counts(), (1, 0));
}

#[tokio::test]
async fn case_33_who_has_given_up_before_makes_nothing() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), Manager::new(), Context::new());
    ctx.cancel();
    let refused = registry.acquire(&ctx, &shared(&manager), "a").await;
    assert!(matches!(refused, Err(WorkspaceError::Cancelled)));
    assert_eq!(manager.counts(), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_34_a_new_instance_means_one_new_workspace_for_all() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), Manager::new().is_in("one"), Context::new());
    registry.acquire(&ctx, &shared(&manager), "a").await.unwrap();
    let manager = manager.is_in("two");
    let mut tasks = Vec::new();
    for _ in 0..32 {
        let (registry, manager, ctx) = (registry.clone(), shared(&manager), ctx.clone());
        tasks.push(tokio::spawn(async move { registry.acquire(&ctx, &manager, "a").await }));
    }
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap().path, "/a/2");
    }
    assert_eq!(manager.counts(), (2, 0));
}

#[tokio::test]
async fn case_35_an_instance_that_changes_meanwhile_makes_the_workspace_stale() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), Manager::new().is_in("one"), Context::new());
    *manager.replaced_by.lock().unwrap() = Some("two".to_owned());
    let error = registry.acquire(&ctx, &shared(&manager), "a").await.unwrap_err();
    assert!(error.is_worth_a_new_workspace(), "{error}");
    assert_eq!((manager.counts(), registry.len()), ((1, 0), 0));
}

#[tokio::test]
async fn case_36_an_old_handle_cannot_take_the_new_workspace_away() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), Manager::new().is_in("one"), Context::new());
    let old = registry.acquire_handle(&ctx, &shared(&manager), "a").await.unwrap();
    let manager = manager.is_in("two");
    let new = registry.acquire_handle(&ctx, &shared(&manager), "a").await.unwrap();
    assert_eq!((old.instance(), new.instance()), (Some("one"), Some("two")));
    assert!(!registry.invalidate(&old));
    assert!(!registry.release(&ctx, &old).await.unwrap());
    assert!(!WorkspaceRegistry::new().invalidate(&new), "it is another registry's");
    assert!(registry.invalidate(&new) && !registry.invalidate(&new));
    assert_eq!((manager.counts(), registry.len()), ((2, 0), 0));
}

#[tokio::test]
async fn an_instance_without_a_name_or_a_failed_renewal_keeps_what_there_is() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), Manager::new().is_in("one"), Context::new());
    let old = registry.acquire_handle(&ctx, &shared(&manager), "a").await.unwrap();
    let manager = manager.is_in("");
    let error = registry.acquire(&ctx, &shared(&manager), "a").await.unwrap_err();
    assert!(matches!(error, WorkspaceError::NoInstance { .. }));
    let manager = manager.is_in("two");
    manager.failures.store(1, Ordering::SeqCst);
    assert!(registry.acquire(&ctx, &shared(&manager), "a").await.is_err());
    // The old instance may come back, for example after a network was down.
    let manager = manager.is_in("one");
    assert_eq!(&registry.acquire(&ctx, &shared(&manager), "a").await.unwrap(), old.workspace());
}

#[tokio::test]
async fn a_released_workspace_is_removed_and_the_next_is_new() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), Manager::new(), Context::new());
    let handle = registry.acquire_handle(&ctx, &shared(&manager), "a").await.unwrap();
    assert!(registry.release(&ctx, &handle).await.unwrap());
    assert!(!registry.release(&ctx, &handle).await.unwrap());
    assert_eq!(registry.acquire(&ctx, &shared(&manager), "a").await.unwrap().path, "/a/2");
    assert_eq!(manager.counts(), (2, 1));
}

#[tokio::test]
async fn a_workspace_that_cannot_be_removed_is_forgotten_and_that_is_said() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), Manager::new(), Context::new());
    let handle = registry.acquire_handle(&ctx, &shared(&manager), "a").await.unwrap();
    manager.failures.store(1, Ordering::SeqCst);
    assert!(registry.release(&ctx, &handle).await.is_err());
    assert!(registry.is_empty());
}

#[tokio::test]
async fn idle_workspaces_go_and_held_ones_stay() {
    let idle_timeout = Some(Duration::ZERO);
    let registry =
        WorkspaceRegistry::with_options(RegistryOptions { idle_timeout, ..RegistryOptions::default() });
    let (manager, ctx) = (Manager::new(), Context::new());
    let held = registry.acquire_handle(&ctx, &shared(&manager), "held").await.unwrap();
    registry.acquire(&ctx, &shared(&manager), "idle").await.unwrap();
    assert_eq!(registry.evict_idle(&ctx).await.unwrap(), 1);
    assert_eq!((manager.counts(), registry.len()), ((2, 1), 1));
    assert!(registry.invalidate(&held));
    assert_eq!(WorkspaceRegistry::new().evict_idle(&ctx).await.unwrap(), 0);
}

#[tokio::test]
async fn the_oldest_makes_room_unless_all_are_held() {
    let max_workspaces = Some(2);
    let registry =
        WorkspaceRegistry::with_options(RegistryOptions { max_workspaces, ..RegistryOptions::default() });
    let (manager, ctx) = (Manager::new(), Context::new());
    let held = registry.acquire_handle(&ctx, &shared(&manager), "held").await.unwrap();
    registry.acquire(&ctx, &shared(&manager), "old").await.unwrap();
    let third = registry.acquire_handle(&ctx, &shared(&manager), "third").await.unwrap();
    assert_eq!(registry.len(), 2);
    let refused = registry.acquire(&ctx, &shared(&manager), "fourth").await.unwrap_err();
    assert!(matches!(refused, WorkspaceError::TooManyWorkspaces { limit: 2 }), "{refused}");
    registry.acquire(&ctx, &shared(&manager), "held").await.unwrap();
    drop((held, third));
    registry.acquire(&ctx, &shared(&manager), "fourth").await.unwrap();
    assert_eq!(registry.len(), 2);
}

#[tokio::test]
async fn a_manager_that_panics_blocks_nobody() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), Manager::new(), Context::new());
    manager.panics.store(1, Ordering::SeqCst);
    let error = registry.acquire(&ctx, &shared(&manager), "a").await.unwrap_err();
    assert!(matches!(error.original(), WorkspaceError::Abandoned { .. }), "{error}");
    assert_eq!(registry.acquire(&ctx, &shared(&manager), "a").await.unwrap().path, "/a/2");
}

#[test]
fn outside_of_a_runtime_it_says_so() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), shared(&Manager::new()), Context::new());
    let mut acquiring = Box::pin(registry.acquire(&ctx, &manager, "a"));
    let polled = acquiring.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Err(WorkspaceError::NoRuntime))), "{polled:?}");
}

/// The task is dropped at once then, and nobody waits for it for ever.
#[test]
fn a_runtime_that_is_shut_down_blocks_nobody() {
    let (registry, manager, ctx) = (WorkspaceRegistry::new(), shared(&Manager::new()), Context::new());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let handle = runtime.handle().clone();
    drop(runtime);
    let _inside = handle.enter();
    let mut acquiring = Box::pin(registry.acquire(&ctx, &manager, "a"));
    let polled = acquiring.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Err(WorkspaceError::Abandoned { .. }))), "{polled:?}");
    assert!(registry.is_empty());
}

#[tokio::test]
async fn what_nobody_holds_can_be_removed_by_its_id_or_with_all_others() {
    let (registry, ctx) = (WorkspaceRegistry::new(), Context::new());
    let (manager, other) = (Manager::new(), Manager::new());
    for id in ["a", "b", "c"] {
        registry.acquire(&ctx, &shared(&manager), id).await.unwrap();
    }
    registry.acquire(&ctx, &shared(&other), "a").await.unwrap();
    let held = registry.acquire_handle(&ctx, &shared(&manager), "c").await.unwrap();
    assert!(registry.remove(&ctx, &shared(&manager), "a").await.unwrap());
    assert!(!registry.remove(&ctx, &shared(&manager), "a").await.unwrap());
    assert!(!registry.remove(&ctx, &shared(&manager), "c").await.unwrap(), "somebody holds it");
    assert_eq!(registry.clear(&ctx, &shared(&manager)).await.unwrap(), 1);
    assert_eq!((manager.counts(), other.counts(), registry.len()), ((3, 2), (1, 0), 2));
    drop(held);
    assert_eq!(registry.clear(&ctx, &shared(&manager)).await.unwrap(), 1);
}
