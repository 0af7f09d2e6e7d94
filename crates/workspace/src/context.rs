//! What one call brings along: a deadline, a way to cancel it, and values for the layers below.
//!
//! ```
//! use belljar_workspace::Context;
//! use std::time::Duration;
//!
//! struct Token(&'static str);
//!
//! let ctx = Context::new().with_timeout(Duration::from_secs(5)).with(Token("of the caller"));
//! assert_eq!(ctx.get::<Token>().map(|token| token.0), Some("of the caller"));
//!
//! let part = ctx.child();
//! part.cancel();
//! assert!(part.is_cancelled() && !ctx.is_cancelled());
//! ```

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::WorkspaceError;

/// Deadline, cancellation and values of one call. A clone is cheap and is the same context:
/// cancelling one cancels the other.
#[derive(Clone, Default)]
pub struct Context {
    deadline: Option<Instant>,
    cancellation: CancellationToken,
    values: Option<Arc<Entry>>,
}

/// A value, and those that were added before it.
struct Entry {
    kind: TypeId,
    value: Arc<dyn Any + Send + Sync>,
    earlier: Option<Arc<Entry>>,
}

impl Context {
    /// A context without a deadline and without values. Only its owner can cancel it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same context with a deadline, unless it has an earlier one.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        self
    }

    /// The same context with a deadline that far from now, unless it has an earlier one.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        // A time so far away that no clock can say it is none.
        match Instant::now().checked_add(timeout) {
            Some(deadline) => self.with_deadline(deadline),
            None => self,
        }
    }

    /// The same context with a value, which replaces one of the same type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        let earlier = self.values.take();
        self.values = Some(Arc::new(Entry { kind: TypeId::of::<T>(), value: Arc::new(value), earlier }));
        self
    }

    /// A context that ends with this one, and can also be cancelled for itself.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { cancellation: self.cancellation.child_token(), ..self.clone() }
    }

    /// A context with the same values that does not end with this one, and has no deadline.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self { deadline: None, cancellation: CancellationToken::new(), values: self.values.clone() }
    }

    /// The value of that type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let mut next = self.values.as_ref();
        while let Some(entry) = next {
            if entry.kind == TypeId::of::<T>() {
                return Arc::clone(&entry.value).downcast().ok();
            }
            next = entry.earlier.as_ref();
        }
        None
    }

    /// When it ends by itself.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How long until [its deadline](Self::deadline). Nothing is left after it.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Cancels this context, its clones and its children.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Whether somebody has cancelled it. [`Context::check`] also asks about the deadline.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Waits until somebody cancels it. [`Context::ended`] also waits for the deadline.
    pub async fn cancelled(&self) {
        self.cancellation.cancelled().await;
    }

    /// Waits until it is cancelled or its deadline passes, and says which. Needs tokio's timer if
    /// there is a deadline.
    pub async fn ended(&self) -> WorkspaceError {
        if let Err(error) = self.check() {
            return error;
        }
        let Some(deadline) = self.deadline else {
            self.cancelled().await;
            return WorkspaceError::Cancelled;
        };
        tokio::select! {
            () = self.cancelled() => WorkspaceError::Cancelled,
            () = tokio::time::sleep_until(deadline.into()) => WorkspaceError::DeadlineExceeded,
        }
    }

    /// Fails if it was cancelled, or its deadline has passed.
    pub fn check(&self) -> Result<(), WorkspaceError> {
        if self.is_cancelled() {
            return Err(WorkspaceError::Cancelled);
        }
        match self.deadline {
            Some(deadline) if deadline <= Instant::now() => Err(WorkspaceError::DeadlineExceeded),
            _ => Ok(()),
        }
    }

    /// Waits for something, at most as long as this context lives. What is given up is dropped.
    /// Nothing is begun if the context has ended.
    pub async fn run<T>(&self, what: impl Future<Output = T>) -> Result<T, WorkspaceError> {
        self.check()?;
        tokio::select! {
            biased;
            done = what => Ok(done),
            ended = self.ended() => Err(ended),
        }
    }
}

impl fmt::Debug for Context {
    /// Not the values: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("deadline", &self.deadline)
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_value_of_a_type_counts() {
        let first = Context::new().with(1_u8).with("text");
        let second = first.clone().with(2_u8);
        assert_eq!((first.get::<u8>().as_deref(), second.get::<u8>().as_deref()), (Some(&1), Some(&2)));
        assert_eq!(second.get::<&str>().as_deref(), Some(&"text"));
        assert_eq!(second.get::<u16>(), None);
    }

    #[test]
    fn a_deadline_is_only_ever_brought_forward() {
        let ctx = Context::new().with_timeout(Duration::ZERO).with_timeout(Duration::from_secs(3600));
        assert_eq!(ctx.remaining(), Some(Duration::ZERO));
        assert!(matches!(ctx.check(), Err(WorkspaceError::DeadlineExceeded)));
        assert_eq!(Context::new().with_timeout(Duration::MAX).deadline(), None);
    }

    #[tokio::test]
    async fn a_detached_context_keeps_values_and_outlives_its_origin() {
        let ctx = Context::new().with(7_u8).with_timeout(Duration::ZERO);
        let detached = ctx.detached();
        ctx.cancel();
        assert!(detached.check().is_ok());
        assert_eq!(detached.get::<u8>().as_deref(), Some(&7));
        assert!(matches!(ctx.ended().await, WorkspaceError::Cancelled));
    }

    #[tokio::test]
    async fn what_takes_longer_than_its_context_is_given_up() {
        let ctx = Context::new().with_timeout(Duration::from_millis(1));
        let waited = ctx.run(std::future::pending::<()>()).await;
        assert!(matches!(waited, Err(WorkspaceError::DeadlineExceeded)));

        let cancelled = Context::new();
        let child = cancelled.child();
        cancelled.cancel();
        let begun = child.run(async { unreachable!("it has ended before") }).await;
        assert!(matches!(begun, Err::<(), _>(WorkspaceError::Cancelled)));
    }
}
