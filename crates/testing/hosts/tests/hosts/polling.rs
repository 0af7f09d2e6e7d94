//! Who polls, and where.

use crate::{host, succeeds};

#[test]
fn a_host_without_tokio_runs_scripts() {
    succeeds(host("no-tokio"));
}

#[test]
fn sessions_and_runs_can_be_dropped_outside_of_tokio() {
    succeeds(host("dropped-outside"));
}

#[test]
fn a_sandbox_does_not_need_the_runtime_it_was_opened_on_to_be_driven() {
    succeeds(host("opened-on-an-idle-runtime"));
}

#[test]
fn a_sandbox_outlives_the_runtime_it_was_opened_on() {
    succeeds(host("opened-on-a-runtime-that-is-gone"));
}

#[test]
fn a_paused_clock_stops_no_script() {
    succeeds(host("paused-clock"));
}

#[test]
fn a_run_is_begun_on_one_runtime_and_finished_on_another() {
    succeeds(host("moved-halfway"));
}

#[test]
fn a_clock_that_is_paused_in_the_middle_ends_no_script() {
    succeeds(host("paused-halfway"));
}

#[test]
fn a_runtime_that_is_entered_need_not_be_driven() {
    succeeds(host("entered-and-not-driven"));
}

#[test]
fn wakers_that_panic_end_nothing_of_ours() {
    succeeds(host("panicking-wakers"));
}

#[test]
fn a_runtime_that_many_enter_and_nobody_drives_holds_up_none_of_them() {
    succeeds(host("entered-by-many"));
}

#[test]
fn a_script_that_ended_in_time_did_so_however_late_its_host_is() {
    succeeds(host("late"));
}
