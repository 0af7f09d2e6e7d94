//! Hosts that fork.

use crate::{ended, host, succeeds};

#[test]
fn a_forked_child_is_told_and_can_begin_anew_and_its_parent_goes_on() {
    succeeds(host("forked-child"));
}

#[test]
fn a_host_that_becomes_a_daemon_is_told_and_can_begin_anew() {
    let output = ended(host("daemon"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("the daemon is well"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
