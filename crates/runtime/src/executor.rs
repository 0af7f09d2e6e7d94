//! Sends one script to a cell and listens until it is over.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::config::{ExecutionMode, ResourceLimits};
use belljar_core::wire::{Execute, GuestFrame, Lines};
use belljar_core::{Event, ExecutionId, ExecutionRequest, ExecutionResult, Secret};
use belljar_engine::{Burst, Cell, CellUsage, Output};
use tokio::time::{Instant, Sleep};

use crate::mask::Mask;
use crate::transcript::{Ending, Facts, Stream, Transcript};
use crate::{EventSink, RuntimeError};

/// How long after the guest's own alarm the host kills. The alarm is a courtesy that gives a traceback; this is the law.
const ALARM_GRACE: Duration = Duration::from_millis(300);
/// How long a script may go on once its outcome is known, so that its last log lines are not lost.
const OUTCOME_GRACE: Duration = Duration::from_millis(500);
/// How long the last words of a killed cell are read. The kernel closes its pipes as it dies, so this is never long.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Runs scripts in cells under one policy.
#[derive(Debug, Clone)]
pub struct ScriptExecutor {
    limits: ResourceLimits,
    mode: ExecutionMode,
    required_secrets: Vec<String>,
    secrets: Arc<BTreeMap<String, Secret>>,
    mask: Mask,
    engine: &'static str,
    warnings: Arc<[String]>,
}

/// What came of a run, and whether its cell can be used for another step.
pub(crate) struct Concluded {
    pub(crate) result: ExecutionResult,
    pub(crate) cell_is_alive: bool,
    /// Nothing of the script runs on.
    pub(crate) script_is_over: bool,
    pub(crate) used_by_now: CellUsage,
}

impl ScriptExecutor {
    /// An executor for cells of this engine.
    pub fn new(engine: &'static str, limits: ResourceLimits, mode: ExecutionMode) -> Self {
        Self {
            limits,
            mode,
            required_secrets: Vec::new(),
            secrets: Arc::default(),
            mask: Mask::default(),
            engine,
            warnings: Arc::default(),
        }
    }

    /// Secrets that must be there before any script starts, and the values known for them. Values of four bytes and more are hidden in
    /// whatever the scripts say.
    #[must_use]
    pub fn with_secrets(mut self, required: Vec<String>, values: Arc<BTreeMap<String, Secret>>) -> Self {
        self.required_secrets = required;
        self.mask = Mask::new(values.values());
        self.secrets = values;
        self
    }

