//! The lines of a result's `network`. Equal decisions share one line. Pure.

use std::collections::HashMap;
use std::time::Duration;

use belljar_core::{Decision, NetworkVerdict, OTHER_HOSTS};

/// A decision, or a part of one.
#[derive(Debug)]
pub(super) struct LedgerUpdate {
    /// When it began: its place in the order of all decisions.
    pub(super) order: u64,
    pub(super) host: String,
    pub(super) port: u16,
    /// The policy entry that allows it, if any.
    pub(super) entry: Option<String>,
    pub(super) verdict: NetworkVerdict,
    /// 1, or 0 if it adds to something counted before.
    pub(super) count: u64,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) lasted: Duration,
}

impl LedgerUpdate {
    /// The same as a line of its own.
    pub(super) fn decision(&self) -> Decision {
        let mut line = Line::new(self.order);
        line.add(self);
        line.into_decision(Key::of(self))
    }
}

/// Two decisions with the same key share a line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    host: String,
    port: u16,
    verdict: NetworkVerdict,
}

impl Key {
    fn of(update: &LedgerUpdate) -> Self {
        Self { host: update.host.clone(), port: update.port, verdict: update.verdict.clone() }
    }

    /// The key when there is no room for the name. There are as many of these as rules and policy
    /// entries.
    fn without_name(update: &LedgerUpdate) -> Self {
        let verdict = match &update.verdict {
            NetworkVerdict::Failed { .. } => NetworkVerdict::Failed { reason: "for various reasons".into() },
            other => other.clone(),
        };
        match (&update.entry, &verdict) {
            (Some(entry), NetworkVerdict::Allowed | NetworkVerdict::Failed { .. }) => {
                Self { host: entry.clone(), port: update.port, verdict }
            }
            _ => Self { host: OTHER_HOSTS.into(), port: 0, verdict },
        }
    }
}

#[derive(Debug)]
struct Line {
    order: u64,
    count: u64,
    sent: u64,
    received: u64,
    lasted: Duration,
}

impl Line {
    fn new(order: u64) -> Self {
        Self { order, count: 0, sent: 0, received: 0, lasted: Duration::ZERO }
    }

    fn add(&mut self, update: &LedgerUpdate) {
        self.order = self.order.min(update.order);
        self.count += update.count;
        self.sent += update.sent;
        self.received += update.received;
        self.lasted += update.lasted;
    }

    fn into_decision(self, key: Key) -> Decision {
        let mut decision = Decision::new(key.host, key.port, key.verdict);
        decision.count = self.count;
        decision.bytes_sent = self.sent;
        decision.bytes_received = self.received;
        decision.ms = self.lasted.as_secs_f64() * 1000.0;
        decision
    }
}

/// What happened since somebody last asked.
#[derive(Debug)]
pub(super) struct Ledger {
    lines: HashMap<Key, Line>,
    /// How many more names fit, for refusals and for the rest.
    room_for_denied: usize,
    room_for_others: usize,
}

impl Ledger {
    /// Has room for `most` names, half of them for refusals.
    pub(super) fn new(most: usize) -> Self {
        let room_for_denied = most / 2;
        Self { lines: HashMap::new(), room_for_denied, room_for_others: most - room_for_denied }
    }

    /// Adds to the line it belongs to. Returns whether that line is new.
    pub(super) fn add(&mut self, update: &LedgerUpdate) -> bool {
        let mut key = Key::of(update);
        if !self.lines.contains_key(&key) {
            let room = match update.verdict {
                NetworkVerdict::Denied { .. } => &mut self.room_for_denied,
                _ => &mut self.room_for_others,
            };
            match room.checked_sub(1) {
                Some(left) => *room = left,
                None => key = Key::without_name(update),
            }
        }
        let is_new = !self.lines.contains_key(&key);
        self.lines.entry(key).or_insert_with(|| Line::new(update.order)).add(update);
        is_new
    }

    /// The lines, ordered by when the first decision of each began.
    pub(super) fn into_decisions(self) -> Vec<Decision> {
        let mut lines: Vec<_> = self.lines.into_iter().collect();
        lines.sort_by_key(|(_, line)| line.order);
        lines.into_iter().map(|(key, line)| line.into_decision(key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(order: u64, host: &str, verdict: NetworkVerdict) -> LedgerUpdate {
        let entry = (!matches!(verdict, NetworkVerdict::Denied { .. })).then(|| "*.wild.com".to_owned());
        LedgerUpdate {
            order,
            host: host.into(),
            port: 443,
            entry,
            verdict,
            count: 1,
            sent: 10,
            received: 1,
            lasted: Duration::from_millis(2),
        }
    }

    fn denied(rule: &str) -> NetworkVerdict {
        NetworkVerdict::Denied { rule: rule.into() }
    }

    #[test]
    fn what_came_to_the_same_is_one_line() {
        let mut ledger = Ledger::new(10);
        assert!(ledger.add(&update(2, "b", NetworkVerdict::Allowed)));
        assert!(ledger.add(&update(1, "a", NetworkVerdict::Allowed)));
        assert!(!ledger.add(&update(0, "b", NetworkVerdict::Allowed)));
        assert!(ledger.add(&update(3, "b", denied("x"))), "another verdict is another line");
        assert!(ledger.add(&update(4, "b", denied("y"))), "and so is another rule");
        let lines = ledger.into_decisions();
        assert_eq!(lines.iter().map(|line| line.host.as_str()).collect::<Vec<_>>(), ["b", "a", "b", "b"]);
        let first = &lines[0];
        assert_eq!((first.count, first.bytes_sent, first.bytes_received, first.ms), (2, 20, 2, 4.0));
    }

    #[test]
    fn names_are_bounded_and_nothing_is_left_uncounted() {
        let mut ledger = Ledger::new(20);
        for number in 0..1000u64 {
            ledger.add(&update(number, &format!("n{number}.evil"), denied("not listed")));
            ledger.add(&update(number, &format!("n{number}.wild.com"), NetworkVerdict::Allowed));
            let reason = format!("reason {number}");
            ledger.add(&update(number, &format!("n{number}.wild.com"), NetworkVerdict::Failed { reason }));
        }
        ledger.add(&update(9999, "late.evil", denied("another rule")));
        let lines = ledger.into_decisions();
        assert!(lines.len() <= 20 + 4, "{} lines", lines.len());
        assert_eq!(lines.iter().map(|line| line.count).sum::<u64>(), 3001);
        let bytes: u64 = lines.iter().filter(|line| line.is_summary()).map(|line| line.bytes_sent).sum();
        assert_eq!(bytes, 10 * (3001 - 20), "what has no name has its bytes");
        let summed: Vec<_> =
            lines.iter().filter(|line| line.is_summary()).map(|line| line.host.as_str()).collect();
        assert_eq!(summed.iter().filter(|host| **host == OTHER_HOSTS).count(), 2, "one for each rule");
        assert_eq!(summed.iter().filter(|host| **host == "*.wild.com").count(), 2, "allowed, and failed");
    }

    #[test]
    fn refusals_and_the_rest_do_not_crowd_each_other_out() {
        let mut ledger = Ledger::new(4);
        for number in 0..10 {
            ledger.add(&update(number, &format!("n{number}.evil"), denied("not listed")));
        }
        ledger.add(&update(10, "good.wild.com", NetworkVerdict::Allowed));
        let lines = ledger.into_decisions();
        assert!(lines.iter().any(|line| line.host == "good.wild.com"), "{lines:?}");
    }
}
