//! The task that serves one program, from its start to its end.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use belljar_core::wire::{Envelope, GuestFrame, HostFrame, Lines, StartProgram};
use belljar_core::{ExecutionId, ExecutionResult, OutputStream, Program, random_hex};
use belljar_engine::pool::{FittedLease, InProgress, Lease, TemplateHold};
use belljar_engine::{Burst, Cell, Output, Until, timeout};
use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use super::end::{Facts, judge};
use super::running::Order;
use super::{ProgramEnd, ProgramSink, ProgramTerms, RunningProgram, Stop};
use crate::RuntimeError;
use crate::control::Wishes;
use crate::conversation::Input;
use crate::deadlines::{Allowance, Call, Deadlines};
use crate::mask::MaskedStream;
use crate::transcript::{Ending, usage};

/// The cell of a program.
pub(super) enum Held {
    /// One of the stock. It is not used again.
    Leased(Box<Lease>, #[expect(dead_code, reason = "counts while it exists")] InProgress),
    /// One to measure.
    Fitted(FittedLease),
}

impl Held {
    pub(super) fn leased(lease: Lease) -> Result<Self, RuntimeError> {
        let in_progress = lease.begin()?;
        Ok(Self::Leased(Box::new(lease), in_progress))
    }

    fn cell(&mut self) -> &mut dyn Cell {
        match self {
            Self::Leased(lease, _) => lease.cell(),
            Self::Fitted(lease) => lease.cell(),
        }
    }

    fn hold(&self) -> &TemplateHold {
        match self {
            Self::Leased(lease, _) => lease.hold(),
            Self::Fitted(lease) => lease.hold(),
        }
    }
}

/// Serves one program.
pub(super) struct Driver {
    held: Held,
    program: Program,
    timeout: Duration,
    terms: ProgramTerms,
    sink: Box<dyn ProgramSink>,
    masked: [MaskedStream; 2],
    orders: mpsc::UnboundedReceiver<Order>,
    told: watch::Sender<Option<ProgramEnd>>,
    seal: String,
    lines: Lines,
    input: Input,
    not_started: Option<(String, i32)>,
    output_bytes: u64,
}

/// How long the last words of a killed program are read. The kernel closes its pipes as it dies, so
/// this is never long.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// A frame of a guest that becomes a program is short.
const LONGEST_LINE: usize = 64 << 10;

/// What the driver waits for.
enum Heard {
    Cell(Output),
    Call(Call),
    /// `None` if nobody holds the program any more.
    Order(Option<Order>),
}

impl Driver {
    pub(super) fn new(
        held: Held,
        program: Program,
        timeout: Duration,
        terms: ProgramTerms,
        sink: Box<dyn ProgramSink>,
    ) -> (Self, RunningProgram) {
        let (order, orders) = mpsc::unbounded_channel();
        let (told, end) = watch::channel(None);
        let masked = [terms.mask.stream(), terms.mask.stream()];
        let input = Input::of(&program.stdin);
        let driver = Self {
            held,
            program,
            timeout,
            terms,
            sink,
            masked,
            orders,
            told,
            seal: random_hex(),
            lines: Lines::with_limit(LONGEST_LINE),
            input,
            not_started: None,
            output_bytes: 0,
        };
        (driver, RunningProgram::new(order, end))
    }

    /// Everything from the start to the end.
    pub(super) async fn drive(mut self) {
        let hold = self.held.hold().clone();
        let end = tokio::select! {
            biased;
            // The cells are killed next. Whoever waits finds that nobody tells any more.
            _ = hold.closed() => return,
            end = self.serve() => end,
        };
        let told = self.told.clone();
        // The cell goes before anybody is told: what was in it is gone then.
        drop(self);
        told.send_replace(Some(end));
    }

    async fn serve(&mut self) -> ProgramEnd {
        let running = std::sync::Arc::clone(&self.terms.meters);
        let running = running.begin();
        let started = Instant::now();
        let ending = self.exchange(started).await;
        if !matches!(ending, Ending::Died(_)) {
            self.held.cell().kill();
            self.last_words().await;
        }
        let elapsed = started.elapsed();
        for (number, stream) in STREAMS.into_iter().enumerate() {
            let rest = self.masked[number].finish();
            if !rest.is_empty() {
                self.sink.take(stream, &rest);
            }
        }
        let cell = self.held.cell();
        let used = cell.usage();
        let (is_full, network) = (cell.scratch_is_full(), cell.take_decisions(Until::TheEnd).await);
        let place = cell.place().map(str::to_owned);
        let seconds = self.timeout.as_secs_f64();
        let facts = Facts { ending, used: &used, not_started: self.not_started.as_ref(), is_full, seconds };
        let (verdict, error, exit_code, signal) = judge(&facts);
        let id = ExecutionId::new(format!("exec-{}", &self.seal[..16]));
        let mut result = ExecutionResult::new(id, verdict, self.terms.engine);
        result.error = error.map(|error| self.terms.mask.text(error.into()).into_owned());
        result.usage = usage(elapsed, &used);
        result.warnings = self.terms.warnings.to_vec();
        result.network = network;
        for decision in &mut result.network {
            decision.host = self.terms.mask.host(&decision.host);
        }
        result.output_bytes = self.output_bytes;
        result.place = place;
        running.ended(&result);
        let not_started = self.not_started.take().map(|(why, _)| why);
        ProgramEnd { result, exit_code, signal, not_started }
    }

