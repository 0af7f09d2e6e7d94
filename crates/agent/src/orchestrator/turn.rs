//! One turn: the model is asked, its script is taken out, looked at and run.

use std::pin::pin;

use belljar_core::{ExecutionResult, Verdict};
use belljar_runtime::{Execution, RuntimeError};
use tokio::sync::mpsc::unbounded_channel;

use super::AgentEvent;
use super::driver::{Driver, Stopped};
use super::loops::Turn;
use super::underway::{Phase, Running};
use crate::fences::{Extracted, extract, has_code};
use crate::model::{Delta, Message, Reply, Stop};
use crate::prompt::{Aside, after_findings, after_run};
use crate::record::{AgentMode, GaveUp, StepRecord};
use crate::vet::{Finding, Rule};

/// What is in a reply.
pub(super) enum Said {
    /// A script, with what is wrong with it.
    Script(String, Vec<Finding>),
    /// Words alone.
    Words(String),
}

impl Driver<'_> {
    /// Asks the model, unless there are no tokens left for that.
    pub(super) async fn ask(&mut self, number: u32) -> Result<Reply, Stopped> {
        let limit = self.orchestrator.limits.tokens;
        if limit.is_some_and(|most| self.spent >= most) {
            return Err(Stopped::gave_up(GaveUp::Tokens));
        }
        self.step = Some(StepRecord::new(number));
        let news = self.messages[self.told..].iter().cloned();
        // It knows what it said itself.
        let news = news.filter(|message| message.role != crate::model::Role::Assistant).collect();
        self.told = self.messages.len();
        self.tell(AgentEvent::Prompt { step: number, messages: news }).await;
        let (model, messages) = (self.orchestrator.model.clone(), self.messages.clone());
        let (sender, mut deltas) = unbounded_channel();
        self.begin(Phase::Model);
        // Fails only if nobody listens any more.
        let mut on_delta = |delta| drop(sender.send(delta));
        let mut asking = pin!(model.reply(&messages, &mut on_delta));
        let reply = loop {
            tokio::select! {
                biased;
                Some(delta) = deltas.recv() => self.tell_delta(number, delta).await,
                reply = &mut asking => break reply,
            }
        };
        while let Ok(delta) = deltas.try_recv() {
            self.tell_delta(number, delta).await;
        }
        self.end_phase();
        let step = self.step.get_or_insert_with(|| StepRecord::new(number));
        let reply = reply.map_err(|error| Stopped::by_model(&error))?;
        step.reply.clone_from(&reply.text);
        (step.tokens, step.cost) = (reply.tokens, reply.cost);
        let guessed = || {
            let bytes: usize = messages.iter().map(|message| message.text.len()).sum();
            (bytes + reply.text.len()) as u64 / 4
        };
        self.spent = self.spent.saturating_add(reply.tokens.map_or_else(guessed, |tokens| tokens.total()));
        self.messages.push(Message::assistant(reply.text.clone()));
        self.told = self.messages.len();
        self.tell(AgentEvent::Reply { step: number, tokens: reply.tokens, cost: reply.cost }).await;
        Ok(reply)
    }

    async fn tell_delta(&mut self, step: u32, delta: Delta) {
        let event = match delta {
            Delta::Text(text) => {
                // A reply that never ends is kept as far as it came.
                if let Some(record) = &mut self.step {
                    record.reply.push_str(&text);
                }
                AgentEvent::ModelText { step, text }
            }
            Delta::Retrying { reason, wait } => {
                if let Some(record) = &mut self.step {
                    record.reply.clear();
                }
                AgentEvent::ModelRetry { step, reason, wait_ms: wait.as_millis() as u64 }
            }
        };
        self.tell(event).await;
    }

    /// Takes the script out of a reply, and looks at it.
    pub(super) async fn consider(&mut self, number: u32, reply: &Reply) -> Result<Said, Stopped> {
        if reply.stop == Stop::Refused {
            let error = format!("it refused: {}", crate::prompt::clip(reply.text.trim(), 400));
            return Err(Stopped::by_model(&crate::model::ModelError::Failed { reason: error }));
        }
        let (script, is_bare) = match extract(&reply.text) {
            Extracted::Script { script, .. } => (script, false),
            Extracted::Bare(text) if self.orchestrator.mode == AgentMode::Interactive => {
                return Ok(Said::Words(text));
            }
            Extracted::Bare(script) if has_code(&script) => (script, true),
            nothing => {
                let what = match nothing {
                    Extracted::Bare(text) if text.trim().is_empty() => "the reply is empty".to_owned(),
                    Extracted::Foreign { language } => {
                        format!("there is no Python in the reply, only {language:?}")
                    }
                    Extracted::Empty => "the block in the reply is empty".to_owned(),
                    _ => "there is no script in the reply".to_owned(),
                };
                let findings = self.no_script(number, &what).await;
                return Ok(Said::Script(String::new(), findings));
            }
        };
        self.tell(AgentEvent::Script { step: number, script: script.clone() }).await;
        if let Some(step) = &mut self.step {
            step.script = Some(script.clone());
        }
        self.begin(Phase::Vet);
        let mut findings = Vec::new();
        if reply.stop == Stop::Length {
            let last = script.lines().count().max(1) as u32;
            let message = "the reply reached its longest and is cut off here: write a shorter script";
            findings.push(Finding::new(last, Rule::CutOff, message));
        } else if let Some(vetting) = &self.orchestrator.vetting {
            let must_emit = self.orchestrator.mode == AgentMode::Plan;
            findings = vetting.vet(&self.orchestrator.sandbox, &script, &self.tools, must_emit).await?;
        }
        // It may have been meant as words.
        for finding in findings.iter_mut().filter(|finding| is_bare && finding.rule == Rule::Syntax) {
            finding.message += ". The reply has no ```python block: write the script in one";
        }
        self.end_phase();
        self.note_findings(number, &findings).await;
        Ok(Said::Script(script, findings))
    }

    /// The finding that there is no script.
    pub(super) async fn no_script(&mut self, number: u32, what: &str) -> Vec<Finding> {
        let message = format!("{what}: write the script in one ```python block");
        let findings = vec![Finding::new(1, Rule::NoScript, message)];
        self.note_findings(number, &findings).await;
        findings
    }

    async fn note_findings(&mut self, step: u32, findings: &[Finding]) {
        if let Some(step) = &mut self.step {
            step.findings = findings.to_vec();
        }
        self.tell(AgentEvent::Vetted { step, findings: findings.to_vec() }).await;
    }

    /// Hands on the events of a run. Gives its result, or what the model has to change about it.
    pub(super) async fn follow(
        &mut self,
        number: u32,
        execution: Execution,
    ) -> Result<Result<ExecutionResult, Vec<Finding>>, Stopped> {
        self.begin(Phase::Run);
        self.running = Some(Running::new(execution));
        while let Some(event) = self.next_event().await {
            self.tell(AgentEvent::Run { step: number, event }).await;
        }
        let result = match &mut self.running {
            Some(running) => running.result().await,
            None => None,
        };
        self.running = None;
        let result = match result.unwrap_or(Err(RuntimeError::Abandoned)) {
            Ok(result) => result,
            // The model wrote it, unless the caller's own part of the request is wrong.
            Err(RuntimeError::Script(error)) if self.task.request_for(number, "1").check().is_ok() => {
                let findings = vec![Finding::new(1, Rule::Syntax, error.to_string())];
                // It was never begun.
                self.phase = None;
                self.note_findings(number, &findings).await;
                return Ok(Err(findings));
            }
            Err(error) => return Err(error.into()),
        };
        self.end_phase();
        if let Some(step) = &mut self.step {
            step.result = Some(result.clone());
        }
        Ok(Ok(result))
    }

    async fn next_event(&mut self) -> Option<belljar_core::Event> {
        self.running.as_mut()?.next().await
    }

    /// Tells the model what is wrong with a script that was not run.
    pub(super) fn answer_findings(&mut self, script: &str, findings: &[Finding]) -> Result<(), Stopped> {
        let mode = self.orchestrator.mode;
        let told = after_findings(findings, mode, Aside::default());
        let is_repeated = self.is_repeated(script, &told, None)?;
        let text = after_findings(findings, mode, Aside { is_repeated, ..Aside::default() });
        self.messages.push(Message::user(text));
        Ok(())
    }

    /// Tells the model how a run ended.
    pub(super) fn answer_run(
        &mut self,
        script: &str,
        result: &ExecutionResult,
        is_new_session: bool,
    ) -> Result<(), Stopped> {
        let (mode, most) = (self.orchestrator.mode, self.orchestrator.limits.shown_bytes);
        let told = after_run(result, mode, Aside::default(), most);
        // The model is told to send it again, so that is no circle.
        let is_repeated = result.verdict != Verdict::Infra
            && self.is_repeated(script, &told, result.error.as_deref().filter(|_| !result.success()))?;
        let text = after_run(result, mode, Aside { is_repeated, is_new_session }, most);
        self.messages.push(Message::user(text));
        Ok(())
    }

    fn is_repeated(&mut self, script: &str, told: &str, error: Option<&str>) -> Result<bool, Stopped> {
        match self.loops.note(script, told, error) {
            Turn::New => Ok(false),
            Turn::Repeated => Ok(true),
            Turn::Loop => Err(Stopped::gave_up(GaveUp::Loop)),
        }
    }
}
