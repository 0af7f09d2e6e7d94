//! What a cell asked for, kept for the result and told as it happens.
//!
//! A record is opened with the decision and shows what has happened so far, so a tunnel that is still open when the run
//! ends is in the result with the bytes it has carried. How many are kept is bounded; a guest that asks a million times
//! gets a number.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belljar_core::policy::{Denial, Rule};
use belljar_core::{Decision, NetworkVerdict};
use tracing::field::{self, Empty};
use tracing::{Span, debug_span};

/// Told about each denial that is kept, at once, on the proxy's task: it must not block.
pub(crate) type OnDenial = Arc<dyn Fn(&Decision) + Send + Sync>;

/// One cell's decisions.
pub(crate) struct Audit {
    kept: Mutex<Vec<Arc<Entry>>>,
    left_out: AtomicU64,
    most: usize,
    on_denial: Option<OnDenial>,
}

impl Audit {
    pub(crate) fn new(most: usize, on_denial: Option<OnDenial>) -> Self {
        Self { kept: Mutex::default(), left_out: AtomicU64::new(0), most, on_denial }
    }

    /// Begins a record of something that was allowed.
    pub(crate) fn open(self: &Arc<Self>, host: String, port: u16) -> Record {
        let span = debug_span!("proxy.connect", %host, port, verdict = Empty, sent = Empty, received = Empty);
        let entry = Arc::new(Entry::new(host, port));
        let mut kept = lock(&self.kept);
        let is_kept = kept.len() < self.most;
        if is_kept {
            kept.push(entry.clone());
        } else {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        Record { entry, on_denial: self.on_denial.clone().filter(|_| is_kept), span }
    }

    /// Records something that was refused before anything happened.
    pub(crate) fn deny(self: &Arc<Self>, denial: &Denial) {
        self.open(denial.host.clone(), denial.port).deny(denial.rule);
    }

    /// Everything since the last call, in order.
    pub(crate) fn take(&self) -> Vec<Decision> {
        let kept = mem::take(&mut *lock(&self.kept));
        kept.iter().map(|entry| entry.decision()).collect()
    }

    /// How many were not kept since the last call.
    pub(crate) fn take_left_out(&self) -> u64 {
        self.left_out.swap(0, Ordering::Relaxed)
    }
}

/// One decision while it is being carried out. Dropping it ends it.
pub(crate) struct Record {
    entry: Arc<Entry>,
    on_denial: Option<OnDenial>,
    /// As long as the record, with what it came to.
    span: Span,
}

impl Record {
    pub(crate) fn deny(&self, rule: Rule) {
        self.entry.settle(NetworkVerdict::Denied { rule: rule.to_string() });
        if let Some(tell) = &self.on_denial {
            tell(&self.entry.decision());
        }
    }

    pub(crate) fn fail(&self, reason: &str) {
        self.entry.settle(NetworkVerdict::Failed { reason: reason.to_owned() });
    }

    pub(crate) fn sent(&self, bytes: u64) {
        self.entry.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, bytes: u64) {
        self.entry.received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Waits until nothing has been carried for that long.
    pub(crate) async fn stalled(&self, idle: Duration) {
        let mut before = None;
        while before != Some(self.carried()) {
            before = Some(self.carried());
            tokio::time::sleep(idle).await;
        }
    }

    /// A number that changes with every byte carried.
    fn carried(&self) -> u64 {
        self.entry.sent.load(Ordering::Relaxed) + self.entry.received.load(Ordering::Relaxed)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        lock(&self.entry.outcome).lasted = Some(self.entry.began.elapsed());
        if self.span.is_disabled() {
            return;
        }
        let decision = self.entry.decision();
        match &decision.verdict {
            NetworkVerdict::Allowed => self.span.record("verdict", "allowed"),
            NetworkVerdict::Denied { rule } => self.span.record("verdict", format!("denied: {rule}")),
            NetworkVerdict::Failed { reason } => self.span.record("verdict", format!("failed: {reason}")),
            other => self.span.record("verdict", field::debug(other)),
        };
        self.span.record("sent", decision.bytes_sent).record("received", decision.bytes_received);
    }
}

struct Entry {
    host: String,
    port: u16,
    began: Instant,
    sent: AtomicU64,
    received: AtomicU64,
    outcome: Mutex<Outcome>,
}

struct Outcome {
    verdict: NetworkVerdict,
    lasted: Option<Duration>,
}

impl Entry {
    fn new(host: String, port: u16) -> Self {
        let outcome = Outcome { verdict: NetworkVerdict::Allowed, lasted: None };
        let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { host, port, began: Instant::now(), sent, received, outcome: Mutex::new(outcome) }
    }

