//! Taking turns at a record. Only callers in this process take turns.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

use crate::{Context, WorkspaceError};

type Turn = tokio::sync::Mutex<()>;

/// One lock for each workspace in use.
fn turns() -> MutexGuard<'static, HashMap<PathBuf, Weak<Turn>>> {
    static TURNS: LazyLock<Mutex<HashMap<PathBuf, Weak<Turn>>>> = LazyLock::new(Mutex::default);
    // A panic cannot leave it half changed.
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to change the record of a workspace, until it is dropped.
#[derive(Debug)]
pub struct MetadataGuard {
    turn: Option<OwnedMutexGuard<()>>,
    key: PathBuf,
}

/// Waits for the right to change the record of a workspace. Callers that name the same directory
/// take turns; which name they use does not matter, unless there are links on the way. Fails if the
/// context ends first, or has ended.
pub async fn lock_metadata(ctx: &Context, root: &Path) -> Result<MetadataGuard, WorkspaceError> {
    ctx.check()?;
    let key = key(root)?;
    let turn = {
        let mut turns = turns();
        let known = turns.get(&key).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let turn = Arc::new(Turn::default());
            turns.insert(key.clone(), Arc::downgrade(&turn));
            turn
        })
    };
    // Made before it waits, so that a caller that gives up cleans up too.
    let mut guard = MetadataGuard { turn: None, key };
    guard.turn = Some(ctx.run(turn.lock_owned()).await?);
    Ok(guard)
}

/// Does something while nobody else changes the record of a workspace. It is not begun if the
/// context ends before its turn comes.
pub async fn with_metadata_lock<T, W>(
    ctx: &Context,
    root: &Path,
    work: impl FnOnce() -> W,
) -> Result<T, WorkspaceError>
where
    W: Future<Output = Result<T, WorkspaceError>>,
{
    let _guard = lock_metadata(ctx, root).await?;
    work().await
}

impl Drop for MetadataGuard {
    fn drop(&mut self) {
        drop(self.turn.take());
        let mut turns = turns();
        if turns.get(&self.key).is_some_and(|turn| turn.strong_count() == 0) {
            turns.remove(&self.key);
        }
    }
}

/// The absolute path without `.` and `..`. An empty one stands for itself.
fn key(root: &Path) -> Result<PathBuf, WorkspaceError> {
    if root.as_os_str().to_string_lossy().trim().is_empty() {
        return Ok(PathBuf::new());
    }
    let absolute = std::path::absolute(root).map_err(WorkspaceError::io("find", root))?;
    let mut key = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => {
                key.pop();
            }
            other => key.push(other),
        }
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn case_28_who_cannot_wait_does_not_get_a_turn() {
        let root = Path::new("/tmp/case-28");
        let ctx = Context::new();
        let held = lock_metadata(&ctx, root).await.unwrap();
        let hasty = Context::new().with_timeout(Duration::from_millis(1));
        let work = || async { unreachable!("it is not its turn") };
        let refused = with_metadata_lock::<(), _>(&hasty, &root.join("x/.."), work).await;
        assert!(matches!(refused, Err(WorkspaceError::DeadlineExceeded)), "{refused:?}");
        drop(held);
        assert_eq!(with_metadata_lock(&ctx, root, async || Ok(7)).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_cancelled_caller_is_refused_at_once() {
        let ctx = Context::new();
        ctx.cancel();
        let refused = lock_metadata(&ctx, Path::new("/tmp/cancelled")).await;
        assert!(matches!(refused, Err(WorkspaceError::Cancelled)));
    }

    #[tokio::test]
    async fn blank_roots_share_a_turn_and_other_roots_do_not() {
        let ctx = Context::new();
        let _blank = lock_metadata(&ctx, Path::new("")).await.unwrap();
        let hasty = Context::new().with_timeout(Duration::from_millis(1));
        assert!(lock_metadata(&hasty, Path::new("  ")).await.is_err());
        assert!(lock_metadata(&ctx, Path::new("/tmp/another")).await.is_ok());
    }

    #[tokio::test]
    async fn locks_are_forgotten_when_nobody_uses_them() {
        let root = Path::new("/tmp/forgotten");
        let held = lock_metadata(&Context::new(), root).await.unwrap();
        let hasty = Context::new().with_timeout(Duration::from_millis(1));
        assert!(lock_metadata(&hasty, root).await.is_err());
        assert!(turns().contains_key(root), "a caller that gave up took the lock along");
        drop(held);
        assert!(!turns().contains_key(root));
    }
}
