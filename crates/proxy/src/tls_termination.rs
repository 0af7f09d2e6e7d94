//! Terminates TLS in a tunnel. The cell's requests are read, decided on, given their credentials,
//! and sent on over TLS.

use std::sync::Arc;

use belljar_core::policy::{Rule, Target};
use tokio::time::timeout;

use crate::audit::Record;
use crate::cell::Cell;
use crate::forward;
use crate::tunnel::{ACCESS_DENIED, greet};
use crate::upstream::CertificateAuthority;
use crate::wire::{Stream, Wire};

/// A tunnel that the guest was granted, and whose TLS is terminated here.
pub(crate) struct TerminatedTunnel {
    pub(crate) target: Target,
    pub(crate) authority: Arc<CertificateAuthority>,
    /// The tunnel's own record. The first request continues it, so that the two count as one.
    pub(crate) record: Arc<Record>,
}

/// Serves the requests in one tunnel. The guest has been told yes. Nothing is dialled before it
/// asks for something.
pub(crate) async fn serve<S: Stream>(cell: Arc<Cell>, mut wire: Wire<S>, tunnel: TerminatedTunnel) {
    let TerminatedTunnel { target, authority, record } = tunnel;
    let head_time = cell.shared.limits.head_time;
    let greeted = timeout(head_time, greet(&mut wire.reader, &target)).await;
    match greeted.unwrap_or(Err(Rule::Limit("time for a TLS greeting"))) {
        Ok(Some(_)) => {}
        Ok(None) => return,
        Err(rule) => {
            record.deny(rule);
            return wire.hang_up(&ACCESS_DENIED).await;
        }
    }
    match timeout(head_time, authority.accept(&target, wire.rejoin())).await {
        Ok(Ok(stream)) => forward::serve_terminated(cell, Wire::new(stream), target, record).await,
        // Most often the program brings its own list of authorities.
        _ => record.fail("the program in the cell does not accept the proxy's certificate"),
    }
}
