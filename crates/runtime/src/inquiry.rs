//! Questions about a session, between two steps: how a line can go on, which variables there are.
//!
//! ```text
//!  Session::complete ─► take the cell ─► ask ──► guest      what strays print meanwhile is kept
//!                       put it back  ◄─ answer ◄─┘          for the next step
//! ```
//!
//! No step is run, and no code of the session. A guest that does not answer in time costs nothing
//! but the answer: the cell is put back, and an answer that comes late has a seal that nobody waits
//! for. What a guest answers is as little trusted as what a script prints, so it is checked here.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use belljar_core::Json;
use belljar_core::wire::{Ask, Envelope, GuestFrame, HostFrame, Lines, Question};
use belljar_engine::{Cell, Leftovers, Output, timeout};
use serde::Deserialize;

/// How long a guest may look for an answer.
const GUEST_TIME: Duration = Duration::from_millis(500);
/// How long the host waits for it. A busy machine is no reason to give up at once.
const HOST_TIME: Duration = Duration::from_secs(2);
/// The most that is read of an answer.
const LONGEST_ANSWER: usize = 1 << 20;
/// The longest line that is asked about. The end of a longer one is what counts.
const LONGEST_LINE: usize = 4096;

/// How a line can go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completions {
    /// Where in the line the part begins that each match can stand in place of, in bytes.
    pub start: usize,
    /// What can stand there. Each begins with what stands there now.
    pub matches: Vec<String>,
}

/// A variable of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The name of its type.
    pub kind: String,
    /// A few words on its value, where they can be had without running code of the session.
    pub summary: Option<String>,
}

/// An answer to [`Question::Completions`] as the guest writes it.
#[derive(Deserialize)]
struct Ends {
    /// In characters.
    replace: usize,
    matches: Vec<String>,
}

/// The end of a line that is asked about.
pub(crate) fn end_of(line: &str) -> &str {
    let from = line.len().saturating_sub(LONGEST_LINE);
    let boundary = (from..=line.len()).find(|place| line.is_char_boundary(*place));
    &line[boundary.unwrap_or(line.len())..]
}

impl Completions {
    /// Reads an answer about this line. What does not continue the line is left out.
    pub(crate) fn read(line: &str, answer: &Json) -> Self {
        let Ok(Some(Ends { replace, matches })) = answer.to::<Option<Ends>>() else { return Self::default() };
        let start = match replace.checked_sub(1) {
            None => line.len(),
            Some(back) => line.char_indices().nth_back(back).map_or(0, |(place, _)| place),
        };
        let begun = &line[start..];
        let matches = matches.into_iter().filter(|found| found.starts_with(begun)).collect();
        Self { start, matches }
    }
}

/// Puts a question to a guest. `None` if no answer comes in time, or the guest is gone. What the
/// guest prints meanwhile is added to `unread`.
pub(crate) async fn ask(
    cell: &mut dyn Cell,
    seal: &str,
    question: Question<'_>,
    unread: &mut Leftovers,
) -> Option<Json> {
    let asking = async {
        cell.begin().await.ok()?;
        let ask = Ask { seal, question, timeout: GUEST_TIME.as_secs_f64() };
        cell.send(HostFrame::Ask(ask).to_line().into());
        let mut lines = Lines::with_limit(LONGEST_ANSWER);
        loop {
            let Output::Burst(burst) = next(cell).await else { return None };
            unread.add(&burst);
            if unread.is_plenty() {
                return None;
            }
            lines.push(&burst.channel);
            while let Some(line) = lines.next_line().ok()? {
                let sealed = Envelope::parse(line).filter(|envelope| envelope.is_sealed_with(seal));
                if let Some(Envelope { frame: GuestFrame::Answer { data }, .. }) = sealed {
                    return Some(Json::repaired(data).0);
                }
            }
        }
    };
    timeout(HOST_TIME, asking).await.ok().flatten()
}

/// Writes what is queued, and waits for what the guest says.
async fn next(cell: &mut dyn Cell) -> Output {
    poll_fn(|cx| {
        if cell.come_here().is_err() {
            return Poll::Ready(Output::Closed);
        }
        let _ = cell.poll_flush(cx);
        cell.poll_output(cx)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, answer: &str) -> Completions {
        Completions::read(line, &Json::parse(answer).unwrap())
    }

    #[test]
    fn an_answer_can_only_continue_a_line() {
        let found = read("x = é.ap", r#"{"replace":2,"matches":["append","rm -rf","apply"]}"#);
        assert_eq!(found, Completions { start: 7, matches: vec!["append".into(), "apply".into()] });
        let found = read("é.", r#"{"replace":0,"matches":["a"]}"#);
        assert_eq!((found.start, found.matches.len()), (3, 1));
        assert_eq!(read("ab", r#"{"replace":99,"matches":["abc"]}"#).start, 0);
    }

    #[test]
    fn an_answer_that_makes_no_sense_is_none() {
        for answer in ["null", "5", "{}", r#"{"replace":-1,"matches":[]}"#, r#"{"replace":1,"matches":[1]}"#]
        {
            assert_eq!(read("ab", answer), Completions::default(), "{answer}");
        }
    }

    #[test]
    fn the_end_of_a_long_line_is_asked_about() {
        let long = "é".repeat(LONGEST_LINE);
        let end = end_of(&long);
        assert!(end.len() <= LONGEST_LINE && long.ends_with(end));
        assert_eq!(end_of("short"), "short");
    }
}
