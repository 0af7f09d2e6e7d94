//! What only MCP needs of the server's state, and the way to a client's workspaces.

use std::sync::Arc;

use belljar::workspace::{OpenWorkspace, WorkspaceError};
use tokio::sync::Mutex;

use super::http::Door;
use crate::guard::Client;
use crate::problem::{Code, Problem, with_causes};
use crate::runs::DEFAULT;
use crate::state::App;

/// What only MCP needs of the server's state.
#[derive(Default)]
pub(crate) struct Room {
    /// Held while a workspace may be made: two calls that name the same one share it.
    making: Mutex<()>,
    pub(super) door: Door,
}

impl Room {
    /// Ends every connection of MCP over HTTP.
    pub(crate) fn close(&self) {
        self.door.close();
    }

    /// A client's workspace of that name. One of its own is made if it is not there.
    pub(super) async fn workspace(
        &self,
        app: &App,
        client: &Client,
        name: &str,
    ) -> Result<OpenWorkspace, Problem> {
        let found = {
            let _making = self.making.lock().await;
            app.workspaces.changed_or_made(client, name).await
        };
        let name = found.map_err(|problem| problem.at("workspace"))?;
        let default = app.sandboxes.find(DEFAULT)?;
        app.workspaces.to_run_in(&name, DEFAULT, &default.equipped.config)
    }
}

/// What a workspace refuses.
pub(super) fn refused(error: WorkspaceError) -> Problem {
    Problem::new(Code::Invalid, with_causes(&error))
}

/// The time limit of programs that say none, in seconds.
pub(super) fn usual_timeout(app: &Arc<App>) -> f64 {
    app.sandboxes.config_of(DEFAULT).resource_limits.execution_timeout_sec
}
