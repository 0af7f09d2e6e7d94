//! Who may run, and who waits: a bounded queue in which tokens take turns.
//!
//! There are so many places. While all are taken, requests wait, each token in a line of its own; a
//! free place goes to the next token in turn that may have another. So one client with a thousand
//! requests delays another with one by a single run. Nobody has more than half of the queue. A
//! request that finds it full is told when to come again, and one that has gone is passed over.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use belljar::metrics::SERVER_QUEUE_SECONDS;
use tokio::sync::oneshot;
use tracing::Instrument as _;

use crate::problem::{Code, Problem};
use crate::tokens::TokenLimits;

/// The places of a server.
pub(crate) struct Admission {
    most: usize,
    most_waiting: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    waiting: usize,
    is_closed: bool,
    clients: BTreeMap<String, Client>,
    /// Clients with somebody in line, in the order of their turns.
    turns: VecDeque<String>,
}

#[derive(Default)]
struct Client {
    taken: usize,
    most: Option<usize>,
    line: VecDeque<oneshot::Sender<Place>>,
    /// When each run of the last minute began.
    begun: VecDeque<Instant>,
}

/// A place. It is free again when this is dropped.
pub(crate) struct Place {
    admission: Option<Arc<Admission>>,
    client: String,
}

/// How full it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fullness {
    pub(crate) running: usize,
    pub(crate) waiting: usize,
}

impl Admission {
    pub(crate) fn new(most: usize, most_waiting: usize) -> Arc<Self> {
        Arc::new(Self { most, most_waiting, state: Mutex::default() })
    }

    /// Gets in line, or is sent away at once. What is returned waits for a place. Whoever drops it
    /// leaves the line.
    pub(crate) fn turn(
        self: &Arc<Self>,
        client: &str,
        limits: &TokenLimits,
    ) -> Result<impl Future<Output = Result<Place, Problem>> + Send + use<>, Problem> {
        let turn = self.line_up(client, limits)?;
        let began = Instant::now();
        Ok(async move {
            // Made when it is first polled, and so below what waits.
            let span = tracing::debug_span!("queue.wait");
            let place = turn.instrument(span).await.map_err(|_| draining())?;
            metrics::histogram!(SERVER_QUEUE_SECONDS.name).record(began.elapsed());
            Ok(place)
        })
    }

    fn line_up(
        self: &Arc<Self>,
        client: &str,
        limits: &TokenLimits,
    ) -> Result<oneshot::Receiver<Place>, Problem> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.lock();
            if state.is_closed {
                return Err(draining());
            }
            state.forget_who_has_gone();
            let (is_full, has_room) = (state.waiting >= self.most_waiting, state.taken < self.most);
            let own = state.clients.entry(client.to_owned()).or_default();
            own.most = limits.concurrency;
            let at_once = has_room && own.may_have_another() && own.line.is_empty();
            if is_full && !at_once {
                return Err(full(self.most_waiting));
            }
            if own.line.len() >= self.most_waiting.div_ceil(2) && !at_once {
                return Err(full_of_own(own.line.len()));
            }
            own.count_a_run(limits.runs_per_minute, Instant::now())?;
            own.line.push_back(sender);
            state.waiting += 1;
            if !state.turns.iter().any(|other| other == client) {
                state.turns.push_back(client.to_owned());
            }
        }
        self.call_up();
        Ok(receiver)
    }

    /// Gives free places to those whose turn it is.
    fn call_up(self: &Arc<Self>) {
        loop {
            let Some((sender, place)) = self.lock().next(self) else { return };
            // Whoever has gone meanwhile leaves the place to the next. It must not be dropped while
            // the state is locked: that would lock it again.
            if let Err(mut unused) = sender.send(place) {
                unused.admission = None;
                self.lock().give_back(&unused.client);
            }
        }
    }

    pub(crate) fn fullness(&self) -> Fullness {
        let mut state = self.lock();
        state.forget_who_has_gone();
        Fullness { running: state.taken, waiting: state.waiting }
    }

    /// Lets nobody in any more. Those in line are told so.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        for client in state.clients.values_mut() {
            client.line.clear();
        }
        state.turns.clear();
        state.waiting = 0;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self, admission: &Arc<Admission>) -> Option<(oneshot::Sender<Place>, Place)> {
        if self.taken >= admission.most {
            return None;
        }
        for _ in 0..self.turns.len() {
            let name = self.turns.pop_front()?;
            let client = self.clients.get_mut(&name)?;
            if !client.may_have_another() {
                self.turns.push_back(name);
                continue;
            }
            let Some(sender) = client.line.pop_front() else { continue };
            client.taken += 1;
            self.taken += 1;
            self.waiting -= 1;
            if !client.line.is_empty() {
                self.turns.push_back(name.clone());
            }
            return Some((sender, Place { admission: Some(admission.clone()), client: name }));
        }
        None
    }

    fn give_back(&mut self, name: &str) {
        self.taken -= 1;
        if let Some(client) = self.clients.get_mut(name) {
            client.taken -= 1;
        }
    }

    /// Those in line who have hung up take no room in it.
    fn forget_who_has_gone(&mut self) {
        for client in self.clients.values_mut() {
            client.line.retain(|sender| !sender.is_closed());
        }
        self.waiting = self.clients.values().map(|client| client.line.len()).sum();
        let clients = &self.clients;
        self.turns.retain(|name| clients.get(name).is_some_and(|client| !client.line.is_empty()));
        let minute_ago = Instant::now().checked_sub(MINUTE);
        self.clients.retain(|_, client| {
            let is_recent =
                client.begun.back().is_some_and(|last| minute_ago.is_none_or(|then| *last > then));
            client.taken > 0 || !client.line.is_empty() || is_recent
        });
    }
}

