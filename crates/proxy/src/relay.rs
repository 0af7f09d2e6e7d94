//! One request out and its answer back, with the body still coming in while the answer already goes out.

use std::pin::pin;
use std::sync::Arc;

use belljar_core::policy::Rule;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap};
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::audit::Record;
use crate::body::transit;
use crate::dial::{Failure, Undialled, dial};
use crate::forward::{Place, outgoing, strip_hop_by_hop};
use crate::head::Head;
use crate::limits::Limits;
use crate::listener::Cell;
use crate::upstream::{Meter, Upstream};
use crate::wire::{Stream, Wire};

/// The most hyper holds of an answer's head or of a part of its body.
const ANSWER_BUFFER: usize = 64 * 1024;

/// How an exchange ended when it did not end well.
#[derive(Debug)]
pub(crate) enum Ended {
    Denied(Rule),
    Failed(Failure),
    /// The answer had begun; all that is left is to break off.
    Cut,
}

impl From<Undialled> for Ended {
    fn from(undialled: Undialled) -> Self {
        match undialled {
            Undialled::Denied(rule) => Self::Denied(rule),
            Undialled::Failed(failure) => Self::Failed(failure),
        }
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Carries one request. `Ok` means that both the request and the answer were whole.
pub(crate) async fn exchange<S: Stream>(
    cell: &Arc<Cell>,
    wire: &mut Wire<S>,
    place: &Place,
    head: Head,
    record: &Arc<Record>,
) -> Result<(), Ended> {
    let limits = &cell.shared.limits;
    let host = Upstream::new(reach(cell, place).await?, Meter::new(cell.clone(), record.clone()));
    let mut builder = http1::Builder::new();
    let handshake = builder.max_buf_size(ANSWER_BUFFER).handshake(TokioIo::new(host));
    let (mut sender, connection) = handshake.await.map_err(|_| Failure::Broken)?;
    // Driven beside us, and gone with us.
    let _driver = Driver(tokio::spawn(async move { drop(connection.await) }));

    if head.modern && head.headers.contains_key(header::EXPECT) {
        let _ = wire.writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
    }
    let asked = Asked { method: head.method.clone(), modern: head.modern, keep_alive: head.keep_alive };
    let (incoming, body) = transit(head.framing);
    let request = outgoing(&cell.shared.injections, place, head, body)?;
    let mut pump = pin!(incoming.pump(&mut wire.reader, limits));
    let mut pumped = false;

    let mut answer = pin!(sender.send_request(request));
    let mut stalled = pin!(record.stalled(limits.idle));
    let response = loop {
        tokio::select! {
            response = &mut answer => break response,
            () = &mut stalled => return Err(Failure::Silent.into()),
            result = &mut pump, if !pumped => {
                result.map_err(Ended::Denied)?;
                pumped = true;
            }
        }
    };
    let over_budget = |failure| match cell.budget.is_spent() {
        true => Ended::Denied(Rule::Limit("bytes of this run")),
        false => Ended::Failed(failure),
    };
    let response = response.map_err(|_| over_budget(Failure::Broken))?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Ended::Denied(Rule::Upgrade));
    }

    let mut relay = pin!(send_back(&mut wire.writer, response, &asked, limits));
    loop {
        tokio::select! {
            result = &mut relay => {
                if result.is_err() && cell.budget.is_spent() {
                    record.deny(Rule::Limit("bytes of this run"));
                }
                result.map_err(|()| Ended::Cut)?;
                // An answer that did not wait for the rest of the request leaves that rest on the connection.
                return if pumped { Ok(()) } else { Err(Ended::Cut) };
            }
            result = &mut pump, if !pumped => {
                result.map_err(|rule| {
                    record.deny(rule);
                    Ended::Cut
                })?;
                pumped = true;
            }
        }
    }
}

/// A stream to the host: TLS, when the guest's own TLS to it was opened here.
async fn reach(cell: &Cell, place: &Place) -> Result<Box<dyn Stream>, Ended> {
    let stream = dial(&cell.shared, &place.target).await?;
    let Some(authority) = &place.inside else { return Ok(Box::new(stream)) };
    match timeout(cell.shared.limits.connect_time, authority.connect(&place.target, stream)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => Err(Failure::Tls(error).into()),
        Err(_) => Err(Failure::Timeout.into()),
    }
}

/// What of the request its answer depends on.
struct Asked {
    method: Method,
    modern: bool,
    keep_alive: bool,
}

/// How an answer's body is told to the guest.
#[derive(PartialEq)]
enum Ending {
    None,
    Length,
    Chunked,
    Close,
}

/// Writes an answer, framed anew.
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

/// A guest that does not read is idle too.
async fn write<W: AsyncWriteExt + Unpin>(writer: &mut W, bytes: &[u8], limits: &Limits) -> Result<(), ()> {
    timeout(limits.idle, writer.write_all(bytes)).await.map_err(drop)?.map_err(drop)
}

/// A task that does not outlive whoever started it.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}
