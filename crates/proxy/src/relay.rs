//! Sends one request and returns its answer. The body may still come in while the answer already
//! goes out.
//!
//! Both sides are watched all the time. A host that is silent for too long is given up. So is a
//! guest that has left: nobody wants the answer any more, and somebody else can have its place.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belljar_core::policy::Rule;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap};
use hyper::{Method, Response, StatusCode};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::audit::Record;
use crate::body::{Outgoing, transit};
use crate::cell::Cell;
use crate::disconnect::{Disconnect, gone};
use crate::forward::{Outbound, outgoing, strip_hop_by_hop};
use crate::head::{Framing, Head};
use crate::limits::Limits;
use crate::upstream::{Failure, HostConnection, HostStream, NotConnected, agrees, dial};
use crate::wire::{Stream, Wire};

/// How an exchange ended that did not end well.
#[derive(Debug)]
pub(crate) enum Ended {
    Denied(Rule),
    Failed(Failure),
    /// The answer had begun. All that is left is to break off.
    Cut,
    /// Nobody is there to answer.
    Gone,
}

impl From<NotConnected> for Ended {
    fn from(error: NotConnected) -> Self {
        match error {
            NotConnected::Denied(rule) => Self::Denied(rule),
            NotConnected::Failed(failure) => Self::Failed(failure),
        }
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Carries one request. `Ok` means that both the request and the answer were complete.
pub(crate) async fn exchange<S: Stream>(
    cell: &Arc<Cell>,
    wire: &mut Wire<S>,
    outbound: &Outbound,
    head: Head,
    record: &Arc<Record>,
) -> Result<(), Ended> {
    let limits = &cell.shared.limits;
    let Wire { reader, writer } = wire;
    if head.modern && head.headers.contains_key(header::EXPECT) {
        let _ = writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
    }
    let asked = Asked { method: head.method.clone(), modern: head.modern, keep_alive: head.keep_alive };
    let (incoming, body) = transit(head.framing);
    let is_pumped = AtomicBool::new(false);
    // The guest's side: the body first, and then whatever shows that the guest is still there.
    let mut guest = pin!(async {
        incoming.pump(reader, limits).await?;
        is_pumped.store(true, Ordering::Relaxed);
        Ok::<_, Rule>(reader.disconnect(limits.head_bytes).await)
    });
    let mut is_done_sending = false;

    let (response, mut host) = {
        let mut answer = pin!(ask(cell, outbound, &head, body, record));
        let mut stalled = pin!(record.stalled(limits.idle));
        // A guest that speaks HTTP/1.0 cannot be asked whether it is there.
        let waits_in_vain = async {
            match asked.modern {
                true => gone(writer).await,
                false => record.stalled(limits.idle_when_half_closed).await,
            }
        };
        let mut waits_in_vain = pin!(waits_in_vain);
        loop {
            tokio::select! {
                answered = &mut answer => break answered?,
                () = &mut stalled => return Err(Failure::Silent.into()),
                disconnect = &mut guest, if !is_done_sending => match disconnect.map_err(Ended::Denied)? {
                    Disconnect::DoneSending => is_done_sending = true,
                    Disconnect::Gone => return Err(Ended::Gone),
                },
                () = &mut waits_in_vain, if is_done_sending => return Err(Ended::Gone),
            }
        }
    };
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Ended::Denied(Rule::Upgrade));
    }

    let is_well = agrees(&response);
    {
        let mut relay = pin!(host.drive(send_back(writer, response, &asked, limits)));
        let mut waits_in_vain = pin!(record.stalled(limits.idle_when_half_closed));
        loop {
            tokio::select! {
                result = &mut relay => {
                    if result.is_err() && cell.bytes.is_spent() {
                        record.deny(Rule::Limit("bytes of this run"));
                    }
                    break result.map_err(|()| Ended::Cut)?;
                }
                disconnect = &mut guest, if !is_done_sending => match disconnect {
                    Ok(Disconnect::DoneSending) => is_done_sending = true,
                    Ok(Disconnect::Gone) => return Err(Ended::Gone),
                    Err(rule) => {
                        record.deny(rule);
                        return Err(Ended::Cut);
                    }
                },
                () = &mut waits_in_vain, if is_done_sending => return Err(Ended::Gone),
            }
        }
    }
    // An answer that did not wait for the rest of the request leaves that rest on both connections.
    if !is_pumped.load(Ordering::Relaxed) {
        return Err(Ended::Cut);
    }
    if is_well {
        cell.pool.put(&outbound.target, host, &cell.descriptors);
    }
    Ok(())
}

