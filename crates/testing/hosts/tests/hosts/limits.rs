//! What the host may have.

use crate::{host, succeeds};

#[test]
fn a_pool_leaves_its_host_descriptors_and_no_trace_of_cells_that_could_not_be_made() {
    succeeds(host("few-descriptors"));
}
