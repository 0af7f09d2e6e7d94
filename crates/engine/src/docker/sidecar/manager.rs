//! Keeps one proxy container running, and carries messages to and from it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belljar_core::Decision;
use belljar_core::wire::Lines;
use bollard::models::VolumeCreateRequest;
use tokio::sync::{mpsc, oneshot, watch};

use super::protocol::{Order, Report, line};
use super::setup::Setup;
use super::{ANSWER_WITHIN, THERE_WITHIN};
use crate::docker::DockerError;
use crate::docker::attach::{AttachReader, Attached, attach};
use crate::timeout;

/// How long to wait before a dead proxy is replaced. Doubled each time one dies young.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_LINE: usize = 16 << 20;
/// How many denials of a cell are kept until somebody asks. The cell's decisions count the others
/// too.
const DENIALS_KEPT: usize = 1000;

/// Keeps a proxy running.
pub(super) struct Manager {
    setup: Setup,
    state: Mutex<State>,
    /// The number of the proxy that serves now. `None` while there is none.
    present: watch::Sender<Option<u64>>,
    stopped: AtomicBool,
    stop: tokio::sync::Notify,
}

#[derive(Default)]
struct State {
    orders: Option<mpsc::UnboundedSender<String>>,
    container: Option<String>,
    authority: Option<String>,
    next_cell: u64,
    next_answer: u64,
    waiting: HashMap<u64, oneshot::Sender<Vec<Decision>>>,
    denials: HashMap<u64, Vec<Decision>>,
}

impl Manager {
    /// Starts the first proxy, and a task that replaces a proxy when it dies.
    pub(super) async fn start(setup: Setup) -> Result<Arc<Self>, DockerError> {
        let volume = VolumeCreateRequest {
            name: Some(setup.volume.clone()),
            labels: Some(setup.controller.labels("proxy", &setup.name)),
            ..Default::default()
        };
        setup.daemon.api.create_volume(volume).await.map_err(DockerError::api("create a volume"))?;
        let me = Arc::new(Self {
            setup,
            state: Mutex::default(),
            present: watch::Sender::new(None),
            stopped: AtomicBool::new(false),
            stop: tokio::sync::Notify::new(),
        });
        match me.launch(1).await {
            Ok(reader) => {
                tokio::spawn(Arc::clone(&me).keep_running(reader));
                Ok(me)
            }
            Err(error) => {
                me.clear_away();
                Err(error)
            }
        }
    }

    pub(super) fn authority(&self) -> Option<String> {
        self.lock().authority.clone()
    }

    pub(super) fn volume(&self) -> &str {
        &self.setup.volume
    }

    pub(super) fn is_current(&self, generation: u64) -> bool {
        *self.present.borrow() == Some(generation)
    }

    /// Announces a cell, known or new, to the current proxy or the next one. Returns the cell's
    /// number, its token, and the number of the proxy.
    pub(super) async fn expect(&self, cell: Option<u64>) -> Result<(u64, String, u64), DockerError> {
        let Some(generation) = self.wait_until_present().await else {
            return Err(self.setup.failed("it is gone and does not come back", Vec::new()));
        };
        let token = belljar_core::random_hex();
        let cell = cell.unwrap_or_else(|| {
            let mut state = self.lock();
            state.next_cell += 1;
            state.next_cell
        });
        match self.ask(|answer| Order::Expect { cell, token: token.clone(), answer }).await {
            Some(_) => Ok((cell, token, generation)),
            None => Err(self.setup.failed("it does not answer", Vec::new())),
        }
    }

    /// Waits until a proxy serves. Returns its number.
    async fn wait_until_present(&self) -> Option<u64> {
        let mut present = self.present.subscribe();
        let there = timeout(THERE_WITHIN, present.wait_for(Option::is_some)).await;
        there.ok()?.ok().and_then(|generation| *generation)
    }

    /// Sends an order that is answered. `None` if the proxy is gone or does not answer in time.
    async fn ask(&self, order: impl FnOnce(u64) -> Order) -> Option<Vec<Decision>> {
        let answer = {
            let mut state = self.lock();
            let (tell, answer) = oneshot::channel();
            state.next_answer += 1;
            let number = state.next_answer;
            if !state.say(&order(number)) {
                return None;
            }
            state.waiting.insert(number, tell);
            answer
        };
        timeout(ANSWER_WITHIN, answer).await.ok()?.ok()
    }

    pub(super) async fn decisions(&self, cell: u64, is_last: bool) -> Vec<Decision> {
        let decisions = self.ask(|answer| Order::Tell { cell, is_last, answer }).await;
        decisions.unwrap_or_else(|| {
            tracing::warn!(sandbox = %self.setup.name, "the proxy does not say what it decided");
            Vec::new()
        })
    }

    pub(super) fn denials(&self, cell: u64) -> Vec<Decision> {
        self.lock().denials.remove(&cell).unwrap_or_default()
    }

