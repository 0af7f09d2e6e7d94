//! Plain HTTP: each request is a decision of its own, on whatever connection it comes.

use std::sync::Arc;

use belljar_core::policy::{Denial, Host, HostError, Rule, Target};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Uri};

use crate::body::Outgoing;
use crate::dial::Failure;
use crate::head::{self, Framing, Head};
use crate::listener::Cell;
use crate::relay::{self, Ended};
use crate::wire::{Stream, Wire};
use crate::{answer, authority, connect};

/// What a connection may carry.
#[derive(Clone)]
pub(crate) enum Scope {
    /// Requests for anybody, with whole URLs, and CONNECT.
    Proxy,
}

/// Whom a request is for, and what of them.
pub(crate) struct Place {
    pub(crate) target: Target,
    pub(crate) path: PathAndQuery,
}

/// Serves requests until the guest has no more, or one of them is refused.
pub(crate) async fn serve<S: Stream>(cell: Arc<Cell>, mut wire: Wire<S>, scope: Scope) {
    loop {
        let head = match head::read(&mut wire.reader, &cell.shared.limits).await {
            Ok(Some(head)) => head,
            Ok(None) => return,
            Err(rule) => {
                let denial = cell.denied("", 0, rule);
                return wire.hang_up(&answer::denial(&cell.shared.policy, &denial)).await;
            }
        };
        if head.method == Method::CONNECT {
            return connect::serve(cell, wire, head).await;
        }
        let located = match scope {
            Scope::Proxy => locate(&cell, &head),
        };
        let place = match located {
            Ok(located) => located,
            Err(denial) => return wire.hang_up(&answer::denial(&cell.shared.policy, &denial)).await,
        };
        let target = &place.target;
        let record = cell.open(target);
        let keep_alive = head.keep_alive;
        match relay::exchange(&cell, &mut wire, &place, head, &record).await {
            Ok(()) if keep_alive => {}
            Ok(()) | Err(Ended::Cut) => return wire.hang_up(b"").await,
            Err(Ended::Denied(rule)) => {
                record.deny(rule);
                let denial = Denial::new(&target.host.to_string(), target.port, rule);
                return wire.hang_up(&answer::denial(&cell.shared.policy, &denial)).await;
            }
            Err(Ended::Failed(failure)) => {
                record.fail(&failure.to_string());
                return wire.hang_up(&answer::failure(&target.host.to_string(), target.port, &failure)).await;
            }
        }
    }
}

fn locate(cell: &Cell, head: &Head) -> Result<Place, Denial> {
    let url = &head.target;
    let refused = |rule| cell.denied(url, 0, rule);
    let Some(rest) = url.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://")).map(|_| &url[7..])
    else {
        let rule = match url.contains("://") {
            true => Rule::Scheme,
            false => Rule::Protocol("a request without a whole URL; this is a proxy"),
        };
        return Err(refused(rule));
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = authority::split(authority).map_err(refused)?;
    if host.is_empty() {
        return Err(refused(HostError::Empty.into()));
    }
    let port = port.unwrap_or(80);
    let denied = |rule| cell.denied(host, port, rule);
    if path.contains('#') {
        return Err(denied(Rule::Http("a fragment in the URL")));
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let path = PathAndQuery::try_from(path).map_err(|_| denied(Rule::Http("a path that no URL has")))?;
    let target = cell.decide(host, port)?;
    if !head.host.as_deref().is_none_or(|said| names(said, &target, 80)) {
        return Err(denied(Rule::HostHeader));
    }
    if head.headers.contains_key(header::UPGRADE) || head::connection_says(&head.headers, "upgrade") {
        return Err(denied(Rule::Upgrade));
    }
    Ok(Place { target, path })
}

/// Whether a `Host` header names the target, whatever its spelling.
pub(crate) fn names(said: &str, target: &Target, default_port: u16) -> bool {
    let Ok((host, port)) = authority::split(said) else { return false };
    Host::parse(host).as_ref() == Ok(&target.host) && port.unwrap_or(default_port) == target.port
}

/// The request as it goes out: for this host, without anything that was meant for the proxy.
pub(crate) fn outgoing(place: &Place, head: Head, body: Outgoing) -> Result<Request<Outgoing>, Failure> {
    let Place { target, path } = place;
    let framing = head.framing;
    let had_length = head.headers.contains_key(header::CONTENT_LENGTH);
    let mut headers = head.headers;
    strip_hop_by_hop(&mut headers);
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::EXPECT);
    match framing {
        Framing::Length(length) if had_length => {
            headers.insert(header::CONTENT_LENGTH, length.into());
        }
        Framing::Length(_) => {}
        Framing::Chunked => {
            headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
    }
    // Ours, not the guest's: the one spelling that was decided on.
    let host = if target.port == 80 { without_port(target) } else { target.host.with_port(target.port) };
    headers.insert(header::HOST, HeaderValue::try_from(host).map_err(|_| Failure::Broken)?);
    let mut request = Request::new(body);
    *request.method_mut() = head.method;
    *request.uri_mut() = Uri::from(path.clone());
    *request.headers_mut() = headers;
    Ok(request)
}

fn without_port(target: &Target) -> String {
    match &target.host {
        Host::Address(address) if address.is_ipv6() => format!("[{address}]"),
        host => host.to_string(),
    }
}

/// Removes what concerns one connection only, and whatever `Connection` says does.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .collect();
    for name in listed {
        headers.remove(name);
    }
    for name in ["connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate"]
    {
        headers.remove(name);
    }
    for name in ["te", "trailer", "transfer-encoding", "upgrade", "http2-settings"] {
        headers.remove(name);
    }
}
