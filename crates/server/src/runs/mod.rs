//! Runs: from a request to its events, for everybody who reads them.
//!
//! ```text
//!  request ──► place in the queue ──► run ──events──► record ──► log (the last of them, in memory)
//!                                                        │          │
//!                                                        └► history ◄┴── followers, from any one
//! ```
//!
//! * `request` reads what a client asks for, and which form the answer takes.
//! * `log` has the last events of a run in memory, and knows who follows it.
//! * `record` drives a run, and writes down what it says. Nobody who reads slowly holds it up.
//! * `program` is a program in a workspace as a run.
//! * `follow` gives a run's events to one reader, from the log or from the history.
//! * `stream` writes them as SSE or NDJSON.
//! * `routes` are the paths, `answers` what they say.

pub(crate) mod answers;
mod follow;
mod log;
mod program;
mod record;
mod request;
pub(crate) mod routes;
mod stream;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar::engine::random_hex;

pub(crate) use self::follow::Follower;
pub(crate) use self::log::{Ending, Run};
pub(crate) use self::program::ProgramRun;
pub(crate) use self::record::{Home, Manner, Source, begin};
pub(crate) use self::request::{DEFAULT, Form, Place, Wanted, invalid, script, value as from_json, within};
pub(crate) use self::stream::{answer, taken};
use crate::history::now_ms;

/// Runs that go on, by their ids.
#[derive(Default)]
pub(crate) struct Runs(Mutex<HashMap<Arc<str>, Arc<Run>>>);

impl Runs {
    pub(crate) fn add(&self, run: Arc<Run>) {
        self.lock().insert(run.id.clone(), run);
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Run>> {
        self.lock().get(id).cloned()
    }

    pub(crate) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    pub(crate) fn all(&self) -> Vec<Arc<Run>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Run>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A new id. Later ones come later in the alphabet, too.
pub(crate) fn new_id(kind: &str) -> String {
    let random: String = random_hex().chars().take(12).collect();
    format!("{kind}_{:012x}{random}", now_ms())
}
