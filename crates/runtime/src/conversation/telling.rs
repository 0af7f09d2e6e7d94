//! What is told about a run: prints, refusals, what earlier steps left behind, and the end.

use std::sync::Arc;
use std::time::Duration;

use belljar_core::{Decision, ExecutionResult, ToolCallRecord};
use belljar_engine::Leftovers;

use super::{Concluded, Conversation};
use crate::warnings;

impl Conversation<'_, '_> {
    /// Tells what was printed before this run began.
    pub(super) fn tell_leftovers(&mut self, leftovers: &Leftovers) {
        for event in self.transcript.left_over(leftovers) {
            self.listener.tell(event);
        }
    }

    /// Tells what the proxy has refused since it was last asked.
    pub(super) fn tell_denials(&mut self) {
        for decision in self.cell.take_denials() {
            if let Some(event) = self.transcript.denied(&decision) {
                self.listener.tell(event);
            }
        }
    }

    /// Tells what was printed, except for as much of it as a frame may still come before.
    pub(super) fn tell_printed(&mut self, ahead: [usize; 2]) {
        for (stream, bytes) in self.progress.printed.all_but(ahead) {
            if let Some(event) = self.transcript.printed(stream, &bytes) {
                self.listener.tell(event);
            }
        }
    }

    /// Tells of calls that nobody waits for any more. What they did by then is done.
    pub(super) fn tell_unanswered(&mut self, calls: Vec<ToolCallRecord>) {
        for call in calls {
            let message = "the script ended before this was answered".to_owned();
            let event = self.transcript.tool_result(call, message);
            self.listener.tell(event);
        }
    }

    /// Tells what is left before the result, once the run is over: refusals that were not told, and
    /// prints that were held back.
    pub(super) fn tell_rest(&mut self, network: &[Decision]) {
        self.tell_denials();
        let denied_too = self.transcript.denied_too(network);
        for event in denied_too.into_iter().chain(self.transcript.rest()) {
            self.listener.tell(event);
        }
    }
}

impl Concluded<'_> {
    /// Tells the remaining events. A cell that is not used again is given back before. A listener
    /// who does not take them within this time misses them, and the result says so.
    pub(crate) async fn say(self, within: Duration) -> ExecutionResult {
        let missed = self.listener.finish(within).await;
        // If the sink has dropped the last event, this is the only copy.
        let mut result = Arc::unwrap_or_clone(self.result);
        if let Some(events) = missed {
            tracing::debug!(events, "the listener was too slow");
            result.warnings.push(warnings::listener_too_slow(events, within));
        }
        result
    }
}
