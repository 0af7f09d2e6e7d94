//! A host whose wakers panic, whatever is done with them, and goes on.

use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use crate::no_tokio::block_on;
use crate::runtimes::{answers, open};

/// Wakers that panic when Belljar's own threads call, clone or drop them.
#[expect(unsafe_code, reason = "the one way to a waker that panics when it is cloned")]
mod raw {
    use std::task::{RawWaker, RawWakerVTable, Waker};

    const CALLED: RawWakerVTable = RawWakerVTable::new(|_| raw(&CALLED), panics, panics, |_| {});
    const CLONED: RawWakerVTable = RawWakerVTable::new(panics_and_clones, |_| {}, |_| {}, |_| {});
    const DROPPED: RawWakerVTable = RawWakerVTable::new(|_| raw(&DROPPED), |_| {}, |_| {}, panics);

    fn raw(does: &'static RawWakerVTable) -> RawWaker {
        RawWaker::new(std::ptr::null(), does)
    }

    fn panics(_: *const ()) {
        let is_ours = std::thread::current().name().is_some_and(|name| name.starts_with("belljar"));
        assert!(!is_ours || std::thread::panicking(), "as it is meant to");
    }

    fn panics_and_clones(data: *const ()) -> RawWaker {
        panics(data);
        raw(&CLONED)
    }

    pub(super) fn wakers() -> [Waker; 3] {
        // SAFETY: there is no data that anything could be done wrong with.
        [&CALLED, &CLONED, &DROPPED].map(|does| unsafe { Waker::from_raw(raw(does)) })
    }
}

pub(crate) fn run() {
    let (runtime, sandbox) = block_on(open());
    for waker in raw::wakers() {
        let mut cx = Context::from_waker(&waker);
        let mut stream = sandbox.stream("for i in range(20):\n    print(i)\n    time.sleep(0.01)");
        let mut calls: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = vec![
            Box::pin(async {
                let result = sandbox.run("time.sleep(0.2)\nemit_result(1)").await.expect("a run");
                assert!(result.final_data.is_some(), "{result:#?}");
            }),
            Box::pin(async { drop(sandbox.session().await.expect("a session")) }),
            Box::pin(async { sandbox.warm(2).await.expect("cells") }),
            Box::pin(sandbox.at_rest()),
            Box::pin(async {
                while stream.next().await.is_some() {}
                stream.result().await.expect("a result");
            }),
        ];
        // Nobody is woken, so it looks again and again.
        while !calls.is_empty() {
            calls.retain_mut(|call| call.as_mut().poll(&mut cx).is_pending());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    block_on(answers(&sandbox));
    block_on(runtime.shutdown());
    block_on(async {
        let (runtime, sandbox) = open().await;
        answers(&sandbox).await;
        runtime.shutdown().await;
    });
}
