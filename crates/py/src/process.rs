//! The threads of this process, and what has to end with it.
//!
//! A forked child has a copy of all this and none of the threads. So a [`Process`] belongs to one
//! process id; a child makes its own and never touches its parent's.
//!
//! The lock is only taken by a thread that is attached to the interpreter, and given back before
//! that thread detaches. `os.fork` runs attached, so no other thread can hold the lock then.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle};

use crate::gate::Gate;
use crate::threads::Threads;

/// How many threads poll what Python awaits. A run mostly waits, and cells do the work.
const THREADS: usize = 2;

/// Where futures of this process are polled.
pub(crate) struct Process {
    id: u32,
    tokio: tokio::runtime::Runtime,
    threads: Threads,
    gate: Gate,
    /// Runtimes that nobody has shut down yet.
    open: Mutex<HashMap<u64, belljar::Runtime>>,
}

static CURRENT: Mutex<Option<Arc<Process>>> = Mutex::new(None);
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// The threads of this process. They are started when they are first needed.
pub(crate) fn current(_attached: Python<'_>) -> PyResult<Arc<Process>> {
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    let id = std::process::id();
    if let Some(process) = current.as_ref().filter(|process| process.id == id) {
        return Ok(Arc::clone(process));
    }
    let failed = |error| PyRuntimeError::new_err(format!("threads cannot be started: {error}"));
    let tokio = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("belljar-py")
        .enable_all()
        .build()
        .map_err(failed)?;
    let process = Arc::new(Process {
        id,
        tokio,
        threads: Threads::default(),
        gate: Gate::default(),
        open: Mutex::default(),
    });
    // The parent's: its threads are not here, so nobody can wait for them.
    std::mem::forget(current.replace(Arc::clone(&process)));
    Ok(process)
}

impl Process {
    pub(crate) fn tokio(&self) -> &Handle {
        self.tokio.handle()
    }

    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<u64, belljar::Runtime>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a runtime shut down when the interpreter ends, unless it is closed before.
    pub(crate) fn keep(self: &Arc<Self>, runtime: belljar::Runtime) -> Kept {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        self.open().insert(number, runtime.clone());
        Kept { runtime: Some(runtime), number, process: Arc::clone(self) }
    }
}

/// A runtime that ends with its last owner, or with the interpreter.
pub(crate) struct Kept {
    runtime: Option<belljar::Runtime>,
    number: u64,
    process: Arc<Process>,
}

impl Kept {
    pub(crate) fn runtime(&self) -> &belljar::Runtime {
        self.runtime.as_ref().expect("it is taken by drop alone")
    }

    /// The interpreter need not end it any more.
    pub(crate) fn forget(&self) {
        if self.process.id == std::process::id() {
            self.process.open().remove(&self.number);
        }
    }
}

impl Drop for Kept {
    /// Ending cells takes milliseconds, and tools of theirs may wait for the interpreter. So another
    /// thread does it: whoever collects garbage is attached.
    fn drop(&mut self) {
        let runtime = self.runtime.take();
        if self.process.id != std::process::id() {
            drop(runtime);
            return;
        }
        self.process.open().remove(&self.number);
        // Without a thread, it is dropped here.
        let _ = self.process.threads.run(move || drop(runtime));
    }
}

/// Ends whatever is still open. For the interpreter's end.
#[pyfunction]
pub(crate) fn shutdown_all(py: Python<'_>) {
    /// Nobody waits longer for a process to end.
    const PATIENCE: Duration = Duration::from_secs(10);
    let process = {
        let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|process| process.id == std::process::id()).cloned()
    };
    let Some(process) = process else { return };
    py.detach(|| {
        let open: Vec<_> = process.open().drain().map(|(_, runtime)| runtime).collect();
        let all = futures_util::future::join_all(open.iter().map(belljar::Runtime::shutdown));
        let _ = process.tokio.block_on(async { tokio::time::timeout(PATIENCE, all).await });
        drop(open);
        process.gate.close(PATIENCE);
    });
}
