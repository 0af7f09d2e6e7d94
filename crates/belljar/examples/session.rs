//! Several steps in one cell. What one step defines, the next can use.

#![expect(clippy::print_stdout, reason = "examples print what they found")]

use belljar::{Runtime, SandboxConfig};

#[tokio::main]
async fn main() -> Result<(), belljar::RuntimeError> {
    let sandbox = Runtime::new().await?.sandbox(SandboxConfig::default()).await?;
    let mut session = sandbox.session().await?;
    session.step("prices = {'tea': 3, 'cake': 5}").await?;
    session.step("total = sum(prices.values())").await?;
    let result = session.step("emit_result(total)").await?;
    println!("the total is {}", result.final_data.expect("the last step emits it"));
    Ok(())
}
