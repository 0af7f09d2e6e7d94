//! SOCKS5, for programs that do not speak HTTP: no authentication, and CONNECT alone.
//!
//! ```text
//!  05 n methods…  ──►        ◄── 05 00
//!  05 01 00 kind address port ──►   ◄── 05 code 00 01 0.0.0.0 0     then the tunnel, as for CONNECT
//! ```

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use belljar_core::policy::Rule;
use bytes::Buf;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::dial::{Failure, Undialled, dial};
use crate::listener::Cell;
use crate::wire::{Stream, Wire};
use crate::{inside, tunnel};

const GRANTED: u8 = 0;
const DENIED: u8 = 2;
const UNREACHABLE: u8 = 4;
const REFUSED: u8 = 5;
const NO_SUCH_COMMAND: u8 = 7;
const NO_SUCH_KIND: u8 = 8;

/// What the handshake came to.
enum Asked {
    /// A tunnel to a host, as the guest wrote it.
    Tunnel(String, u16),
    /// Something that is not offered, and the bytes that say so.
    NotOffered(&'static str, Vec<u8>),
}

/// Serves one SOCKS connection from its first byte.
pub(crate) async fn serve(cell: Arc<Cell>, mut wire: Wire<TcpStream>) {
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
    if let Some(authority) = cell.shared.injections.opens(&target) {
        if wire.writer.write_all(&reply(GRANTED)).await.is_ok() {
            inside::serve(cell, wire, target, authority).await;
        }
        return;
    }
    let record = cell.open(&target);
    match dial(&cell.shared, &target).await {
        Ok(host) => {
            if wire.writer.write_all(&reply(GRANTED)).await.is_ok() {
                tunnel::run(cell, wire, &target, host, record).await;
            }
        }
        Err(Undialled::Denied(rule)) => {
            record.deny(rule);
            wire.hang_up(&reply(DENIED)).await;
        }
        Err(Undialled::Failed(failure)) => {
            record.fail(&failure.to_string());
            let refused = matches!(&failure, Failure::Connect(error) if error.kind() == io::ErrorKind::ConnectionRefused);
            wire.hang_up(&reply(if refused { REFUSED } else { UNREACHABLE })).await;
        }
    }
}

async fn handshake<S: Stream>(wire: &mut Wire<S>) -> io::Result<Asked> {
    let reader = &mut wire.reader;
    reader.fill_to(2).await?;
    let methods = usize::from(reader.buffer[1]);
    reader.fill_to(2 + methods).await?;
    let anonymous = reader.buffer[2..2 + methods].contains(&0);
    reader.buffer.advance(2 + methods);
    if !anonymous {
        return Ok(Asked::NotOffered("SOCKS with authentication", vec![5, 0xff]));
    }
    wire.writer.write_all(&[5, 0]).await?;
    reader.fill_to(5).await?;
    let [version, command, reserved, kind, length] = reader.buffer[..5] else { return Err(broken()) };
    if version != 5 || reserved != 0 {
        return Ok(Asked::NotOffered("a SOCKS request that is not version 5", reply(NO_SUCH_COMMAND)));
    }
    if command != 1 {
        return Ok(Asked::NotOffered("SOCKS commands other than CONNECT", reply(NO_SUCH_COMMAND)));
    }
    let address = match kind {
        1 => 4..8,
        3 => 5..5 + usize::from(length),
        4 => 4..20,
        _ => return Ok(Asked::NotOffered("a SOCKS address of an unknown kind", reply(NO_SUCH_KIND))),
    };
    reader.fill_to(address.end + 2).await?;
    let bytes = &reader.buffer[address.clone()];
    let host = match kind {
        1 => {
            <[u8; 4]>::try_from(bytes).map(|bytes| Ipv4Addr::from(bytes).to_string()).map_err(|_| broken())?
        }
        4 => <[u8; 16]>::try_from(bytes)
            .map(|bytes| Ipv6Addr::from(bytes).to_string())
            .map_err(|_| broken())?,
        // What is not UTF-8 is not ASCII either, and refused for that.
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    let port = u16::from_be_bytes([reader.buffer[address.end], reader.buffer[address.end + 1]]);
    reader.buffer.advance(address.end + 2);
    Ok(Asked::Tunnel(host, port))
}

fn reply(code: u8) -> Vec<u8> {
    vec![5, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

fn broken() -> io::Error {
    io::ErrorKind::InvalidData.into()
}
