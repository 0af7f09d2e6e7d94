//! Attacks on the truth of a result. Each must fail.
//!
//! A script shares its interpreter with the harness, so it can say whatever the harness can say.
//! That is no hole, and the line is this:
//!
//! | a guest may | because |
//! |---|---|
//! | give any result, log, intermediate or error about its own work, by whatever means | `emit_result` gives it that power anyway |
//! | end itself in any way, and be reported as having ended that way | it is true |
//! | break its own harness, or go on until the clock stops it | it harms nobody else, and the clock is the host's |
//! | speak for a later step of the same session, once it has read that step's request | steps of a session trust each other |
//!
//! | a guest must not | who decides instead |
//! |---|---|
//! | choose a verdict that says what the *host* saw: `oom`, `pids`, `timeout_wall`, `output`, `exited`, `signaled`, `infra` | kernel counters, wait status, the host's clock |
//! | be a success without having given a result, or after passing the limit on output | the transcript, which is pure |
//! | change what was settled: a second result, an error after a result, anything after the end | the first outcome stands |
//! | speak in another run's stream, or with another id or place in the stream | the seal, the host's own counter |
//! | put a line of its own into the event stream, by hiding a line break in a value | `Json` holds none |
//! | give data that makes a reader's parser fail on the whole result, verdict included | `Json` is repaired, and a warning says so |
//! | be the last to speak in its stream | the host's `ended` |
//! | send itself what only the host sends: a request, a tool's result | the other end of a socket |
//! | keep the host waiting, or leave anything behind | the deadline, the pid namespace |
//!
//! A result that was given before a crash or a kill stands: the script had done what it was asked
//! to do.
//!
//! The attacks are Python files in `attacks/`, one for each family; each attack says what its
//! verdict must be. After every one the event stream is checked, the cell's processes must be gone,
//! and a run in the same sandbox must find nothing changed. Where this machine cannot make cells
//! every test says so and passes, unless `BELLJAR_TEST_REQUIRE` lists `native`.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::disallowed_methods, reason = "a test has a tokio runtime to itself")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod attack;

mod limits;
mod readers;
mod sessions;

/// One test for each file of attacks.
macro_rules! families {
    ($($claim:ident: $file:literal,)*) => {$(
        #[tokio::test]
        async fn $claim() {
            attack::all_fail(include_str!(concat!("attacks/", $file))).await;
        }
    )*};
}

families! {
    what_is_written_without_the_seal_means_nothing: "descriptors.py",
    every_end_is_told_as_it_was: "endings.py",
    garbage_on_the_channel_is_noise: "garbage.py",
    frames_with_the_true_seal_choose_no_verdict: "frames.py",
    a_harness_that_was_tampered_with_harms_its_own_run_only: "tampering.py",
    what_a_reader_could_not_read_is_repaired_and_told: "unreadable.py",
    what_comes_after_an_outcome_is_told: "afterwards.py",
    displays_are_checked_counted_and_bounded: "displays.py",
}
