//! What an engine can enforce here.

use belljar_core::ProtectionStatus;

/// What an engine can enforce here.
#[derive(Debug, Clone, Default)]
pub struct Capabilities {
    /// Every protection and its state.
    pub protections: Vec<ProtectionStatus>,
    /// Whether it can let a guest reach chosen hosts and no others.
    pub egress_policy: bool,
    /// Where the control groups of cells come from, in words. `none` if there are none.
    pub control_groups: String,
    /// Names of the missing protections without which no cell can be made.
    pub obstacles: Vec<&'static str>,
}

impl Capabilities {
    /// Whether this engine can make cells here at all.
    pub fn can_make_cells(&self) -> bool {
        self.obstacles.is_empty()
    }

    /// Whether a protection is in force.
    pub fn has(&self, name: &str) -> bool {
        self.protection(name).is_some_and(|protection| protection.state.is_active())
    }

    /// A protection by its name.
    pub fn protection(&self, name: &str) -> Option<&ProtectionStatus> {
        self.protections.iter().find(|protection| protection.name == name)
    }
}
