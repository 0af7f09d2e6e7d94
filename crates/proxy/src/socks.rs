//! SOCKS5, for programs that do not speak HTTP: no authentication, and CONNECT only.
//!
//! ```text
//!  05 n methods…  ──►        ◄── 05 00
//!  05 01 00 kind address port ──►   ◄── 05 code 00 01 0.0.0.0 0   then a tunnel, as for CONNECT
//! ```

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use belljar_core::policy::Rule;
use bytes::Buf;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::cell::Cell;
use crate::listener::Place;
use crate::tunnel::Granted;
use crate::upstream::{Failure, NotConnected, dial};
use crate::wire::{Stream, Wire};
use crate::{tls_termination, tunnel};

const GRANTED: u8 = 0;
const DENIED: u8 = 2;
const UNREACHABLE: u8 = 4;
const REFUSED: u8 = 5;
const NO_SUCH_COMMAND: u8 = 7;
const NO_SUCH_KIND: u8 = 8;

/// The outcome of the handshake.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A tunnel to a host, as the guest wrote it.
    Tunnel(String, u16),
    /// Something that is not offered, and the bytes that say so.
    NotOffered(&'static str, Vec<u8>),
}

/// Serves one SOCKS connection from its first byte.
pub(crate) async fn serve(cell: Arc<Cell>, mut wire: Wire<TcpStream>, place: Place) {
    let (host, port) = match timeout(cell.shared.limits.head_time, handshake(&mut wire)).await {
        Ok(Ok(Asked::Tunnel(host, port))) => (host, port),
        Ok(Ok(Asked::NotOffered(what, words))) => {
            cell.denied("", 0, Rule::Protocol(what));
            return wire.hang_up(&words).await;
        }
        Ok(Err(_)) => return,
        Err(_) => {
            cell.denied("", 0, Rule::Limit("time for a SOCKS handshake"));
            return;
        }
    };
    let Ok(target) = cell.decide(&host, port) else { return wire.hang_up(&reply(DENIED)).await };
    let record = cell.open(&target);
    if let Some(authority) = cell.shared.injections.authority_for(&target) {
        if wire.writer.write_all(&reply(GRANTED)).await.is_ok() {
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
            if wire.writer.write_all(&reply(GRANTED)).await.is_ok() {
                tunnel::run(cell, wire, Granted { target, host, record, place }).await;
            }
        }
        Err(NotConnected::Denied(rule)) => {
            record.deny(rule);
            wire.hang_up(&reply(DENIED)).await;
        }
        Err(NotConnected::Failed(failure)) => {
            record.fail(&failure.to_string());
            let refused = matches!(&failure, Failure::Connect(error) if error.kind() == io::ErrorKind::ConnectionRefused);
            wire.hang_up(&reply(if refused { REFUSED } else { UNREACHABLE })).await;
        }
    }
}

async fn handshake<S: Stream>(wire: &mut Wire<S>) -> io::Result<Asked> {
    let reader = &mut wire.reader;
    let anonymous = loop {
        if let Some((anonymous, used)) = greeting(&reader.buffer) {
            reader.buffer.advance(used);
            break anonymous;
        }
        reader.fill_to(reader.buffer.len() + 1).await?;
    };
    if !anonymous {
        return Ok(Asked::NotOffered("SOCKS with authentication", vec![5, 0xff]));
    }
    wire.writer.write_all(&[5, 0]).await?;
    loop {
        if let Some((asked, used)) = request(&reader.buffer) {
            reader.buffer.advance(used);
            return Ok(asked);
        }
        reader.fill_to(reader.buffer.len() + 1).await?;
    }
}

/// Whether a greeting allows no authentication, and its length. `None` until all of it is there.
pub(crate) fn greeting(bytes: &[u8]) -> Option<(bool, usize)> {
    let [_version, count, rest @ ..] = bytes else { return None };
    let methods = rest.get(..usize::from(*count))?;
    Some((methods.contains(&0), 2 + methods.len()))
}

/// What a request asks for, and its length. `None` until enough of it is there.
pub(crate) fn request(bytes: &[u8]) -> Option<(Asked, usize)> {
    let [version, command, reserved, kind, length] = *bytes.first_chunk()?;
    let not_offered = |what, code| Some((Asked::NotOffered(what, reply(code)), bytes.len()));
    if version != 5 || reserved != 0 {
        return not_offered("a SOCKS request that is not version 5", NO_SUCH_COMMAND);
    }
    if command != 1 {
        return not_offered("SOCKS commands other than CONNECT", NO_SUCH_COMMAND);
    }
    let (host, end) = match kind {
        1 => (Ipv4Addr::from(*bytes[4..].first_chunk::<4>()?).to_string(), 8),
        4 => (Ipv6Addr::from(*bytes[4..].first_chunk::<16>()?).to_string(), 20),
        // Text that is not UTF-8 is not ASCII either, and is refused for that.
        3 => {
            let end = 5 + usize::from(length);
            (String::from_utf8_lossy(bytes.get(5..end)?).into_owned(), end)
        }
        _ => return not_offered("a SOCKS address of an unknown kind", NO_SUCH_KIND),
    };
    let port = u16::from_be_bytes(*bytes[end..].first_chunk()?);
    Some((Asked::Tunnel(host, port), end + 2))
}

fn reply(code: u8) -> Vec<u8> {
    vec![5, code, 0, 1, 0, 0, 0, 0, 0, 0]
}
