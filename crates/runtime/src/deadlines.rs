//! What reaches a run from outside: the clock, the processor time it has used, its caller.

use std::time::{Duration, Instant};

use belljar_core::config::ExecutionMode;
use belljar_core::wire::OUTCOME_GRACE;
use belljar_engine::{Alarm, CellView};

use crate::control::{Wish, Wishes};
use crate::transcript::Ending;

/// How long after the guest's own alarm the host kills. The alarm is a courtesy that gives a
/// traceback. The host's limit is enforced.
const ALARM_GRACE: Duration = Duration::from_millis(300);
/// How long a step that went on after its result may take to end once it is interrupted. After that
/// its cell is killed, and everything the session has is lost. The time is long, because a machine
/// that is too busy to run the guest is no reason to end a session.
const INTERRUPT_GRACE: Duration = Duration::from_secs(2);
/// The shortest interval at which processor time is checked.
const CLOSEST_LOOK: Duration = Duration::from_millis(5);

/// What happened outside the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// The time limit has passed.
    Time,
    /// The outcome has been known for long enough.
    Grace,
    /// The processor time may be used up. [`Deadlines::breach`] checks.
    Look,
    /// The caller gave up.
    Cancelled,
    /// The caller wants the script to stop and to keep the cell.
    Interrupted,
}

/// How much processor time a run has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    /// The value of the cell's counter at which it is used up.
    pub(crate) until: Duration,
    /// How many cores can use it at the same time.
    pub(crate) cores: f64,
}

/// The limits of one run that need a clock.
pub(crate) struct Deadlines<'a> {
    due: Instant,
    /// Set to the time limit until the outcome is known, and then to the end of the grace.
    alarm: Alarm,
    outcome_is_known: bool,
    allowance: Option<(Allowance, Alarm)>,
    wishes: &'a Wishes,
}

impl<'a> Deadlines<'a> {
    pub(crate) fn new(
        started: Instant,
        timeout: Duration,
        allowance: Option<Allowance>,
        wishes: &'a Wishes,
    ) -> Self {
        let mut deadlines = Self::exact(started, timeout, allowance, wishes);
        deadlines.alarm = Alarm::at(deadlines.due + ALARM_GRACE);
        deadlines
    }

    /// The same without a grace, for what has no alarm of its own.
    pub(crate) fn exact(
        started: Instant,
        timeout: Duration,
        allowance: Option<Allowance>,
        wishes: &'a Wishes,
    ) -> Self {
        let due = started + timeout;
        let first_look = |allowance: Allowance| (allowance, Alarm::after(CLOSEST_LOOK));
        Self {
            due,
            alarm: Alarm::at(due),
            outcome_is_known: false,
            allowance: allowance.map(first_look),
            wishes,
        }
    }

    /// Waits for the next call. Cancel safe.
    pub(crate) async fn call(&mut self) -> Call {
        let look = async {
            match &mut self.allowance {
                Some((_, timer)) => timer.wait().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.alarm.wait() => if self.outcome_is_known { Call::Grace } else { Call::Time },
            wish = self.wishes.next() => match wish {
                Wish::Cancel => Call::Cancelled,
                Wish::Interrupt => Call::Interrupted,
            },
            () = look => Call::Look,
        }
    }

    /// The ending that a call leads to. `None` if there is processor time left.
    pub(crate) fn breach(&mut self, call: Call, cell: &dyn CellView) -> Option<Ending> {
        match call {
            Call::Time => Some(Ending::Deadline),
            Call::Grace => Some(Ending::Overstayed),
            Call::Cancelled => Some(Ending::Cancelled),
            Call::Interrupted => None,
            Call::Look => {
                let spent = Duration::from_micros(cell.usage().cpu_micros.unwrap_or(0));
                self.is_spent(spent).then_some(Ending::CpuSpent)
            }
        }
    }

    /// Whether `spent` uses up the processor time. If not, sets the next check to when it could be
    /// used up.
    fn is_spent(&mut self, spent: Duration) -> bool {
        let Some((allowance, timer)) = &mut self.allowance else { return false };
        let left = allowance.until.saturating_sub(spent);
        if left.is_zero() {
            return true;
        }
        let at_the_earliest = left.div_f64(allowance.cores.max(0.01)).max(CLOSEST_LOOK);
        timer.set(Instant::now() + at_the_earliest);
        false
    }

    /// Whether the script's time limit has passed.
    pub(crate) fn time_is_up(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Shortens the wait: what is left is not worth the whole limit. A step is interrupted by its
    /// own harness first.
    pub(crate) fn outcome_is_known(&mut self, mode: ExecutionMode) {
        let grace = match mode {
            ExecutionMode::Interactive => OUTCOME_GRACE + INTERRUPT_GRACE,
            _ => OUTCOME_GRACE,
        };
        let soon = Instant::now() + grace;
        if soon < self.alarm.due() {
            self.alarm.set(soon);
            self.outcome_is_known = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::RunHandle;

    #[tokio::test]
    async fn processor_time_is_looked_at_when_it_could_be_used_up_and_not_before() {
        let nobody = Wishes::none();
        let allowance = Allowance { until: Duration::from_secs(1), cores: 0.5 };
        let started = Instant::now();
        let mut deadlines = Deadlines::new(started, Duration::from_secs(60), Some(allowance), &nobody);
        assert_eq!(deadlines.call().await, Call::Look);
        let looked = Instant::now();
        assert!(!deadlines.is_spent(Duration::from_millis(500)));
        let next = deadlines.allowance.as_ref().unwrap().1.due();
        assert!(next >= looked + Duration::from_secs(1), "half a second is left, at half a core");
        assert!(deadlines.is_spent(Duration::from_secs(1)));
    }

    #[tokio::test]
    async fn a_caller_who_goes_away_has_not_cancelled() {
        let handle = RunHandle::default();
        let wishes = Wishes::of(handle.clone());
        drop(handle);
        let mut deadlines = Deadlines::new(Instant::now(), Duration::from_millis(1), None, &wishes);
        assert_eq!(deadlines.call().await, Call::Time);
        let handle = RunHandle::default();
        let wishes = Wishes::of(handle.clone());
        let mut deadlines = Deadlines::new(Instant::now(), Duration::from_secs(60), None, &wishes);
        handle.interrupt();
        assert_eq!(deadlines.call().await, Call::Interrupted);
        handle.cancel();
        assert_eq!(deadlines.call().await, Call::Cancelled);
    }
}
