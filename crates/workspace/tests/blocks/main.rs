//! Code blocks in workspaces of the engine under test.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod concurrent;
mod endings;
mod languages;
mod persistence;

use std::sync::Arc;

use belljar_runtime::{ResourceLimits, Runtime, SandboxConfig};
use belljar_testing::{HANG, config, engine, in_time};
use belljar_workspace::{
    BlockExecutor, BlockExecutorOptions, CodeBlock, CodeExecutionInput, CodeExecutionResult, CodeExecutor,
    Context, Workspaces, WorkspacesOptions,
};

/// Workspaces in a directory of their own.
struct World {
    workspaces: Workspaces,
    _runtime: Runtime,
    home: tempfile::TempDir,
}

/// `None` with the reason printed where the engine makes no cells.
async fn world() -> Option<World> {
    let runtime = belljar_testing::runtime()?;
    let home = tempfile::tempdir().unwrap();
    let mut options = WorkspacesOptions::new(home.path().join("store"));
    options.config = with_room(config());
    let workspaces = in_time(Workspaces::open(&runtime, options)).await.unwrap();
    Some(World { workspaces, _runtime: runtime, home })
}

/// Compilers need more than scripts. Where nothing is limited there is room.
fn with_room(config: SandboxConfig) -> SandboxConfig {
    if engine() == "local" {
        return config;
    }
    let resource_limits =
        ResourceLimits { memory_mb: 1024, cpu_quota: 2.0, pids_limit: 256, ..config.resource_limits };
    SandboxConfig { resource_limits, ..config }
}

/// Time limits that no test meets by accident.
fn patient() -> BlockExecutorOptions {
    BlockExecutorOptions { timeout: HANG, compile_timeout: HANG, ..BlockExecutorOptions::default() }
}

impl World {
    fn executor(&self) -> BlockExecutor {
        self.executor_with(patient())
    }

    fn executor_with(&self, options: BlockExecutorOptions) -> BlockExecutor {
        BlockExecutor::with_options(Arc::new(self.workspaces.clone()), options)
    }

    /// Names of the workspaces that are there.
    fn workspaces(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.home.path().join("store")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.starts_with('.')).collect()
    }
}

fn blocks(blocks: &[(&str, &str)], id: &str) -> CodeExecutionInput {
    let block = |(language, code): &(&str, &str)| CodeBlock {
        code: (*code).to_owned(),
        language: (*language).to_owned(),
    };
    CodeExecutionInput { code_blocks: blocks.iter().map(block).collect(), execution_id: id.to_owned() }
}

async fn execute(executor: &BlockExecutor, input: CodeExecutionInput) -> CodeExecutionResult {
    in_time(executor.execute_code(&Context::new(), input)).await.unwrap()
}
