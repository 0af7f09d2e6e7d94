//! How far a run has come, and when it is over. It has a clock, but no kernel.
//!
//! Reply and idle come over two channels, so either may be first. A kernel that is flooded may lose
//! one of them: the other alone ends the run when nothing more has come for a while.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use crate::content::Reader;
use crate::message::Message;
use crate::output::{KernelEvent, KernelStatus, Limits};

/// How long reply or idle is waited for, when the other is there and nothing more comes.
const SETTLED_AFTER: Duration = Duration::from_secs(5);
/// How long in any case. Output may come behind the reply.
const SETTLED_WITHIN: Duration = Duration::from_secs(60);
/// As good as for ever.
const FOR_EVER: Duration = Duration::from_secs(86_400 * 365);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: KernelStatus,
    pub(crate) execution_count: Option<u64>,
    pub(crate) output_was_cut: bool,
    pub(crate) kernel_was_restarted: bool,
}

/// What to do when time has come.
pub(crate) enum Ring {
    Interrupt,
    Replace,
    Nothing,
}

/// How far a run has come.
pub(crate) struct Progress {
    reader: Reader,
    deadline: Instant,
    grace: Duration,
    /// Why it shall end, since when, and whether it was interrupted twice.
    early: Option<(KernelStatus, Instant, bool)>,
    pub(crate) has_begun: bool,
    /// As soon as it has begun.
    pub(crate) wants_interrupt: bool,
    pub(crate) was_interrupted: bool,
    reply: Option<Reply>,
    /// The reply itself, if it tells of an exception.
    failure: Option<Message>,
    is_idle: bool,
    /// Since when one of both is there, and when the run was last heard of.
    half_over: Option<(Instant, Instant)>,
}

#[derive(Deserialize)]
struct Reply {
    status: String,
    #[serde(default)]
    execution_count: Option<u64>,
}

