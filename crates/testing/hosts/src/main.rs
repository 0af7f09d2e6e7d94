//! `belljar-host KIND` is a host of that kind. It exits with 0 if all went as that host expects,
//! and else panics with the reason.

mod no_tokio;
mod ordinary;
mod startup;

use std::process::ExitCode;

fn main() -> ExitCode {
    let kind = std::env::args().nth(1).unwrap_or_default();
    match kind.as_str() {
        "no-tokio" => no_tokio::run(),
        "ordinary" => return ordinary::run(),
        "startup" => startup::run(),
        _ => panic!("no host is called `{kind}`"),
    }
    ExitCode::SUCCESS
}
