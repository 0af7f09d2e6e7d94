//! A recorder that the tests read.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

/// The one of this process. Cells are made on threads of Belljar's own, which only such a recorder
/// hears of.
static RECORDER: OnceLock<Snapshotter> = OnceLock::new();
/// One test counts at a time.
static COUNTING: Mutex<()> = Mutex::new(());

/// Everything that was counted since it was made.
pub(crate) struct Figures {
    snapshotter: Snapshotter,
    _alone: MutexGuard<'static, ()>,
    /// Each snapshot takes the figures away, so they are added up here.
    seen: BTreeMap<String, f64>,
}

impl Figures {
    /// Begins to count.
    pub(crate) fn listen() -> Self {
        let alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshotter = RECORDER.get_or_init(|| {
            let recorder = DebuggingRecorder::new();
            let snapshotter = recorder.snapshotter();
            metrics::set_global_recorder(recorder).expect("nobody else records here");
            snapshotter
        });
        // Takes away what was counted before.
        drop(snapshotter.snapshot());
        Self { snapshotter: snapshotter.clone(), _alone: alone, seen: BTreeMap::new() }
    }

    /// A counter's or a gauge's value, or how many values a histogram has seen. Written as
    /// exporters write it, with the labels in their order: `name{label=value,…}`.
    pub(crate) fn get(&mut self, metric: &str) -> f64 {
        for (key, _, meaning, value) in self.snapshotter.snapshot().into_vec() {
            let key = key.key();
            assert!(meaning.is_some(), "{key} has no description");
            let labels: Vec<_> = key.labels().map(|l| format!("{}={}", l.key(), l.value())).collect();
            let name = format!("{}{{{}}}", key.name(), labels.join(","));
            *self.seen.entry(name).or_default() += match value {
                DebugValue::Counter(count) => count as f64,
                DebugValue::Gauge(value) => value.0,
                DebugValue::Histogram(values) => values.len() as f64,
            };
        }
        *self.seen.get(metric).unwrap_or_else(|| panic!("no {metric} in {:#?}", self.seen.keys()))
    }

    /// The names, without labels, that were registered.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.seen.keys().filter_map(|name| name.split('{').next()).collect();
        names.dedup();
        names
    }
}