    pub(super) fn forget(&self, cell: u64) {
        let mut state = self.lock();
        state.denials.remove(&cell);
        state.say(&Order::Forget { cell });
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.stop.notify_one();
        self.clear_away();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clear_away(&self) {
        let container = {
            let mut state = self.lock();
            state.orders = None;
            state.container.take()
        };
        self.setup.remover.remove_all(container, Some(self.setup.volume.clone()));
    }

    /// Makes a proxy container and waits until it listens.
    async fn launch(&self, generation: u64) -> Result<AttachReader, DockerError> {
        let setup = &self.setup;
        let created = setup.daemon.api.create_container(None, setup.body()).await;
        let container = created.map_err(DockerError::api("create the proxy's container"))?.id;
        self.lock().container = Some(container.clone());
        let launched = tokio::time::timeout(THERE_WITHIN, self.bring_up(&container)).await;
        match launched {
            Ok(Ok((reader, orders, authority))) => {
                let mut state = self.lock();
                state.orders = Some(orders);
                state.authority = authority;
                drop(state);
                self.present.send_replace(Some(generation));
                Ok(reader)
            }
            Ok(Err(error)) => {
                setup.remover.remove(container);
                Err(error)
            }
            Err(_) => {
                setup.remover.remove(container);
                let within = THERE_WITHIN.as_secs();
                Err(setup.failed(format!("it said nothing within {within} s"), Vec::new()))
            }
        }
    }

    async fn bring_up(
        &self,
        container: &str,
    ) -> Result<(AttachReader, mpsc::UnboundedSender<String>, Option<String>), DockerError> {
        let setup = &self.setup;
        let Attached { mut writer, mut reader } = attach(&setup.daemon, container).await?;
        let started = setup.daemon.api.start_container(container, None).await;
        started.map_err(DockerError::api("start the proxy's container"))?;
        let first = line(&setup.start_order());
        let _ = writer.write(first.as_bytes()).await;
        let mut lines = Lines::with_limit(LONGEST_LINE);
        let authority = loop {
            match next_report(&mut reader, &mut lines).await {
                Ok(Report::Ready { authority }) => break authority,
                Ok(Report::Failed { reason }) => return Err(setup.failed(reason, reader.last_words())),
                Ok(_) => {}
                Err(reason) => return Err(setup.failed(reason, reader.last_words())),
            }
        };
        let (orders, mut given) = mpsc::unbounded_channel::<String>();
        tokio::spawn(async move {
            while let Some(order) = given.recv().await {
                if writer.write(order.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        Ok((reader, orders, authority))
    }

    async fn keep_running(self: Arc<Self>, first: AttachReader) {
        let (mut reader, mut generation, mut pause) = (Some(first), 1, FIRST_PAUSE);
        loop {
            if let Some(reader) = reader.take() {
                let began = tokio::time::Instant::now();
                tokio::select! {
                    () = self.listen(reader) => {}
                    () = self.stop.notified() => {}
                }
                if began.elapsed() > LONGEST_PAUSE {
                    pause = FIRST_PAUSE;
                }
            }
            self.present.send_replace(None);
            let dead = {
                let mut state = self.lock();
                state.orders = None;
                state.waiting.clear();
                state.container.take()
            };
            if let Some(container) = dead {
                self.setup.remover.remove(container);
            }
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            tracing::warn!(sandbox = %self.setup.name, ?pause, "the egress proxy is gone; another is started");
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.notified() => return,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            generation += 1;
            match self.launch(generation).await {
                Ok(next) => reader = Some(next),
                Err(error) => {
                    tracing::warn!(sandbox = %self.setup.name, %error, "the egress proxy does not start")
                }
            }
            if self.stopped.load(Ordering::SeqCst) {
                self.clear_away();
                return;
            }
        }
    }

    fn answered(&self, answer: u64, decisions: Vec<Decision>) {
        if let Some(asked) = self.lock().waiting.remove(&answer) {
            let _ = asked.send(decisions);
        }
    }

    /// Reads what the proxy reports until the proxy is gone.
    async fn listen(&self, mut reader: AttachReader) {
        let mut lines = Lines::with_limit(LONGEST_LINE);
        loop {
            match next_report(&mut reader, &mut lines).await {
                Ok(Report::Decisions { answer, decisions }) => self.answered(answer, decisions),
                Ok(Report::Expected { answer }) => self.answered(answer, Vec::new()),
                Ok(Report::Denial { cell, decision }) => {
                    let mut state = self.lock();
                    let kept = state.denials.entry(cell).or_default();
                    if kept.len() < DENIALS_KEPT {
                        kept.push(decision);
                    }
                }
                Ok(Report::Ready { .. } | Report::Failed { .. } | Report::Description { .. }) => {}
                Err(reason) => {
                    tracing::debug!(sandbox = %self.setup.name, reason, words = ?reader.last_words(), "the egress proxy");
                    return;
                }
            }
        }
    }
}

impl State {
    fn say(&self, order: &Order) -> bool {
        self.orders.as_ref().is_some_and(|orders| orders.send(line(order)).is_ok())
    }
}

async fn next_report(reader: &mut AttachReader, lines: &mut Lines) -> Result<Report, String> {
    loop {
        if let Some(line) = lines.next_line().map_err(|error| error.to_string())? {
            return serde_json::from_slice(line).map_err(|error| error.to_string());
        }
        std::future::poll_fn(|cx| reader.poll_more(cx)).await.map_err(|end| end.to_string())?;
        let said = reader.stdout().split();
        lines.push(&said);
    }
}
