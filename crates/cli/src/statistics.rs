//! Percentiles of many measurements.

use std::time::Duration;

use serde::Serialize;

/// Percentiles of one measurement, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Figures {
    /// What was measured.
    pub(crate) what: String,
    /// How often it was measured.
    pub(crate) count: usize,
    pub(crate) p50_us: f64,
    pub(crate) p95_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
}

impl Figures {
    /// `None` if there were no measurements.
    pub(crate) fn of(what: impl Into<String>, mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let max = times.last()?.as_secs_f64();
        // Nearest rank: the result is always a time that was measured.
        let rank = |percent: usize| {
            let index = (times.len() * percent).div_ceil(100).max(1) - 1;
            micros(times[index].as_secs_f64())
        };
        let (p50_us, p95_us, p99_us) = (rank(50), rank(95), rank(99));
        Some(Self { what: what.into(), count: times.len(), p50_us, p95_us, p99_us, max_us: micros(max) })
    }
}

fn micros(seconds: f64) -> f64 {
    (seconds * 1e7).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times = (1..=200).rev().map(Duration::from_micros).collect();
        let figures = Figures::of("x", times).unwrap();
        assert_eq!(
            (figures.p50_us, figures.p95_us, figures.p99_us, figures.max_us),
            (100.0, 190.0, 198.0, 200.0)
        );
        let one = Figures::of("x", vec![Duration::from_nanos(1550)]).unwrap();
        assert_eq!((one.count, one.p50_us, one.max_us), (1, 1.6, 1.6));
        assert_eq!(Figures::of("x", Vec::new()), None);
    }
}
