//! Runs the claims one after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar_engine::Engine;
use tokio::task::JoinError;

use super::claim::{Claim, Outcome};
use super::report::{Failure, Report, Skip};
use super::subject::Subject;
use super::{egress, endings, isolation, programs, protocol, sessions};

/// How long one claim may take. It only ends a claim that would hang.
const BOUND: Duration = Duration::from_secs(300);

/// A group of claims that an engine is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Requests, events, results, sessions, verdicts and deadlines. Every engine has these.
    Protocol,
    /// Cells see nothing of each other, of what ran before and of the host, and leave nothing.
    Isolation,
    /// A cell reaches the hosts of its policy and no others. The engine must be able to reach
    /// `127.0.0.77` of this machine.
    Egress,
}

impl Part {
    fn claims(self) -> Vec<Claim> {
        match self {
            Self::Protocol => {
                [protocol::CLAIMS, programs::CLAIMS, sessions::CLAIMS, endings::CLAIMS].concat()
            }
            Self::Isolation => isolation::CLAIMS.to_vec(),
            Self::Egress => egress::CLAIMS.to_vec(),
        }
    }
}

/// The names of a part's claims, in the order in which they are tried.
pub fn claims(part: Part) -> Vec<&'static str> {
    part.claims().iter().map(|claim| claim.name).collect()
}

/// Tries every claim of some parts on an engine. Needs a tokio runtime around it.
///
/// A claim that does not hold does not keep the others from being tried.
pub async fn suite(engine: Arc<dyn Engine>, parts: &[Part]) -> Report {
    let mut report = Report { engine: engine.name().to_owned(), ..Report::default() };
    for claim in parts.iter().flat_map(|part| part.claims()) {
        let began = Instant::now();
        let subject = Subject::new(Arc::clone(&engine)).await;
        let mut attempt = tokio::spawn((claim.attempt)(subject.clone()));
        let outcome = tokio::time::timeout(BOUND * crate::slowness(), &mut attempt).await;
        attempt.abort();
        subject.end().await;
        let claim = claim.name;
        // Said at once, for whoever has to end a suite that hangs.
        println!("{}: {claim} ({} ms)", report.engine, began.elapsed().as_millis());
        match outcome {
            Ok(Ok(Outcome::Held)) => report.passed.push(claim),
            Ok(Ok(Outcome::Skipped(reason))) => report.skipped.push(Skip { claim, reason }),
            Ok(Err(error)) => report.failed.push(Failure { claim, reason: words_of(error) }),
            Err(_) => report.failed.push(Failure { claim, reason: "it hangs".to_owned() }),
        }
    }
    report
}

/// What a claim said when it panicked.
fn words_of(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "it was cancelled".to_owned() };
    match panic.downcast::<String>() {
        Ok(words) => *words,
        Err(panic) => panic.downcast_ref::<&str>().copied().unwrap_or("it panicked").to_owned(),
    }
}
