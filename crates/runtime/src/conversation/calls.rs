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

use super::Conversation;
use crate::mask::Mask;
use crate::tools::{Answer, HostTool, HostTools, ToolContext};

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
    under_way: Option<FuturesUnordered<BoxFuture<'static, Answered>>>,
    bytes_under_way: u64,
    /// Numbers only go up. A number that was there before is somebody's forgery.
    last: u64,
    made: BTreeMap<String, u64>,
    unsent: usize,
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
    pub(crate) fn new(tools: &'a HostTools, mask: &'a Mask) -> Self {
        let made = BTreeMap::new();
        Self { tools, mask, under_way: None, bytes_under_way: 0, last: 0, made, unsent: 0 }
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
        let call: BoxFuture<'static, Answered> = match self.accept(tool, bytes_in) {
            Ok(tool) => {
                self.bytes_under_way += bytes_in;
                let (context, args) = (ToolContext { execution_id: id.clone(), call_id }, args.clone());
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

    /// The next answer, once there is one. Never ready if nothing is under way, or if the guest has
    /// not taken what was sent before.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Answered> {
        let Some(under_way) = self.under_way.as_mut().filter(|_| self.unsent <= MOST_UNSENT) else {
            return Poll::Pending;
        };
        match Pin::new(under_way).poll_next(cx) {
            Poll::Ready(Some(answered)) => {
                self.unsent += answered.line.len();
                self.bytes_under_way -= answered.held;
                Poll::Ready(answered)
            }
            _ => Poll::Pending,
        }
    }

    /// The guest has taken every answer that was sent.
    pub(super) fn are_taken(&mut self) {
        self.unsent = 0;
    }
}

impl Conversation<'_, '_> {
    /// Sends an answer, and tells of it.
    pub(super) fn pass_on(&mut self, Answered { record, message, line, .. }: Answered) {
        self.cell.send(line);
        let event = self.transcript.tool_result(record, message);
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
