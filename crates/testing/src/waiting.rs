//! Waiting without guessing how long something takes: a bound against hangs, and nothing else.

use std::time::Duration;

/// Long enough for a loaded machine, short enough to name a hang.
pub const HANG: Duration = Duration::from_secs(120);

/// Waits for something that must happen. Nothing is assumed about how long it takes.
///
/// # Panics
///
/// When it has not happened after [`HANG`].
pub async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(HANG, waiting).await.is_ok(), "it never came about that {what}");
}

/// What a future gives.
///
/// # Panics
///
/// When it gives nothing within [`HANG`].
pub async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, what).await.expect("it hangs")
}
