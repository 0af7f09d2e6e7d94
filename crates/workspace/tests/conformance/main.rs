//! x

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod collecting;
mod inputs;
mod place;
mod programs;
mod putting;
mod staging;