/// Sends a request to its host and waits for the head of the answer. Uses an existing connection if
/// there is one.
///
/// A host may close such a connection just when something is sent on it. Then the request is sent
/// again on a new one. So only requests that may be sent twice use an existing connection.
async fn ask(
    cell: &Arc<Cell>,
    outbound: &Outbound,
    head: &Head,
    body: Outgoing,
    record: &Arc<Record>,
) -> Result<(Response<Incoming>, HostConnection), Ended> {
    let injections = &cell.shared.injections;
    let may_be_sent_twice = matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS)
        && head.framing == Framing::Length(0);
    if may_be_sent_twice
        && let Some(mut host) = cell.pool.take(&outbound.target, outbound.authority.is_some(), record)
    {
        let (_, nothing) = transit(Framing::Length(0));
        let request = outgoing(injections, outbound, host.protection(), head, nothing)?;
        if let Ok(response) = host.ask(request).await {
            return Ok((response, host));
        }
    }
    let over_budget = |failure| match cell.bytes.is_spent() {
        true => Ended::Denied(Rule::Limit("bytes of this run")),
        false => Ended::Failed(failure),
    };
    let host_stream = reach(cell, outbound).await?;
    let request = outgoing(injections, outbound, host_stream.protection(), head, body)?;
    let host = HostConnection::new(host_stream, cell.bytes.clone(), record.clone()).await;
    let mut host = host.map_err(|_| over_budget(Failure::Broken))?;
    let response = host.ask(request).await.map_err(|_| over_budget(Failure::Broken))?;
    Ok((response, host))
}

/// Opens a new connection to the host. It uses TLS if the guest's own TLS was terminated here.
async fn reach(cell: &Cell, outbound: &Outbound) -> Result<HostStream, Ended> {
    let stream = dial(cell, &outbound.target).await?;
    let Some(authority) = &outbound.authority else { return Ok(HostStream::plain(stream)) };
    let reaching = HostStream::over_tls(authority, &outbound.target, stream);
    match timeout(cell.shared.limits.connect_time, reaching).await {
        Ok(Ok(host_stream)) => Ok(host_stream),
        Ok(Err(error)) => Err(Failure::Tls(error).into()),
        Err(_) => Err(Failure::Timeout.into()),
    }
}

/// What the answer depends on in the request.
struct Asked {
    method: Method,
    modern: bool,
    keep_alive: bool,
}

/// How the end of an answer's body is marked for the guest.
#[derive(PartialEq)]
enum Ending {
    None,
    Length,
    Chunked,
    Close,
}

/// Writes an answer with new framing.
async fn send_back<W: AsyncWriteExt + Unpin>(
    writer: &mut W,
    response: Response<Incoming>,
    asked: &Asked,
    limits: &Limits,
) -> Result<(), ()> {
    let (parts, mut body) = response.into_parts();
    let bodiless = asked.method == Method::HEAD || matches!(parts.status.as_u16(), 204 | 304);
    let ending = match body.size_hint().exact() {
        _ if bodiless => Ending::None,
        Some(_) => Ending::Length,
        None if asked.modern => Ending::Chunked,
        None => Ending::Close,
    };
    let mut headers = parts.headers;
    strip_hop_by_hop(&mut headers);
    if ending != Ending::None {
        headers.remove(header::CONTENT_LENGTH);
    }
    let mut head = write_head(parts.status, &headers);
    match ending {
        Ending::Length => head.extend(format!("content-length: {}\r\n", body.size_hint().lower()).bytes()),
        Ending::Chunked => head.extend(b"transfer-encoding: chunked\r\n"),
        Ending::None | Ending::Close => {}
    }
    if !asked.keep_alive {
        head.extend(b"connection: close\r\n");
    }
    head.extend(b"\r\n");
    write(writer, &head, limits).await?;
    while let Some(frame) = timeout(limits.idle, body.frame()).await.map_err(drop)? {
        let Ok(data) = frame.map_err(drop)?.into_data() else { continue };
        if ending == Ending::Chunked {
            write(writer, format!("{:x}\r\n", data.len()).as_bytes(), limits).await?;
        }
        write(writer, &data, limits).await?;
        if ending == Ending::Chunked {
            write(writer, b"\r\n", limits).await?;
        }
    }
    if ending == Ending::Chunked {
        write(writer, b"0\r\n\r\n", limits).await?;
    }
    Ok(())
}

fn write_head(status: StatusCode, headers: &HeaderMap) -> Vec<u8> {
    let mut head =
        format!("HTTP/1.1 {} {}\r\n", status.as_u16(), status.canonical_reason().unwrap_or("")).into_bytes();
    for (name, value) in headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head
}

/// A guest that does not read counts as idle too.
async fn write<W: AsyncWriteExt + Unpin>(writer: &mut W, bytes: &[u8], limits: &Limits) -> Result<(), ()> {
    timeout(limits.idle, writer.write_all(bytes)).await.map_err(drop)?.map_err(drop)
}
