//! x

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod collecting;
mod endings;
mod hostile;
mod inputs;
mod large;
mod limits;
mod place;
mod programs;
mod putting;
mod races;
mod sessions;
mod spans;
mod staging;
mod twins;
