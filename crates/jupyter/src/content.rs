//! Messages of a run become events, as long as there is room for them.

use std::collections::BTreeMap;

use belljar_core::Display;
use belljar_core::display::{MOST_DISPLAYS, Received};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::message::Message;
use crate::output::{KernelError, KernelEvent, KernelOutput};

/// What an event costs beside its text: many small ones are not for free.
const OVERHEAD: usize = 64;
/// Bytes of an exception's name and message, and of its traceback, that are kept in any case.
const LONGEST_WORDS: usize = 16 << 10;
const LONGEST_TRACEBACK: usize = 256 << 10;
/// Bytes of a display's id.
const LONGEST_ID: usize = 256;

/// Reads the output of one run, and knows how much more may be kept of it.
pub(crate) struct Reader {
    room: usize,
    displays: usize,
    pub(crate) was_cut: bool,
    pub(crate) has_error: bool,
}

#[derive(Deserialize)]
struct Printed {
    name: String,
    text: String,
}

#[derive(Deserialize)]
struct Shown {
    data: Box<RawValue>,
    #[serde(default)]
    transient: Transient,
}

#[derive(Deserialize, Default)]
struct Transient {
    display_id: Option<String>,
}

#[derive(Deserialize)]
struct Clear {
    #[serde(default)]
    wait: bool,
}

#[derive(Deserialize)]
struct Raised {
    ename: String,
    evalue: String,
    #[serde(default)]
    traceback: Vec<String>,
}

impl Reader {
    pub(crate) fn new(room: usize) -> Self {
        Self { room, displays: 0, was_cut: false, has_error: false }
    }

    /// What a message of the run tells, if there is room for it.
    pub(crate) fn read(&mut self, message: &Message) -> Option<KernelEvent> {
        let output = match message.kind.as_str() {
            "stream" => self.printed(message)?,
            "display_data" | "update_display_data" => {
                let (display, id) = self.shown(message)?;
                KernelOutput::Display { display, id, is_update: message.kind == "update_display_data" }
            }
            "execute_result" => KernelOutput::Result(self.shown(message)?.0),
            "error" => self.raised(message)?,
            "clear_output" => {
                let when_more_comes = message.content::<Clear>().is_some_and(|clear| clear.wait);
                return self.takes(0).then_some(KernelEvent::Cleared { when_more_comes });
            }
            _ => return None,
        };
        Some(KernelEvent::Output(output))
    }

    /// The exception as the answer to the request has it. For a run whose own message of it is lost.
    pub(crate) fn raised(&mut self, message: &Message) -> Option<KernelOutput> {
        // Only a bounded part of it is kept, and always: there is one.
        if self.has_error {
            return None;
        }
        let raised: Raised = message.content()?;
        self.has_error = true;
        let mut traceback = raised.traceback.join("\n");
        cut(&mut traceback, LONGEST_TRACEBACK);
        let (mut name, mut value) = (raised.ename, raised.evalue);
        cut(&mut name, LONGEST_WORDS);
        cut(&mut value, LONGEST_WORDS);
        let plain_traceback = anstream::adapter::strip_str(&traceback).to_string();
        Some(KernelOutput::Error(KernelError { name, value, traceback, plain_traceback }))
    }

    fn printed(&mut self, message: &Message) -> Option<KernelOutput> {
        if self.room <= OVERHEAD {
            self.was_cut = true;
            return None;
        }
        let Printed { name, mut text } = message.content()?;
        self.was_cut |= cut(&mut text, self.room - OVERHEAD);
        self.takes(text.len()).then_some(match name.as_str() {
            "stderr" => KernelOutput::Stderr(text),
            _ => KernelOutput::Stdout(text),
        })
    }

    fn shown(&mut self, message: &Message) -> Option<(Display, Option<String>)> {
        self.displays += 1;
        if self.displays > MOST_DISPLAYS || !self.takes(message.size()) {
            self.was_cut = true;
            return None;
        }
        let shown: Shown = message.content()?;
        let data = tidy(&shown.data);
        let display = Received::read(data.as_deref().unwrap_or(&shown.data), |_, _, _| true).display?;
        Some((display, shown.transient.display_id.filter(|id| id.len() <= LONGEST_ID)))
    }

