//! The engines of this repository pass the suite that every engine must pass.
//!
//! Where an engine cannot make cells its test says so in one line and passes, unless
//! `BELLJAR_TEST_REQUIRE` lists it.

use belljar_engine::docker::Docker;
use belljar_testing::conformance::{Part, claims, suite};
use belljar_testing::{docker_with, local, native};

#[tokio::test]
async fn native_conforms() {
    let Some(engine) = native().await else { return };
    let report = suite(engine, &[Part::Protocol, Part::Isolation, Part::Egress]).await;
    report.assert_passed();
    assert_eq!(report.skipped, [], "nothing here depends on the machine");
}

#[tokio::test]
async fn docker_conforms() {
    // The proxy's container reaches hosts that listen on this machine's loopback.
    let Some(engine) = docker_with(Docker::new().egress_network("host")).await else { return };
    suite(engine, &[Part::Protocol, Part::Isolation, Part::Egress]).await.assert_passed();
}

/// It isolates nothing, so it is asked for the protocol alone.
#[tokio::test]
async fn local_conforms_to_the_protocol() {
    let report = suite(local().await, &[Part::Protocol]).await;
    report.assert_passed();
    assert_eq!(report.skipped, [], "nothing here depends on the machine");
}

/// The local engine refuses every network policy, so no script is run here.
#[tokio::test]
async fn claims_that_do_not_hold_are_reported_by_name() {
    let report = suite(local().await, &[Part::Egress]).await;
    let failed: Vec<_> = report.failed.iter().map(|failure| failure.claim).collect();
    assert_eq!((failed, report.passed.len()), (claims(Part::Egress), 0));
    let said = report.to_string();
    assert!(said.contains("egress_is_promised: `egress_policy` is false"), "{said}");
    assert!(std::panic::catch_unwind(|| report.assert_passed()).is_err());
}