    /// Starts the program and serves it, until there is an ending.
    async fn exchange(&mut self, started: Instant) -> Ending {
        let wishes = Wishes::none();
        let allowance = self.allowance();
        let mut deadlines = Deadlines::exact(started, self.timeout, allowance, &wishes);
        if self.held.cell().begin().await.is_err() {
            return self.death(&mut deadlines).await;
        }
        let line = self.start();
        self.held.cell().send(line);
        loop {
            let heard = {
                let Self { held, input, orders, sink, .. } = self;
                let cell = held.cell();
                let output = poll_fn(|cx| {
                    let room = sink.poll_room(cx);
                    poll(&mut *cell, input, room, cx)
                });
                tokio::select! {
                    biased;
                    call = deadlines.call() => Heard::Call(call),
                    order = orders.recv() => Heard::Order(order),
                    output = output => Heard::Cell(output),
                }
            };
            let ending = match heard {
                Heard::Cell(Output::Burst(burst)) => {
                    self.take_in(&burst);
                    None
                }
                Heard::Cell(Output::Closed) => Some(self.death(&mut deadlines).await),
                Heard::Call(call) => deadlines.breach(call, &*self.held.cell()),
                Heard::Order(order) => self.obey(order),
            };
            if let Some(ending) = ending {
                return ending;
            }
        }
    }

    fn start(&self) -> Bytes {
        let program = &self.program;
        let start = StartProgram {
            seal: &self.seal,
            argv: &program.argv,
            env: &program.env,
            is_clean: program.clean_env,
            directory: program.cwd.as_ref().map_or("", |path| path.as_str()),
            places: &program.places,
            has_stdin: !program.stdin.is_empty(),
            terminal: program.terminal,
            largest_file: program.largest_file,
            secrets: &self.terms.secrets,
        };
        HostFrame::Program(start).to_line().into()
    }

    fn allowance(&mut self) -> Option<Allowance> {
        let limit = [self.terms.limits.cpu_time(), self.program.cpu_time].into_iter().flatten().min()?;
        let spent_before = Duration::from_micros(self.held.cell().usage().cpu_micros.unwrap_or(0));
        let cores = self.program.cpu_quota.unwrap_or(self.terms.limits.cpu_quota);
        Some(Allowance { until: spent_before + limit, cores })
    }

    fn take_in(&mut self, burst: &Burst) {
        for (number, bytes) in [&burst.stdout, &burst.stderr].into_iter().enumerate() {
            if !bytes.is_empty() {
                self.output_bytes += bytes.len() as u64;
                let shown = self.masked[number].push(bytes);
                if !shown.is_empty() {
                    self.sink.take(STREAMS[number], &shown);
                }
            }
        }
        self.lines.push(&burst.channel);
        // A line that is too long is nobody's that we know.
        while let Ok(Some(line)) = self.lines.next_line() {
            let Some(envelope) = Envelope::parse(line) else { continue };
            if envelope.seal.as_deref() != Some(self.seal.as_str()) {
                continue;
            }
            match envelope.frame {
                GuestFrame::Stdin => self.input.open(self.held.cell()),
                GuestFrame::Error { message, exit_code, .. } => {
                    self.not_started.get_or_insert((message.into_owned(), exit_code.unwrap_or(1)));
                }
                _ => {}
            }
        }
    }

    fn obey(&mut self, order: Option<Order>) -> Option<Ending> {
        match order {
            None | Some(Order::Stop(Stop::Cancelled)) => return Some(Ending::Cancelled),
            Some(Order::Stop(Stop::TimedOut)) => return Some(Ending::Deadline),
            Some(Order::Stop(Stop::DiskSpent)) => return Some(Ending::DiskSpent),
            Some(Order::Signal(signal)) => self.held.cell().signal(signal),
            Some(Order::Resize(size)) => {
                let line = HostFrame::Resize(size).to_line();
                self.held.cell().send(line.into());
            }
        }
        None
    }

    /// How a cell that says nothing more ends. A program may close everything and live on, so its
    /// deadlines count as before.
    async fn death(&mut self, deadlines: &mut Deadlines<'_>) -> Ending {
        loop {
            let Self { held, orders, .. } = self;
            let heard = tokio::select! {
                biased;
                autopsy = held.cell().autopsy() => return Ending::Died(autopsy),
                call = deadlines.call() => Heard::Call(call),
                order = orders.recv() => Heard::Order(order),
            };
            let ending = match heard {
                Heard::Call(call) => deadlines.breach(call, &*self.held.cell()),
                Heard::Order(order) => self.obey(order),
                Heard::Cell(_) => None,
            };
            if let Some(ending) = ending {
                return ending;
            }
        }
    }

    /// What a killed program had written before it died.
    async fn last_words(&mut self) {
        let until_dead = async {
            loop {
                let Self { held, input, .. } = self;
                let cell = held.cell();
                match poll_fn(|cx| poll(&mut *cell, input, Poll::Ready(()), cx)).await {
                    Output::Burst(burst) => self.take_in(&burst),
                    Output::Closed => break,
                }
            }
            self.held.cell().autopsy().await;
        };
        let _ = timeout(LAST_WORDS, until_dead).await;
    }
}

const STREAMS: [OutputStream; 2] = [OutputStream::Stdout, OutputStream::Stderr];

/// Writes what can be written, and reads what is there if there is room for it.
fn poll(cell: &mut dyn Cell, input: &mut Input, room: Poll<()>, cx: &mut Context<'_>) -> Poll<Output> {
    if let Err(error) = cell.come_here() {
        tracing::warn!(%error, "a cell cannot be listened to any more");
        cell.kill();
        return Poll::Ready(Output::Closed);
    }
    // A program has closed the channel, and takes nothing more from it.
    let _ = cell.poll_flush(cx);
    if input.is_open() {
        input.poll(cell, cx);
        let _ = cell.poll_flush(cx);
    }
    ready!(room);
    cell.poll_output(cx)
}
