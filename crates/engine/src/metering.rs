//! Turns the metrics that [`belljar_core::metrics`] names into handles that count.
//!
//! Handles come from the `metrics` facade and are made once, when a template or an executor is.
//! While no recorder is installed they are empty: counting then is one comparison, and allocates
//! nothing.

use belljar_core::metrics::{ALL, Kind, Metric};
use metrics::{Counter, Gauge, Histogram, Label};

/// Tells the recorder, if there is one, what each metric means.
pub fn describe() {
    for Metric { name, kind, meaning, .. } in ALL {
        match kind {
            Kind::Counter => metrics::describe_counter!(name, meaning),
            Kind::Gauge => metrics::describe_gauge!(name, meaning),
            _ => metrics::describe_histogram!(name, meaning),
        }
    }
}

/// A counter, with a value for each of its labels in their order.
pub fn counter(metric: &Metric, values: &[&str]) -> Counter {
    metrics::counter!(metric.name, labels(metric, Kind::Counter, values))
}

/// The same for a gauge.
pub fn gauge(metric: &Metric, values: &[&str]) -> Gauge {
    metrics::gauge!(metric.name, labels(metric, Kind::Gauge, values))
}

/// The same for a histogram.
pub fn histogram(metric: &Metric, values: &[&str]) -> Histogram {
    metrics::histogram!(metric.name, labels(metric, Kind::Histogram, values))
}

fn labels(metric: &Metric, kind: Kind, values: &[&str]) -> Vec<Label> {
    debug_assert_eq!((metric.kind, metric.labels.len()), (kind, values.len()), "{}", metric.name);
    metric.labels.iter().zip(values).map(|(name, value)| Label::new(*name, (*value).to_owned())).collect()
}
