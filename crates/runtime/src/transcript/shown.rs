//! What a script showed: bounded in number, secrets hidden, and an account of what is missing.

use belljar_core::display::{MOST_DISPLAYS, Received};
use belljar_core::json::Repairs;
use belljar_core::{Display, DisplayData};
use serde_json::value::RawValue;

use crate::mask::Mask;

/// The displays of one run.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) displays: Vec<Display>,
    pub(super) missing: MissingDisplays,
    /// Repairs of JSON forms.
    pub(super) repairs: Repairs,
}

/// What is not among the displays of a run, and why.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct MissingDisplays {
    /// Too many or too large, by the harness's word or the host's.
    pub(crate) left_out: u64,
    /// Not what their type says.
    pub(crate) refused: u64,
    /// They held the value of a secret.
    pub(crate) secret: u64,
}

impl Shown {
    /// Takes in a frame. Returns what it shows, if anything.
    pub(super) fn take(&mut self, data: &RawValue, left_out: u64, mask: &Mask) -> Option<Display> {
        self.missing.left_out = self.missing.left_out.saturating_add(left_out);
        // A frame that only says what is missing.
        if data.get() == "{}" && left_out > 0 {
            return None;
        }
        if self.displays.len() == MOST_DISPLAYS {
            self.missing.left_out = self.missing.left_out.saturating_add(1);
            return None;
        }
        let received = Received::read(data, |mime, form, repairs| hide(mime, form, repairs, mask));
        self.missing.refused += received.refused;
        self.missing.secret += received.unwanted;
        self.repairs.add(received.repairs);
        let display = received.display?;
        self.displays.push(display.clone());
        Some(display)
    }
}

/// Hides secrets in a form. `false` if that would break it: a picture with other bytes in it is
/// none, and neither is a type with other letters.
fn hide(mime: &str, form: &mut DisplayData, repairs: &mut Repairs, mask: &Mask) -> bool {
    if mask.finds(mime.as_bytes()) {
        return false;
    }
    match form {
        DisplayData::Text(text) => *text = mask.text(std::mem::take(text).into()).into_owned(),
        DisplayData::Json(json) => {
            let (masked, changed) = mask.json(json.clone());
            repairs.add(changed);
            *json = masked;
        }
        DisplayData::Bytes(bytes) => return !mask.finds(bytes),
    }
    true
}
