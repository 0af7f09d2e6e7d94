//! What an engine can enforce here.

/// What an engine can enforce here.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// Every protection and its state.
    pub protections: Vec<Protection>,
    /// Whether it can let a guest reach chosen hosts and no others.
    pub egress_policy: bool,
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
    pub fn protection(&self, name: &str) -> Option<&Protection> {
        self.protections.iter().find(|protection| protection.name == name)
    }
}

/// One protection and its state on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    /// Its name, as configs write it in `require`.
    pub name: &'static str,
    /// What it does for the user, in a few words.
    pub purpose: &'static str,
    /// Its state.
    pub state: State,
}

/// The state of a protection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// In force.
    Active {
        /// A detail worth knowing.
        detail: String,
    },
    /// Replaced by something weaker.
    Degraded {
        /// Why.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// Not available.
    Missing {
        /// Why.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
}

impl State {
    /// Whether it is in force.
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active { .. })
    }
}
