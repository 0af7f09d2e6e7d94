//! An ordinary host that says how long its start takes: one line with the microseconds until there
//! is a runtime, and until the first script has run.

use std::time::Instant;

use belljar::{Runtime, SandboxConfig};

#[expect(clippy::print_stdout, reason = "that is what it is for")]
pub(crate) fn run() {
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("tokio");
    tokio.block_on(async {
        let began = Instant::now();
        let runtime = Runtime::new().await.expect("a runtime");
        let opened = began.elapsed();
        let sandbox = runtime.sandbox(SandboxConfig::default()).await.expect("a sandbox");
        let prepared = began.elapsed() - opened;
        let result = sandbox.run("emit_result(6 * 7)").await.expect("a run");
        assert_eq!(result.final_data.expect("a result").as_str(), "42");
        println!("{} {}", opened.as_micros(), prepared.as_micros());
        runtime.shutdown().await;
    });
}
