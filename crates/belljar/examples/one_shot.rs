//! The shortest program: one script in, one result out.

#![expect(clippy::print_stdout, reason = "examples print what they found")]

#[tokio::main]
async fn main() -> Result<(), belljar::RuntimeError> {
    let runtime = belljar::Runtime::new().await?;
    let sandbox = runtime.sandbox(belljar::SandboxConfig::default()).await?;
    let result = sandbox.run("emit_result({'squares': [n * n for n in range(5)]})").await?;
    println!("{}: {}", result.verdict, result.final_data.expect("a success has data"));
    Ok(())
}
