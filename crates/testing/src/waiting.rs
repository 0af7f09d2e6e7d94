//! Waiting without guessing how long something takes: a bound against hangs, and nothing else.

use std::sync::OnceLock;
use std::time::Duration;

use belljar_runtime::RunHandle;

/// Long enough for a loaded machine, short enough to name a hang. [`patience`] is for emulated
/// machines, too.
pub const HANG: Duration = Duration::from_secs(120);
/// Nextest ends a test there after 600 s (`.config/nextest.toml`), and knows no reason.
const LONGEST: Duration = Duration::from_secs(450);
/// After so long a user presses Ctrl-C again.
const AGAIN: Duration = Duration::from_millis(200);

/// How many times slower this machine is than those that bounds are made for:
/// `BELLJAR_TEST_SLOWNESS`, or 1. Bounds on hangs are multiplied by it, and so are the time limits
/// of scripts that must run into another limit first.
///
/// # Panics
///
/// When the variable is not a whole number above 0.
pub fn slowness() -> u32 {
    static SLOWNESS: OnceLock<u32> = OnceLock::new();
    *SLOWNESS.get_or_init(|| {
        let given = std::env::var("BELLJAR_TEST_SLOWNESS").unwrap_or_else(|_| "1".to_owned());
        let factor = given.parse().ok().filter(|factor| *factor > 0);
        factor.unwrap_or_else(|| panic!("BELLJAR_TEST_SLOWNESS={given}: must be a whole number above 0"))
    })
}

/// How long anything may take here: [`HANG`], many times as long on a slow machine, and never so
/// long that nobody is left to name what hangs.
pub fn patience() -> Duration {
    (HANG * slowness()).min(LONGEST)
}

/// Waits for something that must happen. Nothing is assumed about how long it takes.
///
/// # Panics
///
/// When it has not happened after [`patience`].
pub async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(patience(), waiting).await.is_ok(), "it never came about that {what}");
}

/// What a future gives.
///
/// # Panics
///
/// When it gives nothing within [`patience`].
pub async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(patience(), what).await.expect("it hangs")
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
