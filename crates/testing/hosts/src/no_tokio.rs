//! A host that polls futures itself. No thread of its has a tokio context.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use belljar::{Runtime, SandboxConfig};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future on this thread until it is ready.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

pub(crate) fn run() {
    block_on(async {
        let runtime = Runtime::new().await.expect("a runtime");
        let sandbox = runtime.sandbox(SandboxConfig::default()).await.expect("a sandbox");
        let result = sandbox.run("emit_result(6 * 7)").await.expect("a run");
        assert_eq!(result.final_data.expect("a result").as_str(), "42");
        runtime.shutdown().await;
    });
}
