//! Shows an agent at work: what it is asked, its scripts, what they print, how they end.
//!
//! A model's text is a stranger's text, like a script's: it is on lines with a mark of their own,
//! and nothing in it takes effect.

use std::io;

use belljar::agent::{AgentEvent, AgentMode, GaveUp, Outcome, RunRecord, StepRecord};

use crate::printer::{Advice, Output, Printer};
use crate::terminal_text::quoted;

/// Shows events, for people or for a program.
pub(crate) struct View {
    printer: Printer,
    output: Output,
    mode: AgentMode,
    /// Whether what a model says besides its script is shown.
    verbose: bool,
    /// The last line of that, as far as it has come.
    line: String,
}

impl View {
    pub(crate) fn new(printer: Printer, output: Output, mode: AgentMode, verbose: bool) -> Self {
        Self { printer, output, mode, verbose, line: String::new() }
    }

    /// Shows an event as it happens.
    pub(crate) fn show(&mut self, event: &AgentEvent) -> io::Result<()> {
        match self.output {
            Output::Json => Ok(()),
            Output::Events => self.printer.json(event),
            Output::Human => self.tell(event),
        }
    }

    fn tell(&mut self, event: &AgentEvent) -> io::Result<()> {
        match event {
            AgentEvent::Prompt { step, .. } => {
                self.printer.note(&format!("{} {step}: the model is asked", self.turn()))
            }
            AgentEvent::ModelText { text, .. } if self.verbose => self.say(text),
            AgentEvent::ModelRetry { reason, wait_ms, .. } => {
                self.line.clear();
                let seconds = *wait_ms as f64 / 1000.0;
                let reason = quoted(reason);
                self.printer.warning(&format!("{reason}; the model is asked again in {seconds:.1} s"))
            }
            AgentEvent::Reply { .. } => self.say_rest(),
            // What it said has the script in it.
            AgentEvent::Script { script, .. } if !self.verbose => {
                script.lines().try_for_each(|line| self.printer.theirs(line))
            }
            AgentEvent::Vetted { findings, .. } => {
                let mut findings = findings.iter().map(ToString::to_string);
                findings.try_for_each(|finding| self.printer.warning(&quoted(&finding)))
            }
            AgentEvent::Run { event, .. } => self.printer.event(event),
            AgentEvent::StepEnded { step } => self.ended(step),
            _ => Ok(()),
        }
    }

    /// Shows a part of what a model says, by whole lines.
    fn say(&mut self, text: &str) -> io::Result<()> {
        self.line.push_str(text);
        while let Some(end) = self.line.find('\n') {
            let line: String = self.line.drain(..=end).collect();
            self.printer.theirs(line.trim_end_matches(['\r', '\n']))?;
        }
        Ok(())
    }

    fn say_rest(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() { Ok(()) } else { self.printer.theirs(&line) }
    }

    fn ended(&self, step: &StepRecord) -> io::Result<()> {
        let (turn, number) = (self.turn(), step.number);
        let Some(result) = &step.result else {
            let why = if step.findings.is_empty() { "ended" } else { "not run" };
            return self.printer.note(&format!("{turn} {number}: {why}"));
        };
        self.printer.traceback(result)?;
        let verdict = quoted(&result.verdict.to_string()).into_owned();
        let error = result.error.as_deref().filter(|_| !result.success());
        let error = error.map_or_else(String::new, |error| format!(": {}", quoted(error)));
        self.printer.note(&format!("{turn} {number}: {verdict}{error}"))
    }

    fn turn(&self) -> &'static str {
        match self.mode {
            AgentMode::Interactive => "step",
            _ => "attempt",
        }
    }
}

/// Shows how a task ended. With `--events`, the events have shown it already.
pub(crate) fn conclude(record: &RunRecord, printer: &Printer, output: Output) -> io::Result<()> {
    match output {
        Output::Json => return printer.json(record),
        Output::Events => return Ok(()),
        Output::Human => {}
    }
    match &record.outcome {
        Outcome::Succeeded => {
            if let Some(answer) = record.answer.as_deref().filter(|answer| !answer.is_empty()) {
                printer.answer(answer)?;
            } else if let Some(result) = record.last_result() {
                printer.result(result, Advice::Silence)?;
            }
        }
        // The command says so itself.
        Outcome::Cancelled => {}
        other => {
            let advice = match other {
                Outcome::GaveUp { reason: GaveUp::Attempts } => ". Allow more with --max-attempts",
                Outcome::GaveUp { reason: GaveUp::Steps } => ". Allow more with --max-steps",
                Outcome::GaveUp { reason: GaveUp::Time } => ". Allow more with --max-time",
                Outcome::GaveUp { reason: GaveUp::Tokens } => ". Allow more with --max-tokens",
                _ => "",
            };
            printer.error(&format!("{}{advice}", quoted(&other.to_string())))?;
        }
    }
    printer.note(&summary(record))
}

fn summary(record: &RunRecord) -> String {
    let steps = record.steps.len();
    let turns = match (record.mode, steps) {
        (AgentMode::Interactive, 1) => "1 step".to_owned(),
        (AgentMode::Interactive, steps) => format!("{steps} steps"),
        (_, 1) => "1 attempt".to_owned(),
        (_, steps) => format!("{steps} attempts"),
    };
    let tokens = match record.tokens.total() {
        0 => String::new(),
        _ => format!(", {} tokens read, {} written", record.tokens.input, record.tokens.output),
    };
    format!("{turns}{tokens}")
}
