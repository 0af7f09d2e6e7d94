//! What a tool knows about its call, and can say while it works.

use std::sync::Arc;

use belljar_core::ExecutionId;
use tokio::sync::mpsc;

/// How many words of progress may wait. Whoever says more than is listened to is not heard.
pub(crate) const MOST_WAITING: usize = 64;

/// What a tool is called with, besides its arguments.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// The execution that calls it.
    pub execution_id: ExecutionId,
    /// The number of the call in that execution's cell.
    pub call_id: u64,
    pub(crate) tool: Arc<str>,
    pub(crate) progress: mpsc::Sender<ToolProgress>,
}

/// What a tool said while it worked.
#[derive(Debug)]
pub(crate) struct ToolProgress {
    pub(crate) call_id: u64,
    pub(crate) tool: String,
    pub(crate) progress: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: String,
}

pub(crate) fn progress_channel() -> (mpsc::Sender<ToolProgress>, mpsc::Receiver<ToolProgress>) {
    mpsc::channel(MOST_WAITING)
}

impl ToolContext {
    /// Tells whoever follows the run how far the tool has come. The script does not hear of it.
    /// Numbers that are none are left out.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: impl Into<String>) {
        if !progress.is_finite() {
            return;
        }
        let _ = self.progress.try_send(ToolProgress {
            call_id: self.call_id,
            tool: self.tool.to_string(),
            progress,
            total: total.filter(|total| total.is_finite()),
            message: message.into(),
        });
    }
}
