//! Sums up the part of a run's `network` that is not reported one by one. Pure.
//!
//! A script can ask as often and for as many hosts as it likes. So the proxy reports a limited
//! number of refusals as they happen, and names a limited number of hosts. The rest is counted.
//! Readers of the events or the result learn that there is more, and how much.

use belljar_core::{Decision, EventKind, NetworkVerdict, OTHER_HOSTS};

/// How many of a run's refusals became events.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    told: u64,
}

impl Refusals {
    /// Counts one more event.
    pub(crate) fn note(&mut self) {
        self.told += 1;
    }

    fn untold(&self, network: &[Decision]) -> u64 {
        let denied = network.iter().filter(|line| matches!(line.verdict, NetworkVerdict::Denied { .. }));
        denied.map(|line| line.count).sum::<u64>().saturating_sub(self.told)
    }

    /// The last refusal of a stream. It stands for those that did not become events.
    pub(crate) fn last_event(&self, network: &[Decision]) -> Option<EventKind> {
        let untold = self.untold(network);
        let rule =
            format!("{untold} more refusals were not told one by one; the result's `network` counts them");
        (untold > 0).then(|| EventKind::Denied { target: OTHER_HOSTS.to_owned(), rule })
    }

    /// The warnings for the result.
    pub(crate) fn warnings(&self, network: &[Decision]) -> Vec<String> {
        let (untold, unnamed) = (self.untold(network), summed_up(network));
        let mut warnings = Vec::new();
        if untold > 0 {
            warnings
                .push(format!("{untold} more refusals than were told as events are counted in `network`"));
        }
        if unnamed > 0 {
            warnings.push(format!(
                "the script asked for more hosts than are named: {unnamed} connections and requests are summed up in `network`"
            ));
        }
        warnings
    }
}

/// How many connections and requests are in entries that do not name their host.
fn summed_up(network: &[Decision]) -> u64 {
    network.iter().filter(|line| line.is_summary()).map(|line| line.count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(host: &str, denied: bool, count: u64) -> Decision {
        let verdict = match denied {
            true => NetworkVerdict::Denied { rule: "no".into() },
            false => NetworkVerdict::Allowed,
        };
        let mut decision = Decision::new(host, 1, verdict);
        decision.count = count;
        decision
    }

    #[test]
    fn nothing_is_said_where_everything_was_told_and_named() {
        let mut refusals = Refusals::default();
        refusals.note();
        let network = [line("a", true, 1), line("b", false, 1000)];
        assert_eq!((refusals.last_event(&network), refusals.warnings(&network)), (None, Vec::new()));
    }

    #[test]
    fn what_was_not_told_or_not_named_is_counted() {
        let mut refusals = Refusals::default();
        refusals.note();
        let network =
            [line("a", true, 4), line(OTHER_HOSTS, true, 10), line("*.b", false, 5), line("*.c", true, 1)];
        let Some(EventKind::Denied { target, rule }) = refusals.last_event(&network) else { panic!() };
        assert_eq!((target.as_str(), rule.starts_with("14 more refusals")), (OTHER_HOSTS, true), "{rule}");
        let warnings = refusals.warnings(&network);
        assert!(warnings[0].starts_with("14 more") && warnings[1].contains("15 connections"), "{warnings:?}");
    }
}
