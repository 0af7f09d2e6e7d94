//! Puts frames and prints in the order in which the script made them.

use belljar_core::OutputStream;

/// What was printed but not handed on yet, because a frame may belong before it.
#[derive(Default)]
pub(crate) struct Printed {
    pub(super) stdout: Waiting,
    pub(super) stderr: Waiting,
}

#[derive(Default)]
pub(super) struct Waiting {
    pub(super) waiting: Vec<u8>,
    handed_on: u64,
}

impl Printed {
    /// What there is, except for the last so many bytes.
    pub(super) fn all_but(&mut self, last: [usize; 2]) -> [(OutputStream, Vec<u8>); 2] {
        let [stdout, stderr] = last;
        [
            (OutputStream::Stdout, self.stdout.all_but(stdout)),
            (OutputStream::Stderr, self.stderr.all_but(stderr)),
        ]
    }

    /// What comes before a frame that says how much was printed before it. If it does not say, that
    /// is all there is.
    pub(super) fn up_to(&mut self, before: [Option<u64>; 2]) -> [(OutputStream, Vec<u8>); 2] {
        let [stdout, stderr] = before;
        [(OutputStream::Stdout, self.stdout.up_to(stdout)), (OutputStream::Stderr, self.stderr.up_to(stderr))]
    }
}

impl Waiting {
    fn up_to(&mut self, before: Option<u64>) -> Vec<u8> {
        let due = before.map_or(self.waiting.len() as u64, |before| before.saturating_sub(self.handed_on));
        self.first(usize::try_from(due).unwrap_or(usize::MAX))
    }

    fn all_but(&mut self, last: usize) -> Vec<u8> {
        self.first(self.waiting.len().saturating_sub(last))
    }

    fn first(&mut self, count: usize) -> Vec<u8> {
        let count = count.min(self.waiting.len());
        self.handed_on += count as u64;
        let rest = self.waiting.split_off(count);
        std::mem::replace(&mut self.waiting, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pieces: [(OutputStream, Vec<u8>); 2]) -> [String; 2] {
        pieces.map(|(_, bytes)| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn what_is_ahead_of_a_frame_waits_for_it() {
        let mut printed = Printed::default();
        printed.stdout.waiting.extend_from_slice(b"before after");
        printed.stderr.waiting.extend_from_slice(b"e");
        assert_eq!(text(printed.all_but([5, 0])), ["before ", "e"]);
        // The frame comes with the next burst, and says that seven bytes were printed before it.
        assert_eq!(text(printed.up_to([Some(7), Some(1)])), ["", ""]);
        assert_eq!(text(printed.all_but([0, 0])), ["after", ""]);
    }

    #[test]
    fn a_frame_that_claims_more_than_was_printed_gets_what_there_is() {
        let mut printed = Printed::default();
        printed.stdout.waiting.extend_from_slice(b"all");
        assert_eq!(text(printed.up_to([Some(u64::MAX), None])), ["all", ""]);
        assert_eq!(text(printed.all_but([usize::MAX, 9])), ["", ""]);
    }
}
