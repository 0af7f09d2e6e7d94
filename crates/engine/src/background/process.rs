//! Which process this is.

/// A process, told from those that it was forked from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(u64);

impl Process {
    /// This one.
    pub fn this() -> Self {
        #[cfg(any(feature = "native", feature = "docker", feature = "local"))]
        let number = belljar_jail::lineage();
        #[cfg(not(any(feature = "native", feature = "docker", feature = "local")))]
        let number = std::process::id().into();
        Self(number)
    }

    /// Another one.
    #[cfg(test)]
    pub(super) fn of_a_test() -> Self {
        Self(Self::this().0 + 1)
    }

    /// Whether this is still that process, and no fork of it.
    pub fn is_this(self) -> bool {
        self == Self::this()
    }
}
