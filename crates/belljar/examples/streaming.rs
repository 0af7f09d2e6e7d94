//! A callback gets every event while the script runs. The verdict says how it really ended.

#![expect(clippy::print_stdout, reason = "examples print what they found")]

use belljar::{EventKind, ExecutionRequest, Runtime, SandboxConfig};

const SCRIPT: &str = "
for percent in (0, 50, 100):
    emit_intermediate('progress', percent)
print('now something that cannot work')
[][1]
";

#[tokio::main]
async fn main() -> Result<(), belljar::RuntimeError> {
    let sandbox = Runtime::new().await?.sandbox(SandboxConfig::default()).await?;
    let result = sandbox
        .run_with(ExecutionRequest::new(SCRIPT), |event| match event.kind {
            EventKind::Intermediate { label, data } => println!("{label} is {data}"),
            EventKind::Stdout { text } => print!("it prints: {text}"),
            _ => {}
        })
        .await?;
    println!("{}: {}", result.verdict, result.error.unwrap_or_default());
    Ok(())
}
