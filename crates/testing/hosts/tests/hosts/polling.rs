//! Who polls, and where.

use crate::{host, succeeds};

#[test]
fn a_host_without_tokio_runs_scripts() {
    succeeds(host("no-tokio"));
}
