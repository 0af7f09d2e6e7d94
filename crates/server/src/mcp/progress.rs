//! Tells a client how a run goes on, if it wants to know.
//!
//! A run may print faster than a client reads. So whatever has come meanwhile is one message, and
//! only its end if it is long: the answer has all of it.

use std::sync::Arc;

use belljar::{Event, EventKind};
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;

use super::content::{Side, shortened};
use crate::history::HistoryReader;
use crate::runs::{Follower, Run};

/// Characters of one message.
const LONGEST: usize = 2000;

/// Tells of a run until it is over.
pub(super) async fn tell(context: &RequestContext<RoleServer>, run: &Arc<Run>, history: &HistoryReader) {
    if let Some(token) = context.meta.get_progress_token() {
        let mut follower = Follower::live(run, 0, history.clone());
        let mut events = 0_u32;
        while let Ok(lines) = follower.next().await {
            if lines.is_empty() {
                break;
            }
            events += u32::try_from(lines.len()).unwrap_or(u32::MAX);
            let Some(message) = message(&lines) else { continue };
            // It only has to grow. Nobody knows how much is left.
            let told = ProgressNotificationParam::new(token.clone(), events.into()).with_message(message);
            if context.peer.notify_progress(told).await.is_err() {
                break;
            }
        }
    }
    run.over().await;
}

/// What some events say, in one text. `None` if they say nothing.
fn message(lines: &[Arc<str>]) -> Option<String> {
    let mut text = String::new();
    for line in lines {
        let Ok(event) = serde_json::from_str::<Event>(line) else { continue };
        let part = match event.kind {
            EventKind::Stdout { text: printed } | EventKind::Stderr { text: printed } => {
                text.push_str(&printed);
                continue;
            }
            EventKind::Intermediate { label, data } => format!("{label}: {}", data.as_str()),
            EventKind::Log { level, message } => format!("{}: {message}", level.name()),
            EventKind::ToolCall { tool, .. } => format!("calls {tool}"),
            EventKind::ToolProgress { tool, message, .. } => format!("{tool}: {message}"),
            EventKind::Denied { target, .. } => format!("{target} is not allowed"),
            _ => continue,
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&part);
        text.push('\n');
    }
    let text = text.trim_end();
    (!text.is_empty()).then(|| shortened(text, LONGEST, Side::End))
}

#[cfg(test)]
mod tests {
    use belljar::{ExecutionId, Json, LogLevel};

    use super::*;

    fn line(kind: EventKind) -> Arc<str> {
        serde_json::to_string(&Event::new(ExecutionId::new("x"), 0, kind)).unwrap().into()
    }

    #[test]
    fn events_that_came_together_are_one_message() {
        let data: Json = serde_json::from_str("[1,2]").unwrap();
        let lines = [
            line(EventKind::Stdout { text: "one\ntw".into() }),
            line(EventKind::Stdout { text: "o".into() }),
            line(EventKind::Intermediate { label: "half".into(), data }),
            line(EventKind::Log { level: LogLevel::Warning, message: "slow".into() }),
            line(EventKind::ScriptDone),
        ];
        assert_eq!(message(&lines).unwrap(), "one\ntwo\nhalf: [1,2]\nwarning: slow");
        assert_eq!(message(&[line(EventKind::ScriptDone)]), None, "nothing to tell");
        let flood = message(&[line(EventKind::Stdout { text: "y".repeat(1 << 20) })]).unwrap();
        assert!(flood.len() < LONGEST + 100, "{}", flood.len());
    }
}
