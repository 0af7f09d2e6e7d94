//! An ordinary host that runs one script. It prints the warnings about its sandbox and `42`. If
//! that fails it says why, with all causes, and exits with 1.

use std::process::ExitCode;

use belljar::{Runtime, RuntimeError, SandboxConfig};
use belljar_hosts::in_full;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a test reads it")]
pub(crate) fn run() -> ExitCode {
    let tokio = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(tokio) => tokio,
        Err(error) => {
            eprintln!("no tokio: {error}");
            return ExitCode::from(2);
        }
    };
    match tokio.block_on(run_one()) {
        Ok(told) => {
            println!("{told}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}", in_full(error));
            ExitCode::FAILURE
        }
    }
}

async fn run_one() -> Result<String, RuntimeError> {
    let runtime = Runtime::new().await?;
    let sandbox = runtime.sandbox(SandboxConfig::default()).await?;
    let result = sandbox.run("emit_result(6 * 7)").await?;
    let data = result.final_data.expect("a result");
    let told = format!("{}\n{}", sandbox.report().warnings.join("\n"), data.as_str());
    runtime.shutdown().await;
    Ok(told)
}
