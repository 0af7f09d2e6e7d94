//! Whether a request is made again, and when.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, SystemTime};

use http::HeaderMap;

use crate::model::ModelError;

/// How often a request is made again, and how long is waited before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// How often it is made again.
    pub most: u32,
    /// The first wait. Each one after it is about twice as long.
    pub first_wait: Duration,
    /// The longest wait. A server that wants a longer one is not asked again.
    pub longest_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { most: 4, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(60) }
    }
}

impl Retry {
    /// Again so often, after these waits.
    pub fn new(most: u32, first_wait: Duration, longest_wait: Duration) -> Self {
        Self { most, first_wait, longest_wait }
    }

    /// Never again.
    pub fn never() -> Self {
        Self { most: 0, ..Self::default() }
    }

    /// How long to wait after so many tries, if there is to be another. `asked_for` is what the
    /// server wants. It is waited that long, and never less than without it: a server that is in
    /// trouble and says 0 is in trouble still.
    pub(super) fn wait(&self, tries: u32, asked_for: Option<Duration>) -> Option<Duration> {
        if tries > self.most {
            return None;
        }
        let asked_for = asked_for.unwrap_or_default();
        if asked_for > self.longest_wait {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(1u32.checked_shl(tries - 1).unwrap_or(u32::MAX));
        let wait = doubled.min(self.longest_wait);
        // Half of it is left to chance, so that many callers do not come back together.
        let chance = (RandomState::new().build_hasher().finish() % 1000) as f64 / 1000.0;
        Some(wait.mul_f64(0.5 + 0.5 * chance).max(asked_for))
    }
}

/// What a server says about when to come back: seconds, or a date. At most a year.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0);
    // One that is longer than any number is still longer than anybody waits.
    let seconds =
        |number| Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX).min(ModelError::LONGEST_ASKED);
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return Some(seconds(milliseconds / 1000.0));
    }
    let text = text("retry-after")?;
    if let Some(number) = number(text) {
        return Some(seconds(number));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default().min(ModelError::LONGEST_ASKED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &'static str, value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        retry_after(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777))
    }

    #[test]
    fn a_server_says_when_in_seconds_or_by_a_date() {
        assert_eq!(said("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(said("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(said("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), Some(Duration::from_secs(10)));
        assert_eq!(said("retry-after", "Sun, 06 Nov 1994 08:49:27 GMT"), Some(Duration::ZERO));
        for long in ["1e300", "99999999999999999999", "inf", "Sat, 06 Nov 2094 08:49:37 GMT"] {
            assert_eq!(said("retry-after", long), Some(ModelError::LONGEST_ASKED), "{long}");
        }
        for nonsense in ["-1", "soon", "NaN", ""] {
            assert_eq!(said("retry-after", nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn waits_grow_and_end() {
        let retry = Retry::new(40, Duration::from_secs(1), Duration::from_secs(8));
        for (tries, longest) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (40, 8)] {
            let wait = retry.wait(tries, None).unwrap().as_secs_f64();
            assert!((0.5 * longest as f64..=longest as f64).contains(&wait), "{tries}: {wait}");
        }
        assert_eq!(retry.wait(41, None), None);
        assert_eq!(retry.wait(1, Some(Duration::from_secs(8))), Some(Duration::from_secs(8)));
        assert_eq!(retry.wait(1, Some(Duration::from_secs(9))), None);
        // Not even a server makes it hurry.
        for (tries, shortest) in [(1, 0.5), (2, 1.0), (3, 2.0)] {
            let wait = retry.wait(tries, Some(Duration::ZERO)).unwrap().as_secs_f64();
            assert!(wait >= shortest, "{tries}: {wait}");
        }
        assert_eq!(Retry::never().wait(1, None), None);
    }
}
