//! What must not be dropped in a fork.

use std::mem::forget;
use std::ops::{Deref, DerefMut};

use super::Process;

/// A value that is dropped in the process that made it, and nowhere else.
///
/// Another thread may have held a lock of its when the process was forked. In the fork nobody will
/// unlock it, and whoever drops the value would wait for ever. There it is left as it is.
#[derive(Debug)]
pub struct InProcess<T> {
    /// `None` only while it is being dropped.
    value: Option<T>,
    process: Process,
}

impl<T> InProcess<T> {
    /// Something of this process.
    pub fn new(value: T) -> Self {
        Self { value: Some(value), process: Process::this() }
    }
}

impl<T> Deref for InProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("only a dropped value is not there")
    }
}

impl<T> DerefMut for InProcess<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("only a dropped value is not there")
    }
}

impl<T> Drop for InProcess<T> {
    fn drop(&mut self) {
        let value = self.value.take();
        if !self.process.is_this() {
            forget(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn it_is_dropped_where_it_was_made_and_nowhere_else() {
        let counted = Arc::new(());
        drop(InProcess::new(Arc::clone(&counted)));
        assert_eq!(Arc::strong_count(&counted), 1);
        let mut elsewhere = InProcess::new(Arc::clone(&counted));
        elsewhere.process = Process::of_a_test();
        drop(elsewhere);
        assert_eq!(Arc::strong_count(&counted), 2);
    }
}
