//! How far calls have come, passed on to whoever made them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar_runtime::ToolContext;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::NotificationContext;
use rmcp::{ClientHandler, RoleClient};

use crate::child::printable;
use crate::keys::Keys;

/// Characters of what a server may say about its progress.
const LONGEST_MESSAGE: usize = 200;

/// What we are to a server: somebody who calls its tools and hears of progress. It can ask nothing
/// of us: no model, no user and no directories.
#[derive(Clone, Default)]
pub(crate) struct Listener {
    callers: Arc<Mutex<HashMap<ProgressToken, ToolContext>>>,
    keys: Keys,
}

/// A call that hears of its progress for as long as this lives.
pub(crate) struct Followed {
    listener: Listener,
    token: ProgressToken,
}

impl Listener {
    pub(crate) fn new(keys: Keys) -> Self {
        Self { keys, ..Self::default() }
    }

    pub(crate) fn follow(&self, token: ProgressToken, caller: ToolContext) -> Followed {
        self.callers().insert(token.clone(), caller);
        Followed { listener: self.clone(), token }
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<ProgressToken, ToolContext>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.listener.callers().remove(&self.token);
    }
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("belljar", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(caller) = self.callers().get(&progress.progress_token) {
            let message = self.keys.hidden(progress.message.as_deref().unwrap_or_default());
            caller.progress(progress.progress, progress.total, printable(&message, LONGEST_MESSAGE));
        }
    }
}
