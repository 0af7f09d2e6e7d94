//! A fault in Belljar itself, or in a library it stands on, is told like any other error of ours.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{PanicHookInfo, set_hook};

use crate::printer::{Output, Printer};

/// From now on a panic is one line, with a second that says what to do; the backtrace only where somebody asked for it.
pub(crate) fn explain() {
    set_hook(Box::new(|info| {
        let printer = Printer::new(Output::Human);
        // If stderr cannot be written either, there is nobody left to tell.
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
