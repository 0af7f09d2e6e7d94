//! `belljar-host KIND` is a host of that kind. It exits with 0 if all went as that host expects.
//! Else it panics with the reason.

mod few_descriptors;
mod forks;
mod halfway;
mod no_tokio;
mod ordinary;
mod runtimes;
mod startup;
mod system;
mod wakers;

use std::process::ExitCode;

fn main() -> ExitCode {
    let kind = std::env::args().nth(1).unwrap_or_default();
    match kind.as_str() {
        "daemon" => forks::daemon(),
        "dropped-outside" => runtimes::dropped_outside(),
        "forked-child" => forks::forked_child(),
        "few-descriptors" => few_descriptors::run(),
        "entered-by-many" => halfway::entered_by_many(),
        "late" => halfway::late(),
        "drops-in-forks" => forks::drops(),
        "entered-and-not-driven" => halfway::entered(),
        "forked-in-a-sink" => forks::in_a_sink(),
        "same-number-in-a-fork" => forks::same_number(),
        "forked-in-a-run" => forks::in_a_run(),
        "forks-at-any-moment" => forks::at_any_moment(),
        "moved-halfway" => halfway::moved(),
        "panicking-wakers" => wakers::run(),
        "paused-halfway" => halfway::paused(),
        "no-tokio" => no_tokio::run(),
        "opened-on-a-runtime-that-is-gone" => runtimes::opened_on_a_runtime_that_is_gone(),
        "opened-on-an-idle-runtime" => runtimes::opened_on_an_idle_runtime(),
        "paused-clock" => runtimes::paused_clock(),
        "ordinary" => return ordinary::run(),
        "startup" => startup::run(),
        _ => panic!("no host is called `{kind}`"),
    }
    ExitCode::SUCCESS
}