impl Progress {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            reader: Reader::new(limits.max_output_bytes),
            deadline: Instant::now() + limits.timeout.min(FOR_EVER),
            grace: limits.grace.min(FOR_EVER),
            early: None,
            has_begun: false,
            wants_interrupt: false,
            was_interrupted: false,
            reply: None,
            failure: None,
            is_idle: false,
            half_over: None,
        }
    }

    /// A message of this run.
    pub(crate) fn hear(&mut self, message: Message) -> Option<KernelEvent> {
        let event = match message.kind.as_str() {
            "execute_input" => {
                self.has_begun = true;
                None
            }
            "status" => {
                self.is_idle |= message.is_idle();
                None
            }
            "execute_reply" => {
                self.reply = message.content();
                let has_failed = self.reply.as_ref().is_some_and(|reply| reply.status == "error");
                self.failure = has_failed.then_some(message);
                None
            }
            _ => self.reader.read(&message),
        };
        if self.is_idle || self.reply.is_some() {
            let now = Instant::now();
            self.half_over = Some((self.half_over.map_or(now, |(since, _)| since), now));
        }
        event
    }

    /// The exception, if it is known from the reply only.
    pub(crate) fn last_words(&mut self) -> Option<KernelEvent> {
        let failure = self.failure.take()?;
        self.reader.raised(&failure).map(KernelEvent::Output)
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.early.is_none()
    }

    pub(crate) fn end_early(&mut self, why: KernelStatus) {
        self.early = Some((why, Instant::now(), false));
        self.wants_interrupt = true;
    }

    /// When to ring next.
    pub(crate) fn alarm(&self) -> Instant {
        match (self.half_over, self.early) {
            (Some((since, heard)), _) => (heard + SETTLED_AFTER).min(since + SETTLED_WITHIN),
            (None, Some((_, since, false))) => since + self.grace / 2,
            (None, Some((_, since, true))) => since + self.grace,
            (None, None) => self.deadline,
        }
    }

    pub(crate) fn ring(&mut self) -> Ring {
        match &mut self.early {
            _ if self.half_over.is_some() => {
                // One of them is lost, so output may be.
                self.reader.was_cut = true;
                self.is_idle = true;
                self.reply.get_or_insert(Reply { status: "lost".into(), execution_count: None });
                Ring::Nothing
            }
            None => {
                self.end_early(KernelStatus::TimedOut);
                Ring::Nothing
            }
            // The first may have come in a moment in which it was not heard.
            Some((_, _, is_second @ false)) => {
                *is_second = true;
                Ring::Interrupt
            }
            Some(_) => Ring::Replace,
        }
    }

    /// The end, if both parts of it are there.
    pub(crate) fn ended(&self) -> Option<Ended> {
        let reply = self.reply.as_ref().filter(|_| self.is_idle)?;
        let status = match (self.early, reply.status.as_str()) {
            (Some((why, ..)), _) => why,
            (None, "ok") => KernelStatus::Ok,
            (None, _) if self.was_interrupted => KernelStatus::Interrupted,
            (None, "lost") if !self.reader.has_error => KernelStatus::Ok,
            (None, _) => KernelStatus::Error,
        };
        Some(Ended {
            status,
            execution_count: reply.execution_count,
            output_was_cut: self.reader.was_cut,
            kernel_was_restarted: false,
        })
    }

    /// The end of a run that does not come to it.
    pub(crate) fn cut_off(&self, status: KernelStatus, kernel_was_restarted: bool) -> Ended {
        Ended {
            status: self.early.map_or(status, |(why, ..)| why),
            execution_count: self.reply.as_ref().and_then(|reply| reply.execution_count),
            output_was_cut: self.reader.was_cut || status == KernelStatus::TooMuchOutput,
            kernel_was_restarted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::tests::said;
    use serde_json::json;

    fn reply(status: &str) -> Message {
        said("execute_reply", &json!({"status": status, "execution_count": 3, "ename": "E", "evalue": "v"}))
    }

    fn idle() -> Message {
        said("status", &json!({"execution_state": "idle"}))
    }

    fn progress() -> Progress {
        Progress::new(&Limits::default())
    }

    #[test]
    fn a_run_is_over_when_reply_and_idle_are_there_in_any_order() {
        for (first, second) in [(reply("ok"), idle()), (idle(), reply("ok"))] {
            let mut progress = progress();
            progress.hear(first);
            assert!(progress.ended().is_none());
            progress.hear(second);
            let ended = progress.ended().unwrap();
            assert_eq!((ended.status, ended.execution_count), (KernelStatus::Ok, Some(3)));
        }
    }

    #[test]
    fn the_other_half_of_an_end_may_be_lost_and_then_output_may_be_too() {
        for half in [reply("ok"), idle()] {
            let mut progress = progress();
            progress.hear(half);
            assert!(matches!(progress.ring(), Ring::Nothing));
            let ended = progress.ended().unwrap();
            assert_eq!((ended.status, ended.output_was_cut), (KernelStatus::Ok, true));
        }
    }

    #[test]
    fn why_a_run_was_ended_counts_more_than_how_it_ended() {
        for (status, interrupted, early, expected) in [
            ("error", false, false, KernelStatus::Error),
            ("aborted", false, false, KernelStatus::Error),
            ("error", true, false, KernelStatus::Interrupted),
            ("ok", true, false, KernelStatus::Ok),
            ("error", true, true, KernelStatus::TimedOut),
            ("ok", false, true, KernelStatus::TimedOut),
        ] {
            let mut progress = progress();
            progress.was_interrupted = interrupted;
            if early {
                assert!(matches!(progress.ring(), Ring::Nothing) && progress.wants_interrupt);
            }
            progress.hear(reply(status));
            progress.hear(idle());
            assert_eq!(progress.ended().unwrap().status, expected, "{status} {interrupted} {early}");
        }
    }

    #[test]
    fn time_that_is_up_interrupts_twice_and_then_costs_the_process() {
        let mut progress = progress();
        assert!(matches!(progress.ring(), Ring::Nothing) && progress.wants_interrupt);
        assert!(matches!(progress.ring(), Ring::Interrupt));
        assert!(matches!(progress.ring(), Ring::Replace));
    }

    #[test]
    fn an_exception_that_only_the_reply_tells_of_is_told() {
        let mut progress = progress();
        progress.hear(reply("error"));
        progress.hear(idle());
        assert!(progress.last_words().is_some() && progress.last_words().is_none());
        let mut progress = super::tests::progress();
        progress.hear(said("error", &json!({"ename": "E", "evalue": "v", "traceback": []})));
        progress.hear(reply("error"));
        assert!(progress.last_words().is_none());
    }

    #[test]
    fn limits_beyond_all_measure_are_for_ever() {
        let limits = Limits { timeout: Duration::MAX, grace: Duration::MAX, max_output_bytes: usize::MAX };
        let mut progress = Progress::new(&limits);
        assert!(progress.alarm() > Instant::now());
        progress.ring();
        assert!(progress.alarm() > Instant::now());
    }
}
