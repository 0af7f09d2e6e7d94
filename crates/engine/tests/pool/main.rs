//! The pool on real cells of the native engine, without a runtime around it: no script is run here.
//!
//! The native engine is asked whatever suites run on, because these tests count its processes.
//! Where this machine cannot make cells every test says so in one line and passes, unless
//! `BELLJAR_TEST_REQUIRE` lists `native`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod checkout;
mod registry;
