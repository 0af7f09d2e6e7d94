//! What came of each claim.

use std::fmt;

/// What came of each claim of a suite.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "a report that nobody reads fails nobody"]
pub struct Report {
    /// The engine's own name.
    pub engine: String,
    /// Names of the claims that hold.
    pub passed: Vec<&'static str>,
    /// Claims that do not hold.
    pub failed: Vec<Failure>,
    /// Claims that could not be tried here.
    pub skipped: Vec<Skip>,
}

/// A claim that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its name.
    pub claim: &'static str,
    /// What was seen instead.
    pub reason: String,
}

/// A claim that could not be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// Its name.
    pub claim: &'static str,
    /// Why not.
    pub reason: String,
}

impl Report {
    /// Prints what was skipped, for whoever reads the test's output.
    ///
    /// # Panics
    ///
    /// When a claim does not hold, with the names of all that do not, and when none was tried.
    #[track_caller]
    pub fn assert_passed(&self) {
        println!("{self}");
        assert!(self.failed.is_empty(), "{self}");
        assert!(!self.passed.is_empty(), "no claim was tried");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, passed, failed, skipped } = self;
        let (held, broken, untried) = (passed.len(), failed.len(), skipped.len());
        write!(f, "{engine}: {held} claims hold, {broken} do not, {untried} could not be tried")?;
        for Failure { claim, reason } in failed {
            write!(f, "\n  failed  {claim}: {reason}")?;
        }
        for Skip { claim, reason } in skipped {
            write!(f, "\n  skipped {claim}: {reason}")?;
        }
        Ok(())
    }
}