    /// What every result shall warn about.
    #[must_use]
    pub fn with_warnings(mut self, warnings: Arc<[String]>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Runs one script in a cell to its end. Dropping the future leaves the cell running: drop the cell too.
    pub async fn run(
        &self,
        cell: &mut dyn Cell,
        request: &ExecutionRequest,
        sink: &mut dyn EventSink,
    ) -> Result<ExecutionResult, RuntimeError> {
        let used_before = cell.usage();
        self.conclude(cell, used_before, request, sink).await.map(|concluded| concluded.result)
    }

    /// The same, for callers who know what the cell has used so far without having to ask.
    pub(crate) async fn conclude(
        &self,
        cell: &mut dyn Cell,
        used_before: CellUsage,
        request: &ExecutionRequest,
        sink: &mut dyn EventSink,
    ) -> Result<Concluded, RuntimeError> {
        request.check()?;
        let timeout = self.timeout(request)?;
        let id = request
            .execution_id
            .clone()
            .unwrap_or_else(|| ExecutionId::new(format!("exec-{}", random_hex())));
        let mode = request.mode.unwrap_or(self.mode);
        let seal = random_hex();
        let mut required = self.required_secrets.clone();
        required.extend(request.required_secrets.iter().cloned());
        let line = Execute {
            execution_id: &id,
            seal: &seal,
            script: &request.script,
            mode,
            timeout: timeout.as_secs_f64(),
            max_output_bytes: self.limits.max_output_bytes,
            required_secrets: &required,
            secrets: &self.secrets,
        }
        .to_line();
        let started = Instant::now();
        let mut listening = Listening {
            transcript: Transcript::new(id, mode, self.mask.clone()),
            lines: Lines::with_limit(self.limits.max_output_bytes as usize),
            seal: &seal,
            limit: self.limits.max_output_bytes,
            printed: Printed::default(),
            due: started + timeout,
            alarm: Box::pin(tokio::time::sleep_until(started + timeout + ALARM_GRACE)),
            sink,
        };
        let ending = listening.send_and_listen(cell, &line).await;
        let ending = match ending {
            Ending::Deadline | Ending::Flood => {
                cell.kill();
                listening.last_words(cell).await;
                ending
            }
            other => other,
        };
        let used_by_now = cell.usage();
        let facts = Facts {
            ending,
            elapsed: started.elapsed(),
            timeout,
            max_output_bytes: self.limits.max_output_bytes,
            used: since(used_before, used_by_now),
            engine: self.engine,
            warnings: &self.warnings,
        };
        let cell_is_alive = matches!(ending, Ending::Finished);
        for event in listening.transcript.rest() {
            if let Some(taken) = listening.sink.on_event(event) {
                taken.await;
            }
        }
        let script_is_over = cell_is_alive && listening.transcript.is_done();
        Ok(Concluded {
            result: listening.transcript.conclude(&facts),
            cell_is_alive,
            script_is_over,
            used_by_now,
        })
    }

    fn timeout(&self, request: &ExecutionRequest) -> Result<Duration, RuntimeError> {
        const LONGEST: Duration = Duration::from_secs(86_400);
        let timeout = request.timeout.unwrap_or_else(|| self.limits.execution_timeout());
        if timeout.is_zero() || timeout > LONGEST {
            return Err(RuntimeError::Timeout { seconds: timeout.as_secs_f64() });
        }
        Ok(timeout)
    }
}

/// The one place where a run waits.
struct Listening<'a> {
    transcript: Transcript,
    lines: Lines,
    seal: &'a str,
    limit: u64,
    printed: Printed,
    /// When the script's time is up.
    due: Instant,
    alarm: std::pin::Pin<Box<Sleep>>,
    sink: &'a mut dyn EventSink,
}

