//! PLAN: one script does it all. Each attempt has a cell of its own.

use belljar_core::config::ExecutionMode;

use super::driver::{Driver, Stopped};
use super::turn::Said;
use crate::record::GaveUp;

impl Driver<'_> {
    pub(super) async fn plan(&mut self) -> Result<(), Stopped> {
        let attempts = self.orchestrator.limits.attempts;
        for number in 1..=attempts {
            let reply = self.ask(number).await?;
            let is_done = self.attempt(number, &reply).await?;
            self.end_step().await;
            if is_done {
                return Ok(());
            }
            if number < attempts {
                self.answer_attempt()?;
            }
        }
        Err(Stopped::gave_up(GaveUp::Attempts))
    }

    /// Runs the script of a reply. Whether it gave a result.
    async fn attempt(&mut self, number: u32, reply: &crate::model::Reply) -> Result<bool, Stopped> {
        let Said::Script(script, findings) = self.consider(number, reply).await? else { return Ok(false) };
        if !findings.is_empty() {
            return Ok(false);
        }
        let request = self.task.request_for(number, &script).with_mode(ExecutionMode::Plan);
        let execution = self.orchestrator.sandbox.stream(request);
        let Ok(result) = self.follow(number, execution).await? else { return Ok(false) };
        let is_done = result.success();
        if is_done {
            self.record.result = result.final_data;
        }
        Ok(is_done)
    }

    /// Tells the model how its last attempt ended.
    fn answer_attempt(&mut self) -> Result<(), Stopped> {
        let Some(last) = self.record.steps.last().cloned() else { return Ok(()) };
        let script = last.script.unwrap_or_default();
        match &last.result {
            Some(result) => self.answer_run(&script, result, false),
            None => self.answer_findings(&script, &last.findings),
        }
    }
}
