//! Gives the events of a run to one reader, from any number on.

use std::sync::Arc;
use std::time::Duration;

use super::Run;
use super::log::{Followed, Next};
use crate::history::{HistoryError, HistoryReader};

/// Events that are read from the history at a time.
const PAGE: usize = 256;

/// One reader. It holds a number and nothing else, so a slow one costs no memory.
pub(crate) struct Follower {
    id: Arc<str>,
    next: u64,
    /// If the run goes on. Whoever only looks does not keep it alive, and does not end it by
    /// leaving.
    live: Option<(Arc<Run>, Option<Followed>)>,
    history: HistoryReader,
}

impl Follower {
    /// Follows a run that goes on.
    pub(crate) fn live(run: &Arc<Run>, from: u64, history: HistoryReader) -> Self {
        Self { id: run.id.clone(), next: from, live: Some((run.clone(), Some(run.followed()))), history }
    }

    /// Looks at a run of somebody else's that goes on.
    pub(crate) fn onlooker(run: &Arc<Run>, from: u64, history: HistoryReader) -> Self {
        Self { id: run.id.clone(), next: from, live: Some((run.clone(), None)), history }
    }

    /// Reads one of the history.
    pub(crate) fn past(id: &str, from: u64, history: HistoryReader) -> Self {
        Self { id: id.into(), next: from, live: None, history }
    }

    /// Events of a run of the history. One that another process runs goes on meanwhile.
    async fn written(&self) -> Result<Vec<Arc<str>>, HistoryError> {
        /// Nobody tells us when there is more.
        const OFTEN: Duration = Duration::from_millis(100);
        loop {
            let is_over = self.history.find(&self.id).await?.is_none_or(|(run, _)| run.ended_ms.is_some());
            let lines = self.history.events(&self.id, self.next, PAGE).await?;
            if is_over || !lines.is_empty() {
                return Ok(lines);
            }
            tokio::time::sleep(OFTEN).await;
        }
    }

    /// The next events. None after the last.
    pub(crate) async fn next(&mut self) -> Result<Vec<Arc<str>>, HistoryError> {
        let lines = match &self.live {
            None => self.written().await?,
            Some((run, _)) => match run.lines(self.next).await {
                Next::Lines(lines) => lines,
                Next::InHistory => {
                    let lines = self.history.events(&self.id, self.next, PAGE).await?;
                    // It could not be written, and there was too much of it to be kept.
                    if lines.is_empty() {
                        return Err(HistoryError::Lost);
                    }
                    lines
                }
                Next::Over => Vec::new(),
            },
        };
        self.next += lines.len() as u64;
        Ok(lines)
    }
}
