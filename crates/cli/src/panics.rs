//! Reports a bug in Belljar, or in a library it uses, like any other error of the command.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{PanicHookInfo, set_hook};

use crate::printer::{Output, Printer};

/// From now on a panic prints one line, and a second one that says what to do. The backtrace is
/// printed only if the user asked for it.
pub(crate) fn explain() {
    set_hook(Box::new(|info| {
        let printer = Printer::new(Output::Human);
        // If stderr cannot be written either, the error cannot be reported.
        let _ = printer.error(&words(info));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            let _ = printer.note(&backtrace.to_string());
        }
    }));
}

fn words(info: &PanicHookInfo<'_>) -> String {
    let place = info.location().map(|location| format!(" at {location}")).unwrap_or_default();
    let payload = info.payload();
    let what = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason is given")
        .replace('\n', " ");
    format!("internal error{place}: {what}. Please report it; RUST_BACKTRACE=1 tells more")
}
