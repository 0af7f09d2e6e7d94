//! Carries bytes both ways for a target of CONNECT or SOCKS, once both sides have shown that they
//! speak TLS.
//!
//! ```text
//!  guest ── ClientHello ──► names the target? ──► host      nothing else from the guest is sent
//!  guest ◄── TLS? ◄── first record ── host                  before the host's first record is TLS
//!  guest ◄══════════ two flows ══════════► host
//! ```
//!
//! The proxy cannot see inside TLS. A host that answers a ClientHello with a TLS record, and then
//! speaks something else, is a host that the policy allows and that works with the guest.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::policy::{Host, Rule, Target};
use bytes::{BufMut, BytesMut};
use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::audit::Record;
use crate::cell::Cell;
use crate::listener::Place;
use crate::sni::{self, Hello};
use crate::upstream::{Flow, HostSocket, Meter, Way};
use crate::wire::{Reader, Stream, Wire};

/// The TLS alert of that name. A client then reports "access denied", not "connection reset".
pub(crate) const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// How long a host may be silent before the tunnel ends, if the guest has closed its side.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Why a tunnel ends.
enum End {
    /// It ended by itself: one side has closed, or cannot be written to.
    Over,
    Denied(Rule),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Over
    }
}

/// A tunnel that the guest was granted.
pub(crate) struct Granted {
    pub(crate) target: Target,
    pub(crate) host: HostSocket,
    pub(crate) record: Arc<Record>,
    pub(crate) place: Place,
}

/// Carries a tunnel to its end. Nothing is sent to the host before the greeting has been read and
/// accepted.
pub(crate) async fn run(cell: Arc<Cell>, mut wire: Wire<TcpStream>, granted: Granted) {
    let Granted { target, host, record, place } = granted;
    let limits = &cell.shared.limits;
    let mut greeting = 0;
    if !target.plain {
        let greeted = timeout(limits.head_time, greet(&mut wire.reader, &target)).await;
        match greeted.unwrap_or(Err(Rule::Limit("time for a TLS greeting"))) {
            Ok(Some(length)) => greeting = length,
            Ok(None) => return,
            Err(rule) => {
                record.deny(rule);
                // Only a guest that speaks TLS understands the alert.
                let last_words = if rule == Rule::ExpectedTls { &[][..] } else { &ACCESS_DENIED };
                return wire.hang_up(last_words).await;
            }
        }
    }
    let (front, guest) = wire.rejoin().into_parts();
    let meter = Meter::new(cell.bytes.clone(), record.clone());
    let mut tunnel = Tunnel { cell: &cell, guest, host, meter, record: &record, place };
    let ended = tokio::select! {
        ended = tunnel.carry(front, greeting, target.plain) => ended,
        () = record.stalled(limits.idle) => {
            tracing::debug!("proxy.tunnel was idle");
            return;
        }
    };
    match ended {
        _ if cell.bytes.is_spent() => {
            record.deny(Rule::Limit("bytes of this run"));
            tunnel.deliver().await;
        }
        Err(End::Denied(rule)) => record.deny(rule),
        Ok(()) | Err(End::Over) => tunnel.deliver().await,
    }
}

/// Waits for a whole greeting that names the target, and returns its length. Returns `None` if the
/// guest left without a word.
pub(crate) async fn greet<S: Stream>(reader: &mut Reader<S>, target: &Target) -> Result<Option<usize>, Rule> {
    loop {
        if !reader.buffer.is_empty() {
            match sni::read(&reader.buffer) {
                Hello::Incomplete => {}
                Hello::NotTls => return Err(Rule::ExpectedTls),
                Hello::Malformed => return Err(Rule::BadTls),
                Hello::Complete { server_name, encrypted, length } => {
                    return check(server_name.as_deref(), encrypted, target).map(|()| Some(length));
                }
            }
        }
        match reader.fill().await {
            Ok(1..) => {}
            _ if reader.buffer.is_empty() => return Ok(None),
            _ => return Err(Rule::BadTls),
        }
    }
}

/// Whether a greeting is for the target. A listed address needs no name.
fn check(server_name: Option<&str>, encrypted: bool, target: &Target) -> Result<(), Rule> {
    let Host::Name(name) = &target.host else { return Ok(()) };
    match server_name {
        _ if encrypted => Err(Rule::HiddenServerName),
        None => Err(Rule::NoServerName),
        Some(said) if said.eq_ignore_ascii_case(name) => Ok(()),
        Some(_) => Err(Rule::ServerName),
    }
}

