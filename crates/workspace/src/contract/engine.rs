//! An engine: a manager, a file system and a runner that belong together.

use std::fmt;
use std::sync::Arc;

use super::{ProgramRunner, WorkspaceFs, WorkspaceManager};
use crate::Capabilities;

/// Somewhere to have workspaces and to run programs in them.
pub trait WorkspaceEngine: Send + Sync {
    /// Makes and removes workspaces. The same one each time: a registry of workspaces tells
    /// managers apart by it.
    fn manager(&self) -> Arc<dyn WorkspaceManager>;

    /// Puts, stages and collects files.
    fn fs(&self) -> Arc<dyn WorkspaceFs>;

    /// Runs programs.
    fn runner(&self) -> Arc<dyn ProgramRunner>;

    /// What it can do.
    fn describe(&self) -> Capabilities;
}

/// Something that has an engine.
pub trait EngineProvider: Send + Sync {
    /// The engine.
    fn engine(&self) -> Arc<dyn WorkspaceEngine>;
}

/// An engine that is put together of its parts.
#[derive(Clone)]
pub struct SimpleEngine {
    manager: Arc<dyn WorkspaceManager>,
    fs: Arc<dyn WorkspaceFs>,
    runner: Arc<dyn ProgramRunner>,
    capabilities: Capabilities,
}

impl SimpleEngine {
    /// An engine of these parts, which claims nothing.
    pub fn new(
        manager: Arc<dyn WorkspaceManager>,
        fs: Arc<dyn WorkspaceFs>,
        runner: Arc<dyn ProgramRunner>,
    ) -> Self {
        Self { manager, fs, runner, capabilities: Capabilities::default() }
    }

    /// The same engine, with what it can do.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }
}

impl WorkspaceEngine for SimpleEngine {
    fn manager(&self) -> Arc<dyn WorkspaceManager> {
        Arc::clone(&self.manager)
    }

    fn fs(&self) -> Arc<dyn WorkspaceFs> {
        Arc::clone(&self.fs)
    }

    fn runner(&self) -> Arc<dyn ProgramRunner> {
        Arc::clone(&self.runner)
    }

    fn describe(&self) -> Capabilities {
        self.capabilities.clone()
    }
}

impl fmt::Debug for SimpleEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimpleEngine").field("capabilities", &self.capabilities).finish_non_exhaustive()
    }
}
