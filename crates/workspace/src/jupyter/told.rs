//! What a kernel put out for one block, as a result, as text, and as files.

use belljar_core::Display;
use belljar_jupyter::{KernelError, KernelOutput, KernelRun, KernelStatus, Limits};

use crate::executor::took_too_long;
use crate::{BlockResult, File, RunResult};

/// One block.
pub(super) struct Told {
    pub(super) block: BlockResult,
    /// Everything it put out, in order.
    pub(super) text: String,
    pub(super) displays: Vec<Display>,
}

/// Forms that are texts for people, or are the same once more.
const NO_FILES: [&str; 4] = ["application/javascript", "text/html", "text/markdown", "text/plain"];

impl Told {
    pub(super) fn new(language: String, run: KernelRun, limits: &Limits) -> Self {
        let (exit_code, error) = ending(&run, limits);
        let timed_out = run.status == KernelStatus::TimedOut;
        let block = BlockResult { language, exit_code, timed_out, error, ..BlockResult::default() };
        let mut told = Self { block, text: String::new(), displays: Vec::new() };
        for output in run.outputs {
            told.add(output);
        }
        if run.output_was_cut {
            told.note("there was more output than is kept");
        }
        if run.kernel_was_restarted {
            told.note("the kernel was restarted: what earlier blocks defined is gone");
        }
        told
    }

    fn add(&mut self, output: KernelOutput) {
        match output {
            KernelOutput::Stdout(text) => {
                self.block.stdout.push_str(&text);
                self.text.push_str(&text);
            }
            KernelOutput::Stderr(text) => {
                self.block.stderr.push_str(&text);
                self.text.push_str(&text);
            }
            KernelOutput::Result(display) | KernelOutput::Display { display, .. } => {
                if let Some(text) = display.text() {
                    add_line(&mut self.block.stdout, text);
                    add_line(&mut self.text, text);
                }
                self.displays.push(display);
            }
            KernelOutput::Error(error) => {
                let mut text = error.plain_traceback.clone();
                if !text.contains(&error.name) {
                    add_line(&mut text, &named(&error));
                }
                add_line(&mut self.block.stderr, &text);
                add_line(&mut self.text, &text);
            }
            _ => {}
        }
    }

    fn note(&mut self, what: &str) {
        let note = format!("[{what}]");
        add_line(&mut self.block.stderr, &note);
        add_line(&mut self.text, &note);
    }

    /// Pictures and documents that it showed.
    pub(super) fn files(&self, index: usize) -> Vec<File> {
        let mut files = Vec::new();
        for display in &self.displays {
            let rich = display.forms().map(|(mime, _)| mime).filter(|mime| *mime != "text/plain");
            for (mime, (name, content)) in rich.zip(display.files(0)) {
                if NO_FILES.contains(&mime) {
                    continue;
                }
                let extension = name.split_once('.').map_or("bin", |(_, extension)| extension);
                files.push(File {
                    name: format!("result_{index}_{}.{extension}", files.len()),
                    content: content.to_vec(),
                    mime_type: mime.to_owned(),
                    size_bytes: content.len() as u64,
                    truncated: false,
                });
            }
        }
        files
    }
}

fn named(error: &KernelError) -> String {
    if error.value.is_empty() { error.name.clone() } else { format!("{}: {}", error.name, error.value) }
}

/// How a run ended, as an exit code, and why if not well.
fn ending(run: &KernelRun, limits: &Limits) -> (i32, Option<String>) {
    const SIGINT: i32 = 2;
    let why = |text: &str| Some(text.to_owned());
    match run.status {
        KernelStatus::Ok => (0, None),
        KernelStatus::Error => (1, run.error().map(named).or_else(|| why("it raised an exception"))),
        KernelStatus::TimedOut => (-1, Some(took_too_long(limits.timeout))),
        KernelStatus::Interrupted => (RunResult::exit_code_of_signal(SIGINT), why("it was interrupted")),
        KernelStatus::KernelDied => (-1, why("the kernel died")),
        KernelStatus::TooMuchOutput => (-1, why("it put out more at once than is read")),
        _ => (-1, why("it did not come to its end")),
    }
}

/// Adds a text that is lines of its own.
fn add_line(to: &mut String, text: &str) {
    if !to.is_empty() && !to.ends_with('\n') {
        to.push('\n');
    }
    to.push_str(text);
    if !text.ends_with('\n') {
        to.push('\n');
    }
}
