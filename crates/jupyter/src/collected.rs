//! Events become what a run has put out. Pure: no clock, no kernel.

use crate::output::{KernelEvent, KernelOutput};

/// The outputs of a run so far.
#[derive(Default)]
pub(crate) struct Collected {
    outputs: Vec<KernelOutput>,
    /// They are cleared when there is more.
    is_stale: bool,
}

impl Collected {
    pub(crate) fn add(&mut self, event: KernelEvent) {
        match event {
            KernelEvent::Cleared { when_more_comes: true } => self.is_stale = true,
            KernelEvent::Cleared { when_more_comes: false } => {
                self.is_stale = false;
                self.outputs.clear();
            }
            KernelEvent::Output(KernelOutput::Display { display, id: Some(id), is_update: true }) => {
                self.update(display, id);
            }
            KernelEvent::Output(output) => {
                if std::mem::take(&mut self.is_stale) {
                    self.outputs.clear();
                }
                self.append(output);
            }
        }
    }

    fn update(&mut self, new: belljar_core::Display, wanted: String) {
        let mut is_known = false;
        for output in &mut self.outputs {
            if let KernelOutput::Display { display, id: Some(id), .. } = output
                && *id == wanted
            {
                *display = new.clone();
                is_known = true;
            }
        }
        if !is_known {
            self.outputs.push(KernelOutput::Display { display: new, id: Some(wanted), is_update: true });
        }
    }

    /// What is printed to one stream in a row is one text.
    fn append(&mut self, output: KernelOutput) {
        match (self.outputs.last_mut(), output) {
            (Some(KernelOutput::Stdout(text)), KernelOutput::Stdout(more))
            | (Some(KernelOutput::Stderr(text)), KernelOutput::Stderr(more)) => text.push_str(&more),
            (_, output) => self.outputs.push(output),
        }
    }

    pub(crate) fn into_outputs(self) -> Vec<KernelOutput> {
        self.outputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use belljar_core::Display;

    fn display(text: &str) -> Display {
        serde_json::from_value(serde_json::json!({"data": {"text/plain": text}})).unwrap()
    }

    fn shown(text: &str, id: &str, is_update: bool) -> KernelEvent {
        let (display, id) = (display(text), Some(id.to_owned()));
        KernelEvent::Output(KernelOutput::Display { display, id, is_update })
    }

    fn printed(text: &str) -> KernelEvent {
        KernelEvent::Output(KernelOutput::Stdout(text.to_owned()))
    }

    fn collected(events: impl IntoIterator<Item = KernelEvent>) -> Vec<KernelOutput> {
        let mut collected = Collected::default();
        events.into_iter().for_each(|event| collected.add(event));
        collected.into_outputs()
    }

    #[test]
    fn texts_in_a_row_are_one_and_the_order_stays() {
        let warning = KernelEvent::Output(KernelOutput::Stderr("w".into()));
        let outputs = collected([printed("a"), printed("b"), warning, printed("c")]);
        let (stdout, stderr) = (KernelOutput::Stdout, KernelOutput::Stderr);
        assert_eq!(outputs, [stdout("ab".into()), stderr("w".into()), stdout("c".into())]);
    }

    #[test]
    fn an_update_takes_the_place_of_what_was_shown_here_or_stands_for_itself() {
        let outputs = collected([shown("1", "x", false), printed("a"), shown("2", "x", true)]);
        assert_eq!(
            outputs,
            [
                KernelOutput::Display { display: display("2"), id: Some("x".into()), is_update: false },
                KernelOutput::Stdout("a".into()),
            ]
        );
        let outputs = collected([shown("2", "y", true), shown("3", "y", true)]);
        assert_eq!(
            outputs,
            [KernelOutput::Display { display: display("3"), id: Some("y".into()), is_update: true }]
        );
    }

    #[test]
    fn what_is_cleared_is_gone_at_once_or_when_more_comes() {
        let later = || KernelEvent::Cleared { when_more_comes: true };
        let now = KernelEvent::Cleared { when_more_comes: false };
        assert_eq!(collected([printed("a"), later()]), [KernelOutput::Stdout("a".into())]);
        assert_eq!(collected([printed("a"), later(), printed("b")]), [KernelOutput::Stdout("b".into())]);
        assert_eq!(collected([printed("a"), now, printed("b")]), [KernelOutput::Stdout("b".into())]);
    }
}
