//! A recorder that the tests read.

use std::collections::BTreeMap;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

/// Everything that was counted on this thread since it was made.
pub(crate) struct Figures {
    snapshotter: Snapshotter,
    /// Each snapshot takes the figures away, so they are added up here.
    seen: BTreeMap<String, f64>,
}

impl Figures {
    /// Listens to this thread for the rest of the test: its async runtime has no other.
    pub(crate) fn listen() -> Self {
        let recorder: &'static DebuggingRecorder = Box::leak(Box::new(DebuggingRecorder::new()));
        std::mem::forget(metrics::set_default_local_recorder(recorder));
        Self { snapshotter: recorder.snapshotter(), seen: BTreeMap::new() }
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
