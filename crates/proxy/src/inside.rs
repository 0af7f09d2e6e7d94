//! A tunnel whose TLS is opened: the cell's requests are read, decided on, given their credentials, and sent on by TLS.

use std::sync::Arc;

use belljar_core::policy::{Rule, Target};
use tokio::time::timeout;

use crate::cell::Cell;
use crate::forward;
use crate::tunnel::{ACCESS_DENIED, greet};
use crate::upstream::Authority;
use crate::wire::{Stream, Wire};

/// Serves the requests in one tunnel. The guest has been told yes; nothing is dialled before it asks for something.
pub(crate) async fn serve<S: Stream>(
    cell: Arc<Cell>,
    mut wire: Wire<S>,
    target: Target,
    authority: Arc<Authority>,
) {
    let head_time = cell.shared.limits.head_time;
    let greeted = timeout(head_time, greet(&mut wire.reader, &target)).await;
    match greeted.unwrap_or(Err(Rule::Limit("time for a TLS greeting"))) {
        Ok(Some(_)) => {}
        Ok(None) => return,
        Err(rule) => {
            cell.denied(&target.host.to_string(), target.port, rule);
            return wire.hang_up(&ACCESS_DENIED).await;
        }
    }
    match timeout(head_time, authority.accept(&target, wire.rejoin())).await {
        Ok(Ok(stream)) => forward::serve_inside(cell, Wire::new(stream), target).await,
        // Most often the program brings its own list of authorities.
        _ => cell.open(&target).fail("the program in the cell does not accept the proxy's certificate"),
    }
}
