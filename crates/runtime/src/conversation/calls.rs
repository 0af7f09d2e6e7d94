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
use crate::tools::{Answer, HostTools, ToolContext};

/// How many calls of one run may be under way. Further ones fail at once.
const MOST_AT_ONCE: usize = 256;
/// How many bytes of answers may wait for the guest to take them. Until it does, no more are made.
const MOST_UNSENT: usize = 8 << 20;

/// The calls of one run.
pub(crate) struct Calls {
    tools: HostTools,
    mask: Mask,
    id: ExecutionId,
    under_way: FuturesUnordered<BoxFuture<'static, Answered>>,
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
}

/// A call that was taken from the guest.
pub(crate) struct Taken {
    pub(super) call_id: u64,
    pub(super) tool: String,
    pub(super) args: Json,
}

impl Calls {
    pub(crate) fn new(tools: HostTools, mask: Mask, id: ExecutionId) -> Self {
        let under_way = FuturesUnordered::new();
        Self { tools, mask, id, under_way, last: 0, made: BTreeMap::new(), unsent: 0 }
    }

    /// Takes a call, and begins to carry it out. `None` for a number that was used before.
    ///
    /// The tool does not get what is hidden: values of secrets leave no cell.
    pub(super) fn take(&mut self, call_id: u64, tool: &str, args: Json) -> Option<Taken> {
        if call_id <= self.last {
            return None;
        }
        self.last = call_id;
        let bytes_in = args.as_str().len() as u64;
        let (args, _) = self.mask.json(args);
        let name = self.mask.text(tool.into()).into_owned();
        let mut record = ToolCallRecord::new(call_id, name.clone());
        record.bytes_in = bytes_in;
        let found = self.tools.get(tool).cloned();
        let made = self.made.entry(name.clone()).or_default();
        *made += 1;
        let refusal = match &found {
            None => {
                // A guest can make up any number of names.
                self.made.remove(&name);
                Some("there is no such tool of the host's".to_owned())
            }
            Some(tool) if tool.most_calls.is_some_and(|most| *made > most) => {
                Some(format!("a run may call it {} times, and this one has", tool.most_calls.unwrap_or(0)))
            }
            Some(_) if self.under_way.len() >= MOST_AT_ONCE => {
                Some(format!("{MOST_AT_ONCE} calls are under way already; wait for some of them first"))
            }
            Some(_) => None,
        };
        let (mask, began) = (self.mask.clone(), Instant::now());
        let context = ToolContext { execution_id: self.id.clone(), call_id };
        let given = args.clone();
        self.under_way.push(Box::pin(async move {
            let answer = match (refusal, found) {
                (None, Some(tool)) => tool.answer(context, given).await,
                (refusal, _) => Answer::failed(refusal.unwrap_or_default()),
            };
            answered(record, answer, &mask, began)
        }));
        Some(Taken { call_id, tool: name, args })
    }

    /// The next answer, once there is one. Never ready if nothing is under way, or if the guest has
    /// not taken what was sent before.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Answered> {
        if self.under_way.is_empty() || self.unsent > MOST_UNSENT {
            return Poll::Pending;
        }
        match Pin::new(&mut self.under_way).poll_next(cx) {
            Poll::Ready(Some(answered)) => {
                self.unsent += answered.line.len();
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
    pub(super) fn pass_on(&mut self, Answered { record, message, line }: Answered) {
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
    Answered { record, message, line }
}
