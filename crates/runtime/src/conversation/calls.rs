//! Calls of the host's tools: taken from the guest, carried out, answered.
//!
//! What a guest can make the host do is bounded: calls at the same time, bytes of arguments, bytes
//! that wait to be taken by the guest. A call is dropped, and its tool with it, when the run ends.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use belljar_core::wire::HostFrame;
use belljar_core::{ExecutionId, Json, ToolCallRecord};
use belljar_engine::BoxFuture;
use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;

use super::Conversation;
use crate::mask::Mask;
use crate::meters::ToolMeters;
use crate::tools::{Answer, HostTool, HostTools, MOST_WAITING, ToolContext, ToolProgress, progress_channel};

/// How many calls of one run may be under way. Further ones fail at once.
const MOST_AT_ONCE: usize = 256;
/// How many bytes of arguments they may have together.
const MOST_BYTES: u64 = 16 << 20;
/// How many answers may be due, refusals included. Until they are taken, nothing more is read.
const MOST_DUE: usize = 2 * MOST_AT_ONCE;
/// How many bytes of answers may wait for the guest to take them. Until it does, no more are made.
const MOST_UNSENT: usize = 8 << 20;

/// The calls of one run. Most runs make none, and pay nothing for it.
pub(crate) struct Calls<'a> {
    tools: &'a HostTools,
    mask: &'a Mask,
    meters: &'a ToolMeters,
    under_way: Option<FuturesUnordered<BoxFuture<'static, Answered>>>,
    bytes_under_way: u64,
    /// Numbers only go up. A number that was there before is somebody's forgery.
    last: u64,
    made: BTreeMap<String, u64>,
    unsent: usize,
    /// How far they have come, once there was one.
    progress: Option<(mpsc::Sender<ToolProgress>, mpsc::Receiver<ToolProgress>)>,
    /// How often that was told since anything else was looked at.
    told_in_a_row: usize,
    /// An answer that comes after what its tool said before.
    held: Option<Answered>,
    /// Those without an answer yet, and when they began.
    open: BTreeMap<u64, (ToolCallRecord, Instant)>,
}

/// What is heard of a call.
pub(crate) enum CallNews {
    /// How far it has come.
    Progress(ToolProgress),
    /// Its answer.
    Answer(Answered),
}

/// A call and its answer.
pub(crate) struct Answered {
    pub(super) record: ToolCallRecord,
    pub(super) message: String,
    pub(super) line: Bytes,
    /// Bytes of arguments that it held until now.
    held: u64,
}

/// A call that was taken from the guest.
pub(crate) struct Taken {
    pub(super) call_id: u64,
    pub(super) tool: String,
    pub(super) args: Json,
}

impl<'a> Calls<'a> {
    pub(crate) fn new(tools: &'a HostTools, mask: &'a Mask, meters: &'a ToolMeters) -> Self {
        let made = BTreeMap::new();
        Self {
            tools,
            mask,
            meters,
            under_way: None,
            bytes_under_way: 0,
            last: 0,
            made,
            unsent: 0,
            progress: None,
            told_in_a_row: 0,
            held: None,
            open: BTreeMap::new(),
        }
    }

