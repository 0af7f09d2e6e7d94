//! CONNECT: a tunnel to one host and port, asked for over HTTP.

use std::sync::Arc;

use belljar_core::policy::{Denial, Rule, Target};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::cell::Cell;
use crate::head::{Framing, Head};
use crate::listener::Place;
use crate::tunnel::Granted;
use crate::upstream::{NotConnected, dial};
use crate::wire::Wire;
use crate::{answer, authority, forward, tls_termination, tunnel};

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Answers one CONNECT. The host is dialled before the guest gets a yes, so that a failure can be
/// reported too.
pub(crate) async fn serve(cell: Arc<Cell>, mut wire: Wire<TcpStream>, head: Head, place: Place) {
    let target = match locate(&cell, &head) {
        Ok(target) => target,
        Err(denial) => return wire.hang_up(&answer::denial(&cell.shared.policy, &denial)).await,
    };
    let record = cell.open(&target);
    if let Some(authority) = cell.shared.injections.authority_for(&target) {
        if wire.writer.write_all(ESTABLISHED).await.is_ok() {
            tls_termination::serve(
                cell,
                wire,
                tls_termination::TerminatedTunnel { target, authority, record },
            )
            .await;
        }
        return;
    }
    let dialled = tokio::select! {
        dialled = dial(&cell, &target) => dialled,
        () = wire.reader.left(cell.shared.limits.head_bytes) => return,
    };
    match dialled {
        Ok(host) => {
            if wire.writer.write_all(ESTABLISHED).await.is_ok() {
                tunnel::run(cell, wire, Granted { target, host, record, place }).await;
            }
        }
        Err(error) => {
            let words = match error {
                NotConnected::Denied(rule) => {
                    record.deny(rule);
                    let denial = Denial::new(&target.host.to_string(), target.port, rule);
                    answer::denial(&cell.shared.policy, &denial)
                }
                NotConnected::Failed(failure) => {
                    record.fail(&failure.to_string());
                    answer::failure(&target.host.to_string(), target.port, &failure)
                }
            };
            wire.hang_up(&words).await;
        }
    }
}

fn locate(cell: &Cell, head: &Head) -> Result<Target, Denial> {
    let denied = |rule| cell.denied("", 0, rule);
    let (host, port) = authority::split(&head.target).map_err(denied)?;
    let port = port.ok_or_else(|| denied(Rule::Http("CONNECT without a port")))?;
    if head.framing != Framing::Length(0) {
        return Err(cell.denied(host, port, Rule::Http("CONNECT with a body")));
    }
    let target = cell.decide(host, port)?;
    // Many clients leave the port out of this header.
    match head.host.as_deref().map(|said| forward::names(said, &target, target.port)) {
        Some(false) => Err(cell.denied(host, port, Rule::HostHeader)),
        _ => Ok(target),
    }
}
