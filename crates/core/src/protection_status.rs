//! What a machine can enforce, and what to do where it cannot.

/// One protection and its state on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectionStatus {
    /// Its name, as configs write it in `require`.
    pub name: &'static str,
    /// What it does for the user, in a few words.
    pub purpose: &'static str,
    /// Its state.
    pub state: ProtectionState,
}

/// The state of a protection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtectionState {
    /// It is in force.
    Active {
        /// A detail worth knowing.
        detail: String,
    },
    /// Something weaker replaces it.
    Degraded {
        /// Why.
        reason: String,
        /// What replaces it.
        instead: String,
        /// What to do about it.
        remedy: String,
    },
    /// It is not available.
    Missing {
        /// Why.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
}

impl ProtectionState {
    /// Whether the protection is in force.
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active { .. })
    }
}
