//! Shows the slow steps before the first script can run.

use std::time::Duration;

use belljar::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::printer::Printer;
use crate::terminal_text::quoted;

/// Shows a spinner to a person who watches, and lines to a person who asked for them. Otherwise it
/// shows nothing.
pub(crate) struct Preparation<'a> {
    printer: &'a Printer,
    verbose: bool,
    spinner: Option<ProgressBar>,
}

impl<'a> Preparation<'a> {
    pub(crate) fn new(printer: &'a Printer, verbose: bool) -> Self {
        Self { printer, verbose, spinner: None }
    }

    /// Shows one step.
    pub(crate) fn show(&mut self, step: &Progress) {
        match step {
            Progress::Waiting => self.say("waiting for another process that installs the same packages"),
            Progress::Started { installer, requirements } => {
                self.say(&format!("installing {} with {installer}", requirements.join(", ")));
            }
            Progress::Line(line) if self.verbose => drop(self.printer.theirs(line)),
            Progress::Line(line) => self.say(line),
            Progress::Done { seconds } => {
                self.finish();
                if self.verbose {
                    self.line(&format!("installed in {seconds:.1} s"));
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        if self.verbose {
            self.line(text);
        } else if self.printer.has_audience() {
            self.spinner.get_or_insert_with(spinner).set_message(quoted(text.trim()).into_owned());
        }
    }

    fn line(&self, text: &str) {
        // A line of progress that cannot be written is no loss.
        let _ = self.printer.note(text);
    }

    fn finish(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }
}

impl Drop for Preparation<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}

fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg:.dim} {elapsed}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}
