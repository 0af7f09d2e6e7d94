//! What there is once in a process, and not in its forks.

use std::sync::OnceLock;

use super::Process;

/// One value for each process. A fork finds none of its parent's and makes its own.
///
/// Nothing is locked while a value is made: a fork could find that locked, and nobody who would
/// unlock it.
pub(crate) struct PerProcess<T> {
    first: OnceLock<Box<Entry<T>>>,
}

struct Entry<T> {
    process: Process,
    value: T,
    /// Made in a fork of that process.
    next: PerProcess<T>,
}

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self { first: OnceLock::new() }
    }

    /// That of this process. If several threads make one at the same time, one of them is kept.
    pub(crate) fn get_or_try_make<E>(&self, mut make: impl FnMut() -> Result<T, E>) -> Result<&T, E> {
        let process = Process::this();
        let mut place = self;
        loop {
            let entry = match place.first.get() {
                Some(entry) => entry,
                None => {
                    let value = make()?;
                    place.first.get_or_init(|| Box::new(Entry { process, value, next: Self::new() }))
                }
            };
            if entry.process == process {
                return Ok(&entry.value);
            }
            place = &entry.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_not_at_all_if_that_fails() {
        let place = PerProcess::new();
        assert_eq!(place.get_or_try_make(|| Err::<u8, _>("no")), Err("no"));
        assert_eq!(place.get_or_try_make(|| Ok::<_, &str>(1)), Ok(&1));
        assert_eq!(place.get_or_try_make(|| Ok::<_, &str>(2)), Ok(&1));
    }

    #[test]
    fn a_fork_makes_its_own() {
        let place = PerProcess::new();
        let another = Process::of_a_test();
        let parents = Entry { process: another, value: 1, next: PerProcess::new() };
        let _ = place.first.set(Box::new(parents));
        assert_eq!(place.get_or_try_make(|| Ok::<_, ()>(2)), Ok(&2));
    }
}