    /// Takes room, if there is so much.
    fn takes(&mut self, bytes: usize) -> bool {
        let left = self.room.checked_sub(bytes.saturating_add(OVERHEAD));
        self.was_cut |= left.is_none();
        self.room = left.unwrap_or(self.room);
        left.is_some()
    }
}

/// Kernels may break lines in base64. `None` if nothing needs to change.
fn tidy(data: &RawValue) -> Option<Box<RawValue>> {
    let mut forms: BTreeMap<String, Value> = serde_json::from_str(data.get()).ok()?;
    let mut is_changed = false;
    for (mime, form) in &mut forms {
        let is_text = mime.starts_with("text/")
            || mime.ends_with("+xml")
            || matches!(mime.as_str(), "application/xml" | "application/javascript");
        if let (false, Value::String(text)) = (is_text, form)
            && text.contains(['\n', '\r'])
            && !mime.ends_with("json")
        {
            text.retain(|c| !c.is_ascii_whitespace());
            is_changed = true;
        }
    }
    is_changed.then(|| serde_json::value::to_raw_value(&forms).ok()).flatten()
}

/// Cuts a text, between two characters. Whether anything is missing then.
fn cut(text: &mut String, most: usize) -> bool {
    let is_longer = text.len() > most;
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    is_longer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::tests::said;
    use serde_json::json;

    fn printed(text: &str) -> Message {
        said("stream", &json!({"name": "stdout", "text": text}))
    }

    #[test]
    fn output_is_cut_between_characters_and_nothing_comes_after() {
        let mut reader = Reader::new(OVERHEAD + 4);
        let event = reader.read(&printed("aéé")).unwrap();
        assert_eq!(event, KernelEvent::Output(KernelOutput::Stdout("aé".into())));
        assert!(reader.was_cut);
        assert_eq!(reader.read(&printed("more")), None);
    }

    #[test]
    fn many_small_outputs_take_room_too() {
        let mut reader = Reader::new(100 * OVERHEAD);
        let kept = (0..1000).filter(|_| reader.read(&printed("x")).is_some()).count();
        assert!(kept < 100 && reader.was_cut, "{kept}");
        let mut reader = Reader::new(100 * OVERHEAD);
        let clear = said("clear_output", &json!({"wait": true}));
        let kept = (0..1000).filter(|_| reader.read(&clear).is_some()).count();
        assert!(kept == 100 && reader.was_cut, "{kept}");
    }

    #[test]
    fn an_exception_is_kept_where_there_is_no_room_but_only_once_and_not_all_of_it() {
        let mut reader = Reader::new(0);
        let long = "\u{1b}[31mé".repeat(1 << 16);
        let message = said("error", &json!({"ename": "E", "evalue": &long, "traceback": [&long]}));
        let Some(KernelEvent::Output(KernelOutput::Error(error))) = reader.read(&message) else {
            panic!("it is not kept");
        };
        assert!(error.value.len() <= LONGEST_WORDS && error.traceback.len() <= LONGEST_TRACEBACK);
        assert!(error.plain_traceback.starts_with("éé"), "{:?}", &error.plain_traceback[..20]);
        assert_eq!(reader.read(&message), None);
    }

    #[test]
    fn lines_in_base64_are_joined_and_what_is_not_its_type_is_refused() {
        let mut reader = Reader::new(1 << 20);
        let data = json!({"data": {"image/png": "iVBORw0K\nGgo=\n", "text/plain": "a\nb"}, "metadata": {}});
        let (display, id) = reader.shown(&said("display_data", &data)).unwrap();
        assert_eq!(display.get("image/png").unwrap().as_bytes(), b"\x89PNG\r\n\x1a\n");
        assert_eq!((display.text(), id), (Some("a\nb"), None));
        let data = json!({"data": {"image/png": "bm90cG5n"}});
        assert_eq!(reader.shown(&said("display_data", &data)), None);
    }

    #[test]
    fn messages_that_are_not_as_they_should_be_tell_nothing() {
        let mut reader = Reader::new(1 << 20);
        for content in [json!({}), json!([]), json!({"name": 1, "text": []}), json!({"data": 5})] {
            for kind in ["stream", "display_data", "execute_result", "error", "status", "nonsense"] {
                assert_eq!(reader.read(&said(kind, &content)), None, "{kind} {content}");
            }
        }
    }
}
