//! A tunnel whose TLS is opened: the cell's requests are read, decided on, given their credentials, and sent on by TLS.

use std::sync::Arc;

use belljar_core::policy::{Rule, Target};
use tokio::time::timeout;

use crate::audit::Record;
use crate::cell::Cell;
use crate::forward;
use crate::tunnel::{ACCESS_DENIED, greet};
use crate::upstream::Authority;
use crate::wire::{Stream, Wire};

/// A tunnel that the guest was told it has, and whose TLS is opened.
pub(crate) struct Opened {
    pub(crate) target: Target,
    pub(crate) authority: Arc<Authority>,
    /// The tunnel's own. The first request in it goes on with it, so that the two count as one.
    pub(crate) record: Arc<Record>,
}

/// Serves the requests in one tunnel. The guest has been told yes; nothing is dialled before it asks for something.
pub(crate) async fn serve<S: Stream>(cell: Arc<Cell>, mut wire: Wire<S>, opened: Opened) {
    let Opened { target, authority, record } = opened;
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
        Ok(Ok(stream)) => forward::serve_inside(cell, Wire::new(stream), target, record).await,
        // Most often the program brings its own list of authorities.
        _ => record.fail("the program in the cell does not accept the proxy's certificate"),
    }
}
