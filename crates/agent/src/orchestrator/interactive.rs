//! INTERACTIVE: steps in one session, until there is a result or the model says that it is done.

use belljar_core::ExecutionRequest;
use belljar_core::config::ExecutionMode;
use belljar_runtime::Session;

use super::driver::{Driver, Stopped};
use super::turn::Said;
use super::underway::Phase;
use crate::record::GaveUp;

/// The word by which a model ends without a result.
const DONE: &str = "DONE";

impl Driver<'_> {
    pub(super) async fn interact(&mut self) -> Result<(), Stopped> {
        let sandbox = self.orchestrator.sandbox.clone();
        let mut session: Option<Session> = None;
        for number in 1..=self.orchestrator.limits.steps {
            let reply = self.ask(number).await?;
            let (script, mut findings) = match self.consider(number, &reply).await? {
                Said::Script(script, findings) => (script, findings),
                Said::Words(words) => match answer_in(&words) {
                    Some(answer) => {
                        self.record.answer = Some(answer);
                        self.collect(session.as_mut()).await?;
                        self.end_step().await;
                        return Ok(());
                    }
                    None => {
                        let what = "there is no script in the reply, and no DONE";
                        (String::new(), self.no_script(number, what).await)
                    }
                },
            };
            if findings.is_empty() {
                self.begin(Phase::Run);
                let is_new = session.is_none();
                let held = match &mut session {
                    Some(held) => held,
                    None => session.insert(sandbox.session().await?),
                };
                let execution = held.stream(self.step_request(number, &script, is_new));
                match self.follow(number, execution).await? {
                    Ok(result) if result.success() && result.final_data.is_some() => {
                        self.record.result = result.final_data;
                        self.collect(session.as_mut()).await?;
                        self.end_step().await;
                        return Ok(());
                    }
                    Ok(result) => {
                        self.end_step().await;
                        let is_gone = !held.is_alive();
                        if is_gone {
                            session = None;
                        }
                        self.answer_run(&script, &result, is_gone)?;
                        continue;
                    }
                    Err(refused) => findings = refused,
                }
            }
            self.end_step().await;
            self.answer_findings(&script, &findings)?;
        }
        Err(Stopped::gave_up(GaveUp::Steps))
    }

    /// A step. What is given is given to the first one of a session, and what is wanted is
    /// collected after the last.
    fn step_request(&self, number: u32, script: &str, is_first: bool) -> ExecutionRequest {
        let mut request = self.task.request_for(number, script).with_mode(ExecutionMode::Interactive);
        request.collect = Vec::new();
        if !is_first {
            request.files = Vec::new();
        }
        request
    }

    /// Puts the files that the task wants into the result of the last step.
    async fn collect(&mut self, session: Option<&mut Session>) -> Result<(), Stopped> {
        let wanted = &self.task.request;
        let Some(session) = session.filter(|held| !wanted.collect.is_empty() && held.is_alive()) else {
            return Ok(());
        };
        let mut request = ExecutionRequest::new("pass").with_mode(ExecutionMode::Interactive);
        request.collect.clone_from(&wanted.collect);
        request.collect_limits = wanted.collect_limits;
        let collected = session.step(request).await?;
        let last = self.record.steps.iter_mut().rev().filter_map(|step| step.result.as_mut());
        let here = self.step.as_mut().and_then(|step| step.result.as_mut());
        if let Some(result) = here.into_iter().chain(last).next() {
            result.files = collected.files;
            result.warnings.extend(collected.warnings);
        }
        Ok(())
    }
}

/// What a model says besides `DONE`, if it says that.
fn answer_in(words: &str) -> Option<String> {
    let mut lines = words.trim().lines();
    let first = lines.next()?;
    let is_mark = |c: char| c.is_whitespace() || "*_`#.!:-".contains(c);
    let rest = first.trim_start_matches(is_mark).strip_prefix(DONE)?;
    if rest.starts_with(char::is_alphanumeric) {
        return None;
    }
    let rest = rest.trim_matches(is_mark);
    let answer: Vec<&str> = std::iter::once(rest).chain(lines).collect();
    Some(answer.join("\n").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_is_the_first_word() {
        for (words, answer) in [
            ("DONE", Some("")),
            ("DONE\nThe file is written.\n", Some("The file is written.")),
            ("**DONE** all of it", Some("all of it")),
            ("DONE: see above.", Some("see above")),
            ("I am not DONE", None),
            ("DONEGAL", None),
            ("done", None),
            ("", None),
        ] {
            assert_eq!(answer_in(words).as_deref(), answer, "{words}");
        }
    }
}
