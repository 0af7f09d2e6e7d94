//! What keys do beyond what the editor knows: Backspace in indentation, and how fast they come.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustyline::{Cmd, ConditionalEventHandler, Event, EventContext, Movement, RepeatCount};

/// How wide a step of indentation is.
const STEP: RepeatCount = 4;

/// Backspace takes back a whole step of indentation.
pub(super) struct Backspace;

impl ConditionalEventHandler for Backspace {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let before = &context.line()[..context.pos()];
        let line = before.rsplit('\n').next().unwrap_or_default();
        let is_indentation = !line.is_empty()
            && line.len().is_multiple_of(usize::from(STEP))
            && line.bytes().all(|byte| byte == b' ');
        is_indentation.then_some(Cmd::Kill(Movement::BackwardChar(STEP)))
    }
}

/// Whether lines come faster than anybody types. Then they are pasted by a terminal that does not
/// say so, or were typed ahead, and they bring their own indentation.
#[derive(Clone, Default)]
pub(super) struct Pace(Arc<Mutex<Keys>>);

#[derive(Default)]
struct Keys {
    first: Option<Instant>,
    count: u32,
    is_fast: bool,
}

impl Pace {
    /// A line begins.
    pub(super) fn begin_line(&self) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (keys.first, keys.count) = (None, 0);
    }

    /// A line has ended.
    pub(super) fn end_line(&self) {
        /// Less than anybody takes from key to key, line by line.
        const FAST: Duration = Duration::from_millis(25);
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A single key, such as Enter, says nothing.
        if let Some(first) = keys.first.filter(|_| keys.count > 1) {
            keys.is_fast = first.elapsed() < FAST * keys.count;
        }
    }

    /// Whether the last lines came that fast.
    pub(super) fn is_fast(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_fast
    }
}

impl ConditionalEventHandler for Pace {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.first.get_or_insert_with(Instant::now);
        keys.count += 1;
        None
    }
}
