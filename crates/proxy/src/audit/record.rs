//! One decision while it is carried out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belljar_core::NetworkVerdict;
use belljar_core::policy::Rule;
use tokio::time::{Instant, sleep_until};
use tracing::field::{self, Empty};
use tracing::{Span, debug_span};

use super::Audit;
use super::ledger::LedgerUpdate;

/// What the guest asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The policy entry that allows it, if any.
    pub(crate) entry: Option<String>,
}

/// One decision while it is carried out. Dropping it ends it.
pub(crate) struct Record {
    audit: Arc<Audit>,
    progress: Arc<Progress>,
    /// Lives as long as the record, and holds its outcome. The host is not in it, because a guest
    /// chooses the host and can put a secret there.
    span: Span,
}

impl Record {
    pub(super) fn new(audit: Arc<Audit>, progress: Arc<Progress>) -> Self {
        let Asked { entry, port, .. } = &progress.asked;
        let entry = entry.as_deref().unwrap_or_default();
        let span = debug_span!("proxy.connect", entry, port, verdict = Empty, sent = Empty, received = Empty);
        Self { audit, progress, span }
    }

    pub(crate) fn deny(&self, rule: Rule) {
        self.audit.settle(&self.progress, NetworkVerdict::Denied { rule: rule.to_string() });
    }

    /// The reason may quote what a host said, so it is made safe to print.
    pub(crate) fn fail(&self, reason: &str) {
        const MOST: usize = 300;
        let harmless = |part: char| match part {
            ' '..='~' => vec![part],
            other => other.escape_default().collect(),
        };
        let reason = reason.chars().flat_map(harmless).take(MOST).collect();
        self.audit.settle(&self.progress, NetworkVerdict::Failed { reason });
    }

    pub(crate) fn sent(&self, bytes: u64) {
        self.progress.sent.fetch_add(bytes, Ordering::Relaxed);
        self.progress.note_movement();
    }

    pub(crate) fn received(&self, bytes: u64) {
        self.progress.received.fetch_add(bytes, Ordering::Relaxed);
        self.progress.note_movement();
    }

    /// Continues the record for a request that begins now. Returns `false` if it was already
    /// counted, as part of an earlier step.
    pub(crate) fn goes_on(&self) -> bool {
        self.progress.note_movement();
        !self.progress.reported().is_counted
    }

    /// Waits until nothing has been carried for that long, counted from the last byte.
    pub(crate) async fn stalled(&self, idle: Duration) {
        loop {
            let due = self.progress.last_movement() + idle;
            if Instant::now() >= due {
                return;
            }
            sleep_until(due).await;
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.audit.close(&self.progress);
        if self.span.is_disabled() {
            return;
        }
        match &self.progress.reported().verdict {
            NetworkVerdict::Allowed => self.span.record("verdict", "allowed"),
            NetworkVerdict::Denied { rule } => self.span.record("verdict", format!("denied: {rule}")),
            NetworkVerdict::Failed { .. } => self.span.record("verdict", "failed"),
            other => self.span.record("verdict", field::debug(other)),
        };
        let [sent, received] =
            [&self.progress.sent, &self.progress.received].map(|count| count.load(Ordering::Relaxed));
        self.span.record("sent", sent).record("received", received);
    }
}

/// How far a decision has come, and how much of that was reported.
pub(super) struct Progress {
    pub(super) number: u64,
    asked: Asked,
    began: Instant,
    sent: AtomicU64,
    received: AtomicU64,
    /// When something was last carried, in milliseconds since it began.
    moved: AtomicU64,
    reported: Mutex<Reported>,
}

/// What the ledger already knows of it.
struct Reported {
    verdict: NetworkVerdict,
    is_settled: bool,
    is_counted: bool,
    sent: u64,
    received: u64,
    lasted: Duration,
}

impl Progress {
    pub(super) fn new(number: u64, asked: Asked) -> Self {
        let reported = Reported {
            verdict: NetworkVerdict::Allowed,
            is_settled: false,
            is_counted: false,
            sent: 0,
            received: 0,
            lasted: Duration::ZERO,
        };
        Self {
            number,
            asked,
            began: Instant::now(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            reported: Mutex::new(reported),
        }
    }

    fn note_movement(&self) {
        let since = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.store(since, Ordering::Relaxed);
    }

    fn last_movement(&self) -> Instant {
        self.began + Duration::from_millis(self.moved.load(Ordering::Relaxed))
    }

    /// Sets the verdict. The first one stays. It counts again, even if the decision was counted as
    /// allowed before.
    pub(super) fn settle(&self, verdict: NetworkVerdict) {
        let mut reported = self.reported();
        if !reported.is_settled {
            reported.verdict = verdict;
            reported.is_settled = true;
            reported.is_counted = false;
        }
    }

    /// What the ledger does not know yet. Afterwards the ledger knows it.
    pub(super) fn unreported(&self) -> Option<LedgerUpdate> {
        let mut reported = self.reported();
        let (sent, received) = (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed));
        let lasted = self.began.elapsed();
        let update = LedgerUpdate {
            order: self.number,
            host: self.asked.host.clone(),
            port: self.asked.port,
            entry: self.asked.entry.clone(),
            verdict: reported.verdict.clone(),
            count: u64::from(!reported.is_counted),
            sent: sent - reported.sent,
            received: received - reported.received,
            lasted: lasted - reported.lasted,
        };
        let is_news = update.count + update.sent + update.received > 0;
        (reported.is_counted, reported.sent, reported.received, reported.lasted) =
            (true, sent, received, lasted);
        is_news.then_some(update)
    }

