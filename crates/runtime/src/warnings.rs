//! What a caller should know about a run besides its verdict, in words. All of it comes from the
//! host, and nothing from the guest.

use std::time::Duration;

use belljar_core::config::ExecutionMode;
use belljar_core::display::MOST_DISPLAYS;
use belljar_core::json::Repairs;
use belljar_core::wire::OUTCOME_GRACE;
use belljar_core::{MOST_TOOL_CALLS, Verdict};

use crate::transcript::{Ending, Facts, MissingDisplays, cause_of_death};

/// What the transcript knows that may need a warning.
pub(crate) struct Seen {
    pub(crate) mode: ExecutionMode,
    /// What decided the run, if anything did before it ended.
    pub(crate) outcome: Option<&'static str>,
    /// Repairs of the result, of the intermediate results, and of displays.
    pub(crate) repairs: [Repairs; 3],
    pub(crate) missing_displays: MissingDisplays,
    pub(crate) leftover_bytes: usize,
    /// Answered calls that the result does not list.
    pub(crate) unlisted_calls: u64,
}

/// All warnings, in the order in which their causes happened.
pub(crate) fn about(seen: &Seen, facts: &Facts<'_>, verdict: &Verdict) -> Vec<String> {
    let repaired = ["the result", "the intermediate results", "the displays"].into_iter().zip(&seen.repairs);
    let repaired = repaired.filter(|(_, repairs)| !repairs.is_empty()).map(|(what, repairs)| {
        format!("data of {what} that not every JSON reader can read was changed: {repairs}")
    });
    leftovers(seen.leftover_bytes)
        .into_iter()
        .chain(repaired)
        .chain(missing(seen.missing_displays))
        .chain(unlisted(seen.unlisted_calls))
        .chain(seen.outcome.and_then(|outcome| afterwards(seen.mode, outcome, facts)))
        .chain(facts.stdin_failure.as_ref().map(|reason| format!("the script's input ended early: {reason}")))
        .chain(killed(facts, verdict))
        .chain(refused(facts, verdict))
        .collect()
}

fn leftovers(bytes: usize) -> Option<String> {
    (bytes > 0).then(|| {
        format!(
            "threads or processes of earlier steps printed {bytes} bytes after their step had ended; they are not part of \
             this step's output"
        )
    })
}

fn unlisted(calls: u64) -> Option<String> {
    (calls > 0).then(|| {
        format!("{calls} more calls of tools are not listed: a result lists the first {MOST_TOOL_CALLS}")
    })
}

/// What the script showed, or wanted to, and is in no result.
fn missing(displays: MissingDisplays) -> impl Iterator<Item = String> {
    let MissingDisplays { left_out, refused, secret } = displays;
    let said = |count: u64, why: String| {
        let what = if count == 1 { "form of a display is" } else { "forms of displays are" };
        (count > 0).then(|| format!("{count} {what} missing: {why}"))
    };
    let bounds = format!(
        "a run may show {MOST_DISPLAYS} things, and all of them together may take half of what max_output_bytes leaves"
    );
    let faults = "the data is not what the MIME type says".to_owned();
    let secrets = "the value of a secret was found there".to_owned();
    [said(left_out, bounds), said(refused, faults), said(secret, secrets)].into_iter().flatten()
}

/// How a run ended after its outcome was known, unless it ended by itself.
fn afterwards(mode: ExecutionMode, outcome: &str, facts: &Facts<'_>) -> Option<String> {
    let seconds = OUTCOME_GRACE.as_secs_f64();
    Some(match &facts.ending {
        Ending::Finished | Ending::Flood | Ending::DiskSpent => return None,
        Ending::Overstayed if mode == ExecutionMode::Interactive => format!(
            "the script went on after {outcome}, did not end when it was interrupted {seconds} s later, and was killed; with it \
             its session is over"
        ),
        Ending::Overstayed => {
            format!(
                "the script went on after {outcome} and was killed {seconds} s later; what it had not done by then is not done"
            )
        }
        Ending::Deadline => format!("the script went on after {outcome} and was killed at its time limit"),
        Ending::CpuSpent => {
            format!("the script went on after {outcome} and was killed at its limit of processor time")
        }
        Ending::Cancelled => format!("the run was cancelled after {outcome}"),
        Ending::Died(autopsy) => format!("after {outcome} {}", cause_of_death(autopsy.end, &facts.used).1),
    })
}

/// A listener who did not take every event in time.
pub(crate) fn listener_too_slow(events: usize, within: Duration) -> String {
    let (what, seconds) = (if events == 1 { "event" } else { "events" }, within.as_secs_f64());
    format!(
        "the listener was too slow: it did not take {events} {what} within {seconds} s after the run had ended; the result has \
         everything"
    )
}

/// Processes the kernel killed, if the verdict does not say so.
fn killed(facts: &Facts<'_>, verdict: &Verdict) -> Option<String> {
    let count = facts.used.oom_kills.filter(|count| *count > 0 && *verdict != Verdict::Oom)?;
    let (processes, limit) =
        (if count == 1 { "process" } else { "processes" }, facts.conditions.limits.memory_mb);
    Some(format!(
        "the kernel killed {count} {processes} of this run for memory; together they may use {limit} MiB"
    ))
}

/// Processes the kernel refused to make, if the verdict does not say so.
fn refused(facts: &Facts<'_>, verdict: &Verdict) -> Option<String> {
    let count = facts.used.forks_refused.filter(|count| *count > 0 && *verdict != Verdict::Pids)?;
    let (what, limit) = (
        if count == 1 { "process or thread" } else { "processes or threads" },
        facts.conditions.limits.pids_limit,
    );
    Some(format!("the kernel refused to make {count} {what} of this run; there may be {limit} at a time"))
}
