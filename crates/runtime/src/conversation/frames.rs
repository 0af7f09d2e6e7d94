//! What the guest says: frames under this run's seal, prints, and noise.

use belljar_core::Json;
use belljar_core::wire::{Envelope, GuestFrame};
use belljar_engine::Burst;

use super::Conversation;
use crate::transcript::Ending;

impl Conversation<'_, '_> {
    /// Takes in what was read at one moment; the ending, if it holds one.
    pub(super) fn take_in(&mut self, burst: Burst) -> Option<Ending> {
        self.transcript.output_bytes += (burst.stdout.len() + burst.stderr.len()) as u64;
        if self.transcript.output_bytes > self.limit {
            return Some(Ending::Flood);
        }
        self.progress.printed.stdout.waiting.extend_from_slice(&burst.stdout);
        self.progress.printed.stderr.waiting.extend_from_slice(&burst.stderr);
        // Before what the script made of it.
        self.tell_denials();
        let ending = self.take_frames(&burst.channel);
        // What is said after a run ends nobody waits for.
        self.tell_printed(if ending.is_some() { [0, 0] } else { burst.ahead });
        ending
    }

    fn take_frames(&mut self, bytes: &[u8]) -> Option<Ending> {
        self.progress.lines.push(bytes);
        loop {
            let line = match self.progress.lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(_) => return Some(Ending::Flood),
            };
            let bytes = line.len() as u64 + 1;
            let envelope = Envelope::parse(line).filter(|envelope| envelope.is_sealed_with(self.seal));
            // What is said to a tool is not output. Each call by itself is no longer than that may
            // be.
            if !matches!(&envelope, Some(Envelope { frame: GuestFrame::ToolCall { .. }, .. })) {
                self.transcript.output_bytes += bytes;
                if self.transcript.output_bytes > self.limit {
                    return Some(Ending::Flood);
                }
            }
            let Some(envelope) = envelope else {
                if bytes == 1 {
                    continue;
                }
                tracing::debug!(bytes, "a line that is not a frame of this execution was skipped");
                continue;
            };
            if let GuestFrame::Stdin = envelope.frame {
                self.input.open(self.cell);
            }
            let before = [envelope.printed.stdout, envelope.printed.stderr];
            let had_outcome = self.transcript.has_outcome();
            let printed = self.progress.printed.up_to(before);
            let earlier = printed.map(|(stream, bytes)| self.transcript.printed(stream, &bytes));
            let event = match envelope.frame {
                GuestFrame::ToolCall { call_id, tool, args } => {
                    let args = Json::repaired(args).0;
                    let taken = self.calls.take(self.transcript.id(), call_id, &tool, args);
                    taken.map(|call| self.transcript.tool_call(call.call_id, call.tool, call.args))
                }
                frame => self.transcript.frame(frame, self.deadlines.time_is_up()),
            };
            if !had_outcome && self.transcript.has_outcome() {
                tracing::debug!(failed = self.transcript.has_failed(), "the outcome is known");
                // Asked for failures only. A result stands whatever is full, and every warm run
                // comes this way.
                self.progress.scratch_was_full = self.transcript.has_failed() && self.cell.scratch_is_full();
                self.deadlines.outcome_is_known(self.transcript.mode());
            }
            for event in earlier.into_iter().flatten().chain(event) {
                self.listener.tell(event);
            }
            if self.transcript.is_done() {
                return Some(Ending::Finished);
            }
        }
    }
}