    fn settle(&self, verdict: NetworkVerdict) {
        lock(&self.outcome).verdict = verdict;
    }

    fn decision(&self) -> Decision {
        let outcome = lock(&self.outcome);
        Decision {
            host: self.host.clone(),
            port: self.port,
            verdict: outcome.verdict.clone(),
            bytes_sent: self.sent.load(Ordering::Relaxed),
            bytes_received: self.received.load(Ordering::Relaxed),
            ms: outcome.lasted.unwrap_or_else(|| self.began.elapsed()).as_secs_f64() * 1000.0,
        }
    }
}

/// Nothing that is done under these locks can leave them half-written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_kept_up_to_a_bound_and_counted_beyond_it() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = told.clone();
        let on_denial: OnDenial =
            Arc::new(move |decision: &Decision| tell.lock().unwrap().push(decision.host.clone()));
        let audit = Arc::new(Audit::new(2, Some(on_denial)));
        for host in ["a", "b", "c", "d"] {
            audit.deny(&Denial::new(host, 1, Rule::NotListed));
        }
        let hosts: Vec<_> = audit.take().into_iter().map(|decision| decision.host).collect();
        assert_eq!((hosts, audit.take_left_out()), (vec!["a".to_owned(), "b".into()], 2));
        assert_eq!(*told.lock().unwrap(), ["a", "b"], "what is not kept is not told either");
        audit.deny(&Denial::new("e", 1, Rule::NotListed));
        assert_eq!((audit.take().len(), audit.take_left_out()), (1, 0));
    }

    #[test]
    fn an_open_record_shows_what_it_has_carried_so_far() {
        let audit = Arc::new(Audit::new(2, None));
        let record = audit.open("a.com".into(), 443);
        record.sent(3);
        record.received(4);
        let decision = audit.take().remove(0);
        assert_eq!(
            (decision.verdict, decision.bytes_sent, decision.bytes_received),
            (NetworkVerdict::Allowed, 3, 4)
        );
    }

    /// What a subscriber hears of spans: a line when one is made, and one for each time something is added.
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
            lock(&self.0).push(line.0);
            tracing::span::Id::from_u64(1)
        }

        fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
            let mut line = Line(String::new());
            values.record(&mut line);
            lock(&self.0).push(line.0);
        }

        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

        fn event(&self, _: &tracing::Event<'_>) {}

        fn enter(&self, _: &tracing::span::Id) {}

        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn each_decision_is_a_span_with_what_it_came_to() {
        let heard = Heard::default();
        tracing::subscriber::with_default(heard.clone(), || {
            let audit = Arc::new(Audit::new(2, None));
            let record = audit.open("a.com".into(), 443);
            record.sent(3);
            drop(record);
            audit.deny(&Denial::new("b.com", 80, Rule::NotListed));
        });
        let heard = lock(&heard.0).concat();
        assert_eq!(
            heard,
            "proxy.connect host=a.com port=443 verdict=\"allowed\" sent=3 received=0\
             proxy.connect host=b.com port=80 verdict=\"denied: not in allowed_hosts\" sent=0 received=0"
        );
    }
}