const MINUTE: Duration = Duration::from_secs(60);

impl Client {
    fn may_have_another(&self) -> bool {
        self.most.is_none_or(|most| self.taken < most)
    }

    fn count_a_run(&mut self, most: Option<u32>, now: Instant) -> Result<(), Problem> {
        while self.begun.front().is_some_and(|first| now.duration_since(*first) >= MINUTE) {
            self.begun.pop_front();
        }
        let Some(most) = most else {
            self.begun.clear();
            return Ok(());
        };
        if self.begun.len() >= most as usize {
            let first = self.begun.front().copied().unwrap_or(now);
            let wait = MINUTE.saturating_sub(now.duration_since(first));
            let detail = format!("this token may begin {most} runs a minute, and has");
            return Err(Problem::new(Code::RateLimited, detail).after(wait));
        }
        self.begun.push_back(now);
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            admission.lock().give_back(&self.client);
            admission.call_up();
        }
    }
}

fn full_of_own(waiting: usize) -> Problem {
    let detail = format!("{waiting} requests of this token wait already, half of all: come again later");
    Problem::new(Code::QueueFull, detail).after(Duration::from_secs(1))
}

fn full(most: usize) -> Problem {
    let detail = format!("{most} requests wait already, as many as may: come again later");
    Problem::new(Code::QueueFull, detail).after(Duration::from_secs(1))
}

pub(crate) fn draining() -> Problem {
    let detail = "the server ends as soon as what runs has ended: ask another, or later";
    Problem::new(Code::Draining, detail).after(Duration::from_secs(5))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: TokenLimits = TokenLimits { concurrency: None, runs_per_minute: None, max_timeout_sec: None };

    fn code(outcome: Result<oneshot::Receiver<Place>, Problem>) -> Option<Code> {
        outcome.err().map(|problem| problem.code)
    }

    #[test]
    fn tokens_take_turns_and_a_full_queue_says_so() {
        let admission = Admission::new(1, 5);
        let mut first = admission.line_up("busy", &FREE).unwrap();
        let place = first.try_recv().unwrap();
        let mut busy: Vec<_> = (0..3).map(|_| admission.line_up("busy", &FREE).unwrap()).collect();
        assert_eq!(code(admission.line_up("busy", &FREE)), Some(Code::QueueFull), "half is its own");
        let mut other = admission.line_up("other", &FREE).unwrap();
        let _third = admission.line_up("third", &FREE).unwrap();
        assert_eq!(code(admission.line_up("late", &FREE)), Some(Code::QueueFull));
        assert_eq!(admission.fullness(), Fullness { running: 1, waiting: 5 });
        drop(place);
        let second = busy[0].try_recv().unwrap();
        assert!(other.try_recv().is_err());
        drop(second);
        let theirs = other.try_recv().expect("it is the other's turn, though two were there before");
        drop(theirs);
        assert!(busy[1].try_recv().is_err(), "the third has waited longer since its last turn");
    }

    #[test]
    fn who_has_gone_takes_no_place_and_no_room() {
        let admission = Admission::new(1, 1);
        let place = admission.line_up("a", &FREE).unwrap().try_recv().unwrap();
        let waiting = admission.line_up("a", &FREE).unwrap();
        assert_eq!(code(admission.line_up("b", &FREE)), Some(Code::QueueFull));
        drop(waiting);
        let mut next = admission.line_up("b", &FREE).unwrap();
        drop(place);
        assert!(next.try_recv().is_ok());
        assert_eq!(admission.fullness().waiting, 0);
    }

    #[test]
    fn a_token_has_no_more_than_its_own_limits() {
        let limits = TokenLimits { concurrency: Some(1), runs_per_minute: Some(3), ..FREE };
        let admission = Admission::new(4, 4);
        let mut one = admission.line_up("a", &limits).unwrap();
        let mut two = admission.line_up("a", &limits).unwrap();
        let place = one.try_recv().unwrap();
        assert!(two.try_recv().is_err(), "there is room, but not for this token");
        let mut others = admission.line_up("b", &FREE).unwrap();
        assert!(others.try_recv().is_ok(), "nobody waits behind a token that may not");
        drop(place);
        let _place = two.try_recv().unwrap();
        assert!(admission.line_up("a", &limits).is_ok());
        assert_eq!(code(admission.line_up("a", &limits)), Some(Code::RateLimited));
    }

    #[test]
    fn closing_sends_everybody_in_line_away() {
        let admission = Admission::new(1, 4);
        let place = admission.line_up("a", &FREE).unwrap().try_recv().unwrap();
        let mut waiting = admission.line_up("a", &FREE).unwrap();
        admission.close();
        assert!(matches!(waiting.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert_eq!(code(admission.line_up("a", &FREE)), Some(Code::Draining));
        drop(place);
        assert_eq!(admission.fullness(), Fullness { running: 0, waiting: 0 });
    }
}
