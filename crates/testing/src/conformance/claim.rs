//! One claim: a name, and what tries it.

use belljar_engine::BoxFuture;

use super::subject::Subject;

/// What came of a claim that did not fail. A claim that does not hold panics.
pub(super) enum Outcome {
    /// It holds.
    Held,
    /// It cannot be tried here, for this reason.
    Skipped(String),
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::Held
    }
}

/// One claim.
#[derive(Clone, Copy)]
pub(super) struct Claim {
    pub(super) name: &'static str,
    pub(super) attempt: fn(Subject) -> BoxFuture<'static, Outcome>,
}

/// The claims of a file: async functions of a [`Subject`], by the names they are reported by.
macro_rules! claims {
    ($($name:ident,)*) => {
        pub(super) const CLAIMS: &[$crate::conformance::claim::Claim] = &[$(
            $crate::conformance::claim::Claim {
                name: stringify!($name),
                attempt: |subject| Box::pin(async move { $name(&subject).await.into() }),
            },
        )*];
    };
}
pub(super) use claims;