    fn reported(&self) -> MutexGuard<'_, Reported> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::policy::Denial;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stall_is_counted_from_the_last_byte() {
        let audit = Arc::new(Audit::new(2, None));
        let record = audit.open(Asked { host: "a.com".into(), port: 443, entry: None });
        let idle = Duration::from_secs(60);
        let began = Instant::now();
        let carrying = async {
            for seconds in [1, 30] {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                record.sent(1);
            }
            std::future::pending::<()>().await
        };
        tokio::select! {
            () = carrying => unreachable!(),
            () = record.stalled(idle) => {}
        }
        assert_eq!(began.elapsed(), Duration::from_secs(31 + 60));
    }

    #[test]
    fn what_a_host_said_is_harmless_to_print() {
        let audit = Arc::new(Audit::new(2, None));
        let record = audit.open(Asked { host: "a.com".into(), port: 443, entry: None });
        record.fail(&format!("certificate for \u{1b}[2J\u{202e}\r\n\"x\"{}", "y".repeat(1000)));
        let NetworkVerdict::Failed { reason } = audit.take().remove(0).verdict else { panic!() };
        assert!(
            reason.starts_with(r#"certificate for \u{1b}[2J\u{202e}\r\n"x"y"#) && reason.len() == 300,
            "{reason}"
        );
    }

    /// What a subscriber hears of spans: a line for each new one, and a line for each addition.
    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl tracing::field::Visit for Line {
        fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
            self.0.push_str(&format!(" {field}={value:?}"));
        }
    }

    impl tracing::Subscriber for Heard {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            let mut line = Line(span.metadata().name().to_owned());
            span.record(&mut line);
            self.0.lock().unwrap().push(line.0);
            tracing::span::Id::from_u64(1)
        }

        fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
            let mut line = Line(String::new());
            values.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }

        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

        fn event(&self, _: &tracing::Event<'_>) {}

        fn enter(&self, _: &tracing::span::Id) {}

        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn each_decision_is_a_span_with_what_it_came_to_and_without_the_guests_words() {
        let heard = Heard::default();
        tracing::subscriber::with_default(heard.clone(), || {
            let audit = Arc::new(Audit::new(2, None));
            let asked = Asked { host: "hunter2.a.com".into(), port: 443, entry: Some("*.a.com".into()) };
            let record = audit.open(asked);
            record.sent(3);
            drop(record);
            audit.deny(&Denial::new("hunter2.com", 80, Rule::NotListed));
        });
        let heard = heard.0.lock().unwrap().concat();
        assert_eq!(
            heard,
            "proxy.connect entry=\"*.a.com\" port=443 verdict=\"allowed\" sent=3 received=0\
             proxy.connect entry=\"\" port=80 verdict=\"denied: not in allowed_hosts\" sent=0 received=0"
        );
    }
}
