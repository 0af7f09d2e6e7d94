//! Shows the slow steps before the first script can run.

use std::time::Duration;

use belljar::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::printer::Printer;
use crate::terminal_text::quoted;

/// How many packages are named before the rest is only counted.
const NAMED: usize = 8;

/// Shows a spinner to a person who watches. Otherwise one line says what is done, and one what came
/// of it. Whoever asked for more gets all lines.
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
                self.say(&format!("installing {} ({installer}) …", names(requirements)));
            }
            Progress::Line(line) if self.verbose => drop(self.printer.theirs(line)),
            Progress::Line(line) if self.is_watched() => self.spin(line),
            Progress::Done { packages, seconds } => {
                self.finish();
                if !self.is_watched() {
                    let packages =
                        if *packages == 1 { "1 package".into() } else { format!("{packages} packages") };
                    self.line(&format!("installed {packages} in {seconds:.1} s"));
                }
            }
            _ => {}
        }
    }

    /// MCP servers are started. Some install themselves first, which takes its time.
    pub(crate) fn connecting(&mut self, servers: usize) {
        if self.is_watched() {
            let servers =
                if servers == 1 { "an MCP server".into() } else { format!("{servers} MCP servers") };
            self.spin(&format!("starting {servers} …"));
        }
    }

    /// Whether a person sees a spinner move.
    fn is_watched(&self) -> bool {
        self.printer.has_audience() && !self.verbose
    }

    fn say(&mut self, text: &str) {
        if self.is_watched() { self.spin(text) } else { self.line(text) }
    }

    fn spin(&mut self, text: &str) {
        self.spinner.get_or_insert_with(spinner).set_message(quoted(text.trim()).into_owned());
    }

    fn line(&self, text: &str) {
        // A line of progress that cannot be written is no loss.
        let _ = self.printer.note(&format!("belljar: {text}"));
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

/// A requirement without its hashes, which nobody reads.
pub(crate) fn without_hashes(requirement: &str) -> &str {
    requirement.split(" --hash=").next().unwrap_or(requirement)
}

/// The first few packages, and how many more.
fn names(requirements: &[String]) -> String {
    let named = requirements.iter().take(NAMED).map(|each| without_hashes(each));
    let named = named.collect::<Vec<_>>().join(", ");
    match requirements.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_packages_are_named_in_part() {
        let requirements: Vec<String> =
            (1..=10).map(|number| format!("p{number} --hash=sha256:00")).collect();
        assert_eq!(names(&requirements[..2]), "p1, p2");
        assert_eq!(names(&requirements), "p1, p2, p3, p4, p5, p6, p7, p8 and 2 more");
    }
}
