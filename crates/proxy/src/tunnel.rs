//! Bytes back and forth for a target that was asked for by CONNECT or SOCKS, once the TLS greeting has said the same name.

use std::sync::Arc;

use belljar_core::policy::{Host, Rule, Target};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::audit::Record;
use crate::flow::{Flow, Way};
use crate::listener::Cell;
use crate::sni::{self, Hello};
use crate::upstream::{Meter, Upstream};
use crate::wire::{Reader, Stream, Wire};

/// The TLS alert of that name: a client then says "access denied" instead of "connection reset".
pub(crate) const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// Carries a tunnel to its end. Nothing is sent to the host before the greeting has been read and found right.
pub(crate) async fn run(
    cell: Arc<Cell>,
    mut wire: Wire<TcpStream>,
    target: &Target,
    host: TcpStream,
    record: Arc<Record>,
) {
    if !target.plain {
        let limits = &cell.shared.limits;
        let greeted = timeout(limits.head_time, greet(&mut wire.reader, target)).await;
        match greeted.unwrap_or(Err(Rule::Limit("time for a TLS greeting"))) {
            Ok(true) => {}
            Ok(false) => return,
            Err(rule) => {
                record.deny(rule);
                // Only who speaks TLS understands the alert.
                let last_words = if rule == Rule::ExpectedTls { &[][..] } else { &ACCESS_DENIED };
                return wire.hang_up(last_words).await;
            }
        }
    }
    carry(cell, wire, host, record).await;
}

/// Waits for a whole greeting that names the target; `false` when the guest left without a word.
pub(crate) async fn greet<S: Stream>(reader: &mut Reader<S>, target: &Target) -> Result<bool, Rule> {
    loop {
        if !reader.buffer.is_empty() {
            match sni::read(&reader.buffer) {
                Hello::Incomplete => {}
                Hello::NotTls => return Err(Rule::ExpectedTls),
                Hello::Malformed => return Err(Rule::BadTls),
                Hello::Complete { server_name, encrypted } => {
                    return check(server_name.as_deref(), encrypted, target).map(|()| true);
                }
            }
        }
        match reader.fill().await {
            Ok(1..) => {}
            _ if reader.buffer.is_empty() => return Ok(false),
            _ => return Err(Rule::BadTls),
        }
    }
}

/// Whether a greeting is for the target. A listed address is its own witness, and needs no name.
fn check(server_name: Option<&str>, encrypted: bool, target: &Target) -> Result<(), Rule> {
    let Host::Name(name) = &target.host else { return Ok(()) };
    match server_name {
        _ if encrypted => Err(Rule::HiddenServerName),
        None => Err(Rule::NoServerName),
        Some(said) if said.eq_ignore_ascii_case(name) => Ok(()),
        Some(_) => Err(Rule::ServerName),
    }
}

/// Carries both ways until both ends are done, nothing has moved for too long, or the run has no bytes left.
async fn carry(cell: Arc<Cell>, wire: Wire<TcpStream>, mut host: TcpStream, record: Arc<Record>) {
    let (front, mut guest) = wire.rejoin().into_parts();
    let (meter, pipes) = (Meter::new(cell.clone(), record.clone()), &cell.shared.pipes);
    let both = async {
        // What was read of the guest already, which is the greeting, goes first.
        let mut greeted = Upstream::new(&mut host, Meter::new(cell.clone(), record.clone()));
        greeted.write_all(&front).await?;
        let ((from_guest, to_guest), (from_host, to_host)) = (guest.split(), host.split());
        let out = Flow { from: from_guest, to: to_host, way: Way::Out, meter: &meter, pipes };
        let back = Flow { from: from_host, to: to_guest, way: Way::Back, meter: &meter, pipes };
        tokio::try_join!(out.run(), back.run()).map(drop)
    };
    tokio::select! {
        carried = both => {
            if carried.is_err() && cell.budget.is_spent() {
                record.deny(Rule::Limit("bytes of this run"));
            }
        }
        () = record.stalled(cell.shared.limits.idle) => tracing::debug!("proxy.tunnel was idle"),
    }
}
