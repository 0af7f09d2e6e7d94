//! How much of the host a cell's traffic may take.

use std::time::Duration;

/// Limits of one cell's proxy. They limit memory too: a connection holds a head, a greeting or a
/// piece of what is being copied.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Connections served at the same time. More wait in the listener's own queue.
    pub connections: usize,
    /// Connections made to hosts per second, once [`saved_dials`](Self::saved_dials) are used up.
    pub dials_per_second: u32,
    /// Connections that may be made at once after a while without any.
    pub saved_dials: u32,
    /// Ports of this machine that all cells of a template together may leave waiting (`TIME_WAIT`)
    /// by ending connections first.
    pub ports_held: usize,
    /// Processor cores that the proxy may use for the cell, as a fraction.
    pub processor_cores: f64,
    /// Processor time that may be used at once after a while of little use.
    pub saved_processor_time: Duration,
    /// Bytes in both directions, between two calls of [`begin_run`](crate::CellEgress::begin_run).
    pub bytes_per_run: u64,
    /// How long a connection may carry nothing.
    pub idle: Duration,
    /// How long a connection may carry nothing after the guest has stopped sending on it.
    pub idle_when_half_closed: Duration,
    /// How long a connection may live.
    pub total: Duration,
    /// The longest head of a request, in bytes.
    pub head_bytes: usize,
    /// How long a request's head, a SOCKS handshake or a TLS greeting may take to arrive.
    pub head_time: Duration,
    /// How long resolving and connecting may take together.
    pub connect_time: Duration,
    /// Lines of decisions kept for the result, half of them for refusals. The rest is summed up
    /// without names.
    pub decisions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            dials_per_second: 50,
            saved_dials: 200,
            ports_held: 64,
            processor_cores: 0.5,
            saved_processor_time: Duration::from_secs(1),
            bytes_per_run: 1 << 30,
            idle: Duration::from_secs(60),
            idle_when_half_closed: Duration::from_secs(5),
            total: Duration::from_secs(600),
            head_bytes: 16 * 1024,
            head_time: Duration::from_secs(10),
            connect_time: Duration::from_secs(15),
            decisions: 1000,
        }
    }
}