    /// Takes a call, and begins to carry it out. `None` for a number that was used before.
    ///
    /// The tool does not get what is hidden: values of secrets leave no cell.
    pub(super) fn take(&mut self, id: &ExecutionId, call_id: u64, tool: &str, args: Json) -> Option<Taken> {
        if call_id <= self.last {
            return None;
        }
        self.last = call_id;
        let bytes_in = args.as_str().len() as u64;
        let (args, _) = self.mask.json(args);
        let name = self.mask.text(tool.into()).into_owned();
        let mut record = ToolCallRecord::new(call_id, name.clone());
        record.bytes_in = bytes_in;
        let (mask, began) = (self.mask.clone(), Instant::now());
        self.open.insert(call_id, (record.clone(), began));
        let call: BoxFuture<'static, Answered> = match self.accept(tool, bytes_in) {
            Ok(tool) => {
                self.bytes_under_way += bytes_in;
                let (progress, _) = self.progress.get_or_insert_with(progress_channel);
                let (execution_id, tool_name, args) = (id.clone(), name.as_str().into(), args.clone());
                let context =
                    ToolContext { execution_id, call_id, tool: tool_name, progress: progress.clone() };
                Box::pin(async move { answered(record, tool.answer(context, args).await, &mask, began) })
            }
            Err(refusal) => Box::pin(async move {
                Answered { held: 0, ..answered(record, Answer::failed(refusal), &mask, began) }
            }),
        };
        self.under_way.get_or_insert_default().push(call);
        Some(Taken { call_id, tool: name, args })
    }

    /// The tool, if it may be called now, or why not.
    fn accept(&mut self, name: &str, bytes: u64) -> Result<HostTool, String> {
        let tool = self.tools.get(name).ok_or("there is no such tool of the host's")?;
        let due = self.under_way.as_ref().map_or(0, FuturesUnordered::len);
        if due >= MOST_AT_ONCE {
            return Err(format!("{MOST_AT_ONCE} calls are under way already; wait for some of them first"));
        }
        if self.bytes_under_way + bytes > MOST_BYTES {
            return Err(format!(
                "the arguments of calls under way may have {MOST_BYTES} bytes; wait for some of them first"
            ));
        }
        if let Some(most) = tool.most_calls {
            let made = self.made.entry(name.to_owned()).or_default();
            if *made >= most {
                return Err(format!("a run may call it {most} times, and this one has"));
            }
            *made += 1;
        }
        Ok(tool.clone())
    }

    /// Whether the guest may say more. One that calls and takes no answers would fill our memory.
    pub(super) fn keep_up(&self) -> bool {
        self.unsent <= MOST_UNSENT && self.under_way.as_ref().is_none_or(|due| due.len() < MOST_DUE)
    }

    /// The next thing that is heard, once there is one. Never an answer while the guest has not
    /// taken what was sent before.
    ///
    /// A tool that says too much is not heard for once, or neither an answer nor the cell would be.
    /// [`Self::poll_progress`] must then be asked at the end.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<CallNews> {
        // What was said before an answer comes before it.
        if self.told_in_a_row < MOST_WAITING
            && let Poll::Ready(news) = self.poll_progress(cx)
        {
            return Poll::Ready(news);
        }
        self.told_in_a_row = 0;
        let answered = match self.held.take() {
            Some(answered) => answered,
            None => {
                let Some(under_way) = self.under_way.as_mut().filter(|_| self.unsent <= MOST_UNSENT) else {
                    return Poll::Pending;
                };
                let Poll::Ready(Some(answered)) = Pin::new(under_way).poll_next(cx) else {
                    return Poll::Pending;
                };
                // Its tool may have said something and answered at once.
                if let Poll::Ready(news) = self.poll_progress(cx) {
                    self.held = Some(answered);
                    return Poll::Ready(news);
                }
                answered
            }
        };
        self.open.remove(&answered.record.call_id);
        self.meters.count(&answered.record);
        self.unsent += answered.line.len();
        self.bytes_under_way -= answered.held;
        Poll::Ready(CallNews::Answer(answered))
    }

    /// How far a call has come, once one says so.
    pub(super) fn poll_progress(&mut self, cx: &mut Context<'_>) -> Poll<CallNews> {
        let Some((_, progress)) = &mut self.progress else { return Poll::Pending };
        let Poll::Ready(Some(mut heard)) = progress.poll_recv(cx) else { return Poll::Pending };
        self.told_in_a_row += 1;
        heard.message = self.mask.text(heard.message.into()).into_owned();
        Poll::Ready(CallNews::Progress(heard))
    }

    /// Ends all calls that are under way, and their tools with them.
    pub(super) fn abandon(&mut self) -> impl Iterator<Item = ToolCallRecord> + use<'a> {
        (self.under_way, self.held) = (None, None);
        let meters = self.meters;
        std::mem::take(&mut self.open).into_values().map(move |(mut record, began)| {
            record.duration_ms = began.elapsed().as_micros() as f64 / 1e3;
            meters.count(&record);
            record
        })
    }

    /// The guest has taken every answer that was sent.
    pub(super) fn are_taken(&mut self) {
        self.unsent = 0;
    }
}

impl Conversation<'_, '_> {
    /// Sends an answer, and tells of it. Progress is only told of.
    pub(super) fn pass_on(&mut self, news: CallNews) {
        let event = match news {
            // For whoever listens slowly, less of it is enough.
            CallNews::Progress(_) if !self.listener.keeps_up(self.limit) => return,
            CallNews::Progress(progress) => self.transcript.tool_progress(progress),
            CallNews::Answer(Answered { record, message, line, .. }) => {
                self.cell.send(line);
                self.transcript.tool_result(record, message)
            }
        };
        self.listener.tell(event);
    }
}

fn answered(mut record: ToolCallRecord, answer: Answer, mask: &Mask, began: Instant) -> Answered {
    // A script may not learn a value that only the proxy has.
    let (data, _) = mask.json(answer.data);
    let message = mask.text(answer.message.into()).into_owned();
    let frame = HostFrame::ToolResult {
        call_id: record.call_id,
        success: answer.success,
        data: &data,
        message: &message,
    };
    let line = frame.to_line().into();
    record.success = answer.success;
    record.duration_ms = began.elapsed().as_micros() as f64 / 1e3;
    record.bytes_out = data.as_str().len() as u64;
    Answered { held: record.bytes_in, record, message, line }
}
