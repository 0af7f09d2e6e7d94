//! Notices when a model goes round in circles. Pure.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

/// What has been before.
#[derive(Debug)]
pub(super) struct Loops {
    /// How often the same thing may be.
    most: u32,
    seen: HashMap<[u8; 32], u32>,
    last_error: String,
    in_a_row: u32,
}

/// What a step is in view of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    New,
    /// It has been before, and the model is told.
    Repeated,
    /// It has been often enough.
    Loop,
}

impl Loops {
    pub(super) fn new(most: u32) -> Self {
        Self { most: most.max(1), seen: HashMap::new(), last_error: String::new(), in_a_row: 0 }
    }

    /// Takes note of a script, of everything that the model is told about it, and of its error. A
    /// script that is the same but gives something else is no repetition: it may be waiting.
    pub(super) fn note(&mut self, script: &str, told: &str, error: Option<&str>) -> Turn {
        let lines: Vec<&str> = script.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let mut hash = Sha256::new();
        hash.update(lines.join("\n"));
        hash.update([0]);
        hash.update(told);
        let times = self.seen.entry(hash.finalize().into()).or_default();
        *times += 1;
        let times = *times;
        match error {
            Some(error) if error == self.last_error => self.in_a_row += 1,
            Some(error) => (self.last_error, self.in_a_row) = (error.to_owned(), 1),
            None => (self.last_error, self.in_a_row) = (String::new(), 0),
        }
        match times.max(self.in_a_row) {
            worst if worst > self.most => Turn::Loop,
            _ if times > 1 => Turn::Repeated,
            _ => Turn::New,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_script_with_the_same_end_is_a_loop_the_third_time() {
        let mut loops = Loops::new(2);
        assert_eq!(loops.note("a()\n", "x", None), Turn::New);
        assert_eq!(loops.note("b()\n", "x", None), Turn::New);
        assert_eq!(loops.note("a()  \n\n", "x", None), Turn::Repeated);
        assert_eq!(loops.note("b()\n", "x", None), Turn::Repeated);
        assert_eq!(loops.note("a()", "x", None), Turn::Loop);
    }

    #[test]
    fn a_script_that_waits_for_something_is_no_loop() {
        let mut loops = Loops::new(1);
        for told in ["10 %", "50 %", "100 %"] {
            assert_eq!(loops.note("status()", told, None), Turn::New);
        }
    }

    #[test]
    fn the_same_error_in_a_row_is_a_loop_whatever_the_script() {
        let mut loops = Loops::new(2);
        let mut note = |script: &str, error: Option<&str>| loops.note(script, "told", error);
        assert_eq!(note("1", Some("KeyError: 'a'")), Turn::New);
        assert_eq!(note("2", Some("KeyError: 'a'")), Turn::New);
        assert_eq!(note("3", None), Turn::New);
        assert_eq!(note("4", Some("KeyError: 'a'")), Turn::New);
        assert_eq!(note("5", Some("KeyError: 'a'")), Turn::New);
        assert_eq!(note("6", Some("KeyError: 'a'")), Turn::Loop);
    }
}
