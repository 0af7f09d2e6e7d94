//! What a supervisor runs in, as far as its cell must know.

use std::error::Error;

use belljar_core::Decision;

use crate::engine::BoxFuture;

/// What a supervisor runs in. Dropping it kills and removes it.
pub(crate) trait Container: Send + Sync + 'static {
    /// Its name, for logs.
    fn name(&self) -> &str;

    /// Kills every process in it. Its stream then ends.
    fn kill(&mut self);

    /// Whether the kernel killed its supervisor for memory, so that nobody was left to tell.
    fn was_killed_for_memory(&mut self) -> BoxFuture<'_, bool>;

    /// Its way to the hosts its config allows, if any.
    fn egress(&mut self) -> Option<&mut dyn ContainerEgress>;

    /// How much memory the supervisor itself is allowed, which is no guest's.
    fn supervisor_bytes(&self) -> u64;
}

/// A container's way out, as the proxy keeps it.
pub(crate) trait ContainerEgress: Send {
    /// The socket and the authority of the proxy that the supervisor must be introduced to, when
    /// the one it knew is no more.
    fn renew(&mut self) -> BoxFuture<'_, Result<Option<Introduction>, Box<dyn Error + Send + Sync>>>;

    /// Hosts it has asked for since the last call. With `is_last`, nobody is let out afterwards.
    fn take_decisions(&mut self, is_last: bool) -> BoxFuture<'_, Vec<Decision>>;

    /// Hosts that were refused since the last call.
    fn take_denials(&mut self) -> Vec<Decision>;
}

/// What a supervisor must know of a proxy.
pub(crate) struct Introduction {
    pub(crate) socket: String,
    pub(crate) authority: Option<String>,
}