impl Listening<'_> {
    async fn send_and_listen(&mut self, cell: &mut dyn Cell, line: &[u8]) -> Ending {
        // A guest that does not read its request is as late as one that does not answer it.
        let sent = tokio::select! {
            biased;
            sent = cell.send(line) => sent,
            () = &mut self.alarm => return Ending::Deadline,
        };
        if sent.is_err() {
            return self.death(cell).await;
        }
        loop {
            let output = tokio::select! {
                biased;
                () = &mut self.alarm => {
                    return if self.transcript.has_outcome() { Ending::Finished } else { Ending::Deadline };
                }
                output = next(cell) => output,
            };
            let Output::Burst(burst) = output else { return self.death(cell).await };
            if let Some(ending) = self.take_in(cell, burst).await {
                return ending;
            }
        }
    }

    /// How a cell that can no longer be talked to ends. That it has closed everything does not mean that it is about to: a guest may do so
    /// and live on, and the law is the same for it.
    async fn death(&mut self, cell: &mut dyn Cell) -> Ending {
        tokio::select! {
            biased;
            autopsy = cell.autopsy() => return Ending::Died(autopsy),
            () = &mut self.alarm => {}
        }
        if !self.transcript.has_outcome() {
            return Ending::Deadline;
        }
        cell.kill();
        Ending::Died(cell.autopsy().await)
    }

    async fn take_in(&mut self, cell: &mut dyn Cell, burst: Burst) -> Option<Ending> {
        let read = burst.channel.len() + burst.stdout.len() + burst.stderr.len();
        self.transcript.output_bytes += read as u64;
        if self.transcript.output_bytes > self.limit {
            return Some(Ending::Flood);
        }
        self.printed.stdout.waiting.extend_from_slice(&burst.stdout);
        self.printed.stderr.waiting.extend_from_slice(&burst.stderr);
        let ending = self.take_frames(cell, &burst.channel).await;
        self.tell_printed(cell).await;
        ending
    }

    async fn take_frames(&mut self, cell: &mut dyn Cell, bytes: &[u8]) -> Option<Ending> {
        self.lines.push(bytes);
        loop {
            let line = match self.lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(_) => return Some(Ending::Flood),
            };
            if line.is_empty() {
                continue;
            }
            let frame = GuestFrame::parse(line).filter(|frame| frame.is_sealed_with(self.seal));
            let Some(frame) = frame else {
                tracing::debug!(
                    bytes = line.len(),
                    "a line that is not a frame of this execution was skipped"
                );
                continue;
            };
            let before = [frame.stdout, frame.stderr];
            let had_outcome = self.transcript.has_outcome();
            let printed = self.printed.up_to(before);
            let earlier = printed.map(|(stream, bytes)| self.transcript.printed(stream, &bytes));
            let event = self.transcript.frame(&frame, Instant::now() >= self.due);
            if !had_outcome && self.transcript.has_outcome() {
                let soon = Instant::now() + OUTCOME_GRACE;
                if soon < self.alarm.deadline() {
                    self.alarm.as_mut().reset(soon);
                }
            }
            for event in earlier.into_iter().flatten().chain(event) {
                self.tell(cell, event).await;
            }
            if self.transcript.is_done() {
                return Some(Ending::Finished);
            }
        }
    }

    /// Hands on what was printed: all of it, when no frame follows that it would have to wait for.
    async fn tell_printed(&mut self, cell: &mut dyn Cell) {
        for (stream, bytes) in self.printed.up_to([None, None]) {
            if let Some(event) = self.transcript.printed(stream, &bytes) {
                self.tell(cell, event).await;
            }
        }
    }

    /// Hands an event on. The cell waits for a slow taker, the law does not.
    async fn tell(&mut self, cell: &mut dyn Cell, event: Event) {
        let Some(mut taken) = self.sink.on_event(event) else { return };
        tokio::select! {
            biased;
            () = &mut taken => {}
            () = &mut self.alarm => {
                cell.kill();
                taken.await;
            }
        }
    }

    /// What a killed cell had printed before it died, as far as the limit allows.
    async fn last_words(&mut self, cell: &mut dyn Cell) {
        let until_closed = async {
            loop {
                let Output::Burst(burst) = next(cell).await else { return };
                if self.take_in(cell, burst).await.is_some() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, until_closed).await;
    }
}

/// What was printed but not handed on yet, because a frame may belong before it.
#[derive(Default)]
struct Printed {
    stdout: Waiting,
    stderr: Waiting,
}

#[derive(Default)]
struct Waiting {
    waiting: Vec<u8>,
    handed_on: u64,
}

impl Printed {
    /// What comes before a frame that was preceded by so many bytes; `None` for all there is.
    fn up_to(&mut self, before: [Option<u64>; 2]) -> [(Stream, Vec<u8>); 2] {
        let [stdout, stderr] = before;
        [(Stream::Stdout, self.stdout.up_to(stdout)), (Stream::Stderr, self.stderr.up_to(stderr))]
    }
}

impl Waiting {
    fn up_to(&mut self, before: Option<u64>) -> Vec<u8> {
        let due = before.map_or(self.waiting.len() as u64, |before| before.saturating_sub(self.handed_on));
        let count = usize::try_from(due).unwrap_or(usize::MAX).min(self.waiting.len());
        self.handed_on += count as u64;
        let rest = self.waiting.split_off(count);
        std::mem::replace(&mut self.waiting, rest)
    }
}

async fn next(cell: &mut dyn Cell) -> Output {
    std::future::poll_fn(|cx| cell.poll_output(cx)).await
}

/// What a step used of what its cell has used.
fn since(before: CellUsage, now: CellUsage) -> CellUsage {
    CellUsage {
        cpu_micros: now.cpu_micros.map(|micros| micros.saturating_sub(before.cpu_micros.unwrap_or(0))),
        peak_memory_bytes: now.peak_memory_bytes,
        oom_kills: now.oom_kills.saturating_sub(before.oom_kills),
        forks_refused: now.forks_refused.saturating_sub(before.forks_refused),
    }
}

/// 128 random bits.
fn random_hex() -> String {
    let mut bytes = [0u8; 16];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(filled, Ok(bytes.len()), "the kernel has randomness once it is up");
    bytes.iter().fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