struct Tunnel<'a> {
    cell: &'a Cell,
    guest: TcpStream,
    host: HostSocket,
    meter: Meter,
    record: &'a Record,
    place: Place,
}

impl Tunnel<'_> {
    /// Carries both ways until both sides are done. `front` is what was already read from the
    /// guest. Its first bytes are a greeting.
    async fn carry(&mut self, mut front: BytesMut, greeting: usize, is_plain: bool) -> Result<(), End> {
        if is_plain {
            self.send(&front).await?;
            return self.carry_on(is_plain).await;
        }
        let mut ahead = front.split_off(greeting);
        self.send(&front).await?;
        let first = self.answer_of_the_host(&mut ahead).await?;
        self.guest.write_all(&first).await?;
        self.send(&ahead).await?;
        self.carry_on(is_plain).await
    }

    /// Sends something to the host, as far as the run has bytes left.
    async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.meter.check()?;
            let sent = self.host.write(&bytes[..self.meter.left(bytes.len())]).await?;
            self.meter.sent(sent)?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Waits for the first bytes of the host, which must be TLS. What the guest sends meanwhile is
    /// held back.
    async fn answer_of_the_host(&mut self, ahead: &mut BytesMut) -> Result<BytesMut, End> {
        const ENOUGH: usize = 6;
        let most = self.cell.shared.limits.head_bytes;
        let mut first = BytesMut::with_capacity(ENOUGH);
        loop {
            let (room, wanted) = (most.saturating_sub(ahead.len()), ENOUGH - first.len());
            let mut room = (&mut *ahead).limit(room);
            let mut wanted = (&mut first).limit(wanted);
            tokio::select! {
                read = self.host.read_buf(&mut wanted) => match read? {
                    0 => return Err(End::Over),
                    count => self.meter.received(count)?,
                },
                // Nobody who speaks TLS is done sending at this point.
                read = self.guest.read_buf(&mut room), if room.has_remaining_mut() => match read? {
                    0 => return Err(End::Over),
                    _ => continue,
                },
            }
            match sni::is_answer(&first) {
                None => {}
                Some(true) => return Ok(first),
                Some(false) => return Err(End::Denied(Rule::HostWithoutTls)),
            }
        }
    }

    /// Carries on until both sides are done, and ends the connection to the host.
    ///
    /// In TLS, nobody who has ended its own side still listens. So once the guest has ended its
    /// side, the host may finish what it is sending, and then the connection ends.
    ///
    /// In other protocols the host is told, because it may wait for that before it answers. But the
    /// guest may also have left, so this is done only while the template may hold ports.
    async fn carry_on(&mut self, is_plain: bool) -> Result<(), End> {
        let Self { cell, guest, host, meter, record, place } = self;
        let (pipes, limits) = (&cell.shared.pipes, &cell.shared.limits);
        let (guest, to_host) = (&*guest, host.stream());
        let mut out = Flow { from: guest, to: to_host, way: Way::Out, meter, pipes };
        let mut back = Flow { from: to_host, to: guest, way: Way::Back, meter, pipes };
        // Keep the same futures to the end. A dropped one would lose what it has read and not
        // written.
        let (mut out, mut back) = (pin!(out.run()), pin!(back.run()));
        let is_the_guest = tokio::select! {
            carried = &mut out => carried.map(|()| true)?,
            carried = &mut back => carried.map(|()| false)?,
        };
        let leave = if is_the_guest && is_plain { cell.ports.claim() } else { None };
        if let Some(leave) = leave {
            host.end_first(&leave);
            back.await?;
            return Ok(());
        }
        let host_has_ended = if is_the_guest {
            place.give_way();
            tokio::select! {
                carried = back => carried.map(|()| true)?,
                () = record.stalled(LAST_WORDS) => false,
            }
        } else {
            let _ = shutdown(guest, Shutdown::Write);
            if is_plain {
                out.await?;
            } else {
                place.give_way();
                tokio::select! {
                    carried = out => carried?,
                    () = record.stalled(limits.idle_when_half_closed) => {}
                }
            }
            true
        };
        if host_has_ended {
            host.end_after_host();
        }
        Ok(())
    }

    /// Waits until what was sent has arrived, without holding a place.
    async fn deliver(&mut self) {
        self.place.give_way();
        self.host.delivered(self.cell.shared.limits.idle_when_half_closed).await;
    }
}
