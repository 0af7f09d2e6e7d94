//! Describes the tools of a sandbox as Python stubs.

use std::time::Duration;

use belljar_core::ExecutionRequest;
use belljar_core::config::ExecutionMode;
use belljar_core::tool::ToolSet;
use belljar_runtime::{RuntimeError, Sandbox};

const DESCRIBE: &str = include_str!("describe.py");
const NAMES: &str = "tools.json";
const WITHIN: Duration = Duration::from_secs(30);

/// Stubs of all tools that scripts in a sandbox can call. Those that nobody has described are asked
/// in a cell of the sandbox what they look like: functions of Python files.
pub(crate) async fn describe(sandbox: &Sandbox, described: &ToolSet) -> Result<String, RuntimeError> {
    let mut parts = Vec::new();
    if !described.is_empty() {
        parts.push(described.stubs());
    }
    let others: Vec<&String> =
        sandbox.report().tools.iter().filter(|name| described.get(name).is_none()).collect();
    if !others.is_empty() {
        let names = serde_json::to_string(&others).expect("strings are JSON");
        let request = ExecutionRequest::new(DESCRIBE)
            .with_mode(ExecutionMode::Plan)
            .with_timeout(WITHIN)
            .with_file(NAMES, names);
        let result = sandbox.run(request).await?;
        let text = result.final_data.as_ref().filter(|_| result.success());
        parts.push(text.and_then(|text| text.to::<String>().ok()).unwrap_or_else(|| {
            tracing::warn!(verdict = %result.verdict, error = ?result.error, "tools could not be described");
            let lines: Vec<_> =
                others.iter().map(|name| format!("def {name}(*args, **kwargs): ...")).collect();
            lines.join("\n")
        }));
    }
    Ok(parts.join("\n\n"))
}
