//! A thread that waits for a run has an event loop of its own, so that nobody else has to wake it.
//!
//! A run that is polled by this thread while another thread hears of its descriptors costs two
//! switches for each thing that the script says. So each thread that waits keeps a small loop. It is
//! driven only while the thread waits; whatever goes on afterwards belongs to the threads of the
//! process.

use std::cell::RefCell;
use std::future::Future;

use tokio::runtime::{Builder, Runtime};

use crate::process::Process;

thread_local! {
    /// The loop of this thread, and the process that it was made in: a forked child shares the
    /// descriptors of its parent's, and must not touch them.
    static OWN: RefCell<Option<(u32, Runtime)>> = const { RefCell::new(None) };
}

/// Waits on this thread alone.
pub(crate) fn wait<T>(process: &Process, work: impl Future<Output = T>) -> T {
    let own = OWN.with(|own| own.borrow_mut().take());
    let id = std::process::id();
    let own = match own {
        Some((made_in, own)) if made_in == id => Some(own),
        other => {
            std::mem::forget(other);
            Builder::new_current_thread().enable_all().build().ok()
        }
    };
    // Without descriptors for another loop, there is the one of the process.
    let Some(own) = own else { return process.tokio().block_on(work) };
    let outcome = own.block_on(work);
    OWN.with(|place| *place.borrow_mut() = Some((id, own)));
    outcome
}
