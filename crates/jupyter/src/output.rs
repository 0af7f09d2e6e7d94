//! What a run gives.

use std::time::Duration;

use belljar_core::Display;

/// What a run may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take, once its turn has come.
    pub timeout: Duration,
    /// How long it may take after that to end by itself, interrupted. Then the kernel is restarted.
    pub grace: Duration,
    /// Bytes of output that are kept. The rest is read and dropped, and the run goes on.
    pub max_output_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(60), grace: Duration::from_secs(5), max_output_bytes: 8 << 20 }
    }
}

/// One thing that a run put out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum KernelOutput {
    /// Printed to stdout. What is printed in one piece may come in several.
    Stdout(String),
    /// Printed to stderr.
    Stderr(String),
    /// The value of the last line.
    Result(Display),
    /// Something shown.
    Display {
        /// What is shown.
        display: Display,
        /// Its id, if it may be updated.
        id: Option<String>,
        /// Whether it takes the place of what was shown with this id before. In a [`KernelRun`] it
        /// has done so, and this is true only for what an earlier run has shown.
        is_update: bool,
    },
    /// The exception that ended the run.
    Error(KernelError),
}

/// An exception.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelError {
    /// Its type, such as `ZeroDivisionError`.
    pub name: String,
    /// Its message.
    pub value: String,
    /// Where it came from, as the kernel wrote it: with colours.
    pub traceback: String,
    /// The same without colours.
    pub plain_traceback: String,
}

/// What happens during a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum KernelEvent {
    /// There is more output.
    Output(KernelOutput),
    /// The output so far is cleared.
    Cleared {
        /// Not yet, but when there is more.
        when_more_comes: bool,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelStatus {
    /// It came to its end.
    Ok,
    /// It raised an exception.
    Error,
    /// It took too long. It was interrupted, or the kernel was restarted.
    TimedOut,
    /// Somebody interrupted it.
    Interrupted,
    /// The kernel died.
    KernelDied,
    /// It put out more at once than is read, and was interrupted.
    TooMuchOutput,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KernelRun {
    /// How it ended.
    pub status: KernelStatus,
    /// What it put out, in order.
    pub outputs: Vec<KernelOutput>,
    /// The kernel's number for it.
    pub execution_count: Option<u64>,
    /// Whether there was more output than is kept.
    pub output_was_cut: bool,
    /// Whether whatever earlier runs defined is gone: the kernel died, before this run or in it, or
    /// was restarted to end it. This is said once. The next run starts on a fresh kernel.
    pub kernel_was_restarted: bool,
}

impl KernelRun {
    /// Everything printed to stdout.
    pub fn stdout(&self) -> String {
        self.outputs
            .iter()
            .filter_map(|o| if let KernelOutput::Stdout(text) = o { Some(&**text) } else { None })
            .collect()
    }

    /// Everything printed to stderr.
    pub fn stderr(&self) -> String {
        self.outputs
            .iter()
            .filter_map(|o| if let KernelOutput::Stderr(text) = o { Some(&**text) } else { None })
            .collect()
    }

    /// The value of the last line.
    pub fn result(&self) -> Option<&Display> {
        self.outputs.iter().rev().find_map(|output| match output {
            KernelOutput::Result(display) => Some(display),
            _ => None,
        })
    }

    /// Everything shown, with the value of the last line.
    pub fn displays(&self) -> impl Iterator<Item = &Display> {
        self.outputs.iter().filter_map(|output| match output {
            KernelOutput::Result(display) | KernelOutput::Display { display, .. } => Some(display),
            _ => None,
        })
    }

    /// The exception that ended it.
    pub fn error(&self) -> Option<&KernelError> {
        self.outputs.iter().rev().find_map(|output| match output {
            KernelOutput::Error(error) => Some(error),
            _ => None,
        })
    }
}
