//! What is the same for all sandboxes of a pool.

use std::time::Duration;

/// How large a pool may become, and how long it keeps what nobody uses.
#[derive(Debug, Clone, Copy)]
pub struct PoolOptions {
    /// How many cells of a sandbox there may be beyond its `pool_size`.
    pub max_overflow: usize,
    /// How many cells to measure of a sandbox there may be at once: each runs a program. 64 by
    /// default.
    pub max_fitted: usize,
    /// How much memory the idle cells of a sandbox may hold together, in bytes. The stock is
    /// smaller than `pool_size` where that is too much.
    pub max_idle_memory: u64,
    /// How many templates there may be at once: held, kept warm or being prepared. 32 by default.
    ///
    /// When another one is opened, those that nobody holds go, the least recently used first. A
    /// template that somebody holds is never taken away and opening is never refused, so there can
    /// be more as long as all of them are held. The surplus goes as soon as nobody holds it.
    pub max_templates: usize,
    /// How long a template that nobody holds is kept warm. 5 minutes by default. With zero it ends
    /// with its last holder.
    pub keep_warm: Duration,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            max_overflow: 10,
            max_fitted: 64,
            max_idle_memory: 4 << 30,
            max_templates: 32,
            keep_warm: Duration::from_secs(5 * 60),
        }
    }
}
