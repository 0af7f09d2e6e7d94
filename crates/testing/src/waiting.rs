//! Waiting without guessing how long something takes: a bound against hangs, and nothing else.

use std::time::Duration;

use belljar_runtime::RunHandle;

/// Long enough for a loaded machine, short enough to name a hang.
pub const HANG: Duration = Duration::from_secs(120);
/// After so long a user presses Ctrl-C again.
const AGAIN: Duration = Duration::from_millis(200);

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

/// Interrupts a run until it ends, as a user would who presses Ctrl-C again: one interrupt alone
/// may come in the moment in which the script begins to wait for something.
pub async fn interrupted<T>(handle: &RunHandle, ending: impl Future<Output = T>) -> T {
    let mut ending = std::pin::pin!(ending);
    in_time(async {
        loop {
            handle.interrupt();
            if let Ok(end) = tokio::time::timeout(AGAIN, &mut ending).await {
                return end;
            }
        }
    })
    .await
}
