//! Plain HTTP. Each request is a decision of its own, on whatever connection it comes.

use std::sync::Arc;

use belljar_core::policy::{Denial, Host, HostError, Rule, Target, decide, folded, is_for_one_connection};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Uri};
use tokio::net::TcpStream;

use crate::audit::Record;
use crate::body::Outgoing;
use crate::cell::Cell;
use crate::head::{self, Framing, Head};
use crate::inject::Injections;
use crate::listener::Place;
use crate::relay::{self, Ended};
use crate::upstream::{CertificateAuthority, Failure, Protection};
use crate::wire::{Stream, Wire};
use crate::{answer, authority, connect};

/// Where a request goes: the target and the path.
pub(crate) struct Outbound {
    pub(crate) target: Target,
    pub(crate) path: PathAndQuery,
    /// The authority that terminated the guest's TLS, if it was terminated. Then the proxy talks
    /// TLS to the host as well.
    pub(crate) authority: Option<Arc<CertificateAuthority>>,
}

/// Serves requests with whole URLs, or one CONNECT, until the guest has no more or one is refused.
pub(crate) async fn serve(cell: Arc<Cell>, mut wire: Wire<TcpStream>, place: Place) {
    loop {
        let outbound = match head::read(&mut wire.reader, &cell.shared.limits).await {
            Ok(Some(head)) if head.method == Method::CONNECT => {
                return connect::serve(cell, wire, head, place).await;
            }
            Ok(Some(head)) => locate(&cell, &head).map(|outbound| {
                let record = cell.open(&outbound.target);
                (outbound, head, record)
            }),
            Ok(None) => return,
            Err(rule) => Err(cell.denied("", 0, rule)),
        };
        match answer_one(&cell, wire, outbound).await {
            Some(same) => wire = same,
            None => return,
        }
    }
}

/// The same inside a tunnel whose TLS was terminated. Every request is for the tunnel's own target.
/// The first one continues the tunnel's record.
pub(crate) async fn serve_terminated<S: Stream>(
    cell: Arc<Cell>,
    mut wire: Wire<S>,
    target: Target,
    tunnel: Arc<Record>,
) {
    let mut tunnel = Some(tunnel);
    loop {
        let asked = match head::read(&mut wire.reader, &cell.shared.limits).await {
            Ok(Some(head)) => locate_terminated(&cell, &head, &target).map(|outbound| (outbound, head)),
            Ok(None) => return,
            Err(rule) => Err(rule),
        };
        let record = tunnel.take().filter(|record| record.goes_on()).unwrap_or_else(|| cell.open(&target));
        let outbound = match asked {
            Ok((outbound, head)) => Ok((outbound, head, record)),
            Err(rule) => {
                record.deny(rule);
                Err(Denial::new(&target.host.to_string(), target.port, rule))
            }
        };
        match answer_one(&cell, wire, outbound).await {
            Some(same) => wire = same,
            None => return,
        }
    }
}

/// Answers one request. Returns the connection if another request may follow on it.
async fn answer_one<S: Stream>(
    cell: &Arc<Cell>,
    mut wire: Wire<S>,
    outbound: Result<(Outbound, Head, Arc<Record>), Denial>,
) -> Option<Wire<S>> {
    let policy = &cell.shared.policy;
    let (outbound, head, record) = match outbound {
        Ok(outbound) => outbound,
        Err(denial) => {
            wire.hang_up(&answer::denial(policy, &denial)).await;
            return None;
        }
    };
    let (host, port) = (outbound.target.host.to_string(), outbound.target.port);
    let keep_alive = head.keep_alive;
    let last_words = match relay::exchange(cell, &mut wire, &outbound, head, &record).await {
        Ok(()) if keep_alive => return Some(wire),
        Ok(()) | Err(Ended::Cut) => Vec::new(),
        Err(Ended::Gone) => return None,
        Err(Ended::Denied(rule)) => {
            record.deny(rule);
            answer::denial(policy, &Denial::new(&host, port, rule))
        }
        Err(Ended::Failed(failure)) => {
            record.fail(&failure.to_string());
            answer::failure(&host, port, &failure)
        }
    };
    wire.hang_up(&last_words).await;
    None
}

fn locate(cell: &Cell, head: &Head) -> Result<Outbound, Denial> {
    let url = &head.target;
    let refused = |rule| {
        let (host, port) = authority::loggable_host_of_url(url);
        cell.denied(host, port, rule)
    };
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
    // A password with a slash in it makes its first part look like a host.
    let is_doubtful = path.contains('@') && decide(&cell.shared.policy, host, port).is_err();
    let denied = |rule| if is_doubtful { refused(rule) } else { cell.denied(host, port, rule) };
    if path.contains('#') {
        return Err(denied(Rule::Http("a fragment in the URL")));
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let path = PathAndQuery::try_from(path).map_err(|_| denied(Rule::Http("a path that no URL has")))?;
    let target = cell.judge(host, port).map_err(denied)?;
    if cell.shared.injections.authority_for(&target).is_some() {
        return Err(denied(Rule::NeedsTls));
    }
    if port == 443 && !target.plain {
        return Err(denied(Rule::TlsPort));
    }
    check(cell, head, &target, 80).map_err(denied)?;
    Ok(Outbound { target, path, authority: None })
}

fn locate_terminated(cell: &Cell, head: &Head, target: &Target) -> Result<Outbound, Rule> {
    if head.method == Method::CONNECT || !head.target.starts_with('/') || head.target.contains('#') {
        return Err(Rule::Http("a request inside a tunnel must be for a path"));
    }
    let path = PathAndQuery::try_from(head.target.as_str());
    let path = path.map_err(|_| Rule::Http("a path that no URL has"))?;
    check(cell, head, target, 443)?;
    // Decide again, because the run may have no bytes left.
    let target = cell.judge(&target.host.to_string(), target.port)?;
    let authority = cell.shared.injections.authority_for(&target);
    Ok(Outbound { target, path, authority })
}

/// What must hold for any request to a target.
fn check(cell: &Cell, head: &Head, target: &Target, default_port: u16) -> Result<(), Rule> {
    if !head.host.as_deref().is_none_or(|said| names(said, target, default_port)) {
        return Err(Rule::HostHeader);
    }
    // A host that echoes requests would show the guest what was injected.
    if matches!(head.method.as_str(), "TRACE" | "TRACK") {
        return Err(Rule::Http("TRACE is not forwarded"));
    }
    const USUAL: [Method; 7] = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    if cell.shared.injections.are_for(target) {
        // Some servers take the method from a header. So the value of such a header, whatever its
        // name, must be on the same list.
        let is_usual =
            |said: &[u8]| USUAL.iter().any(|usual| usual.as_str().as_bytes().eq_ignore_ascii_case(said));
        let mut said = head.headers.iter().filter(|(name, _)| names_a_method(name));
        if !USUAL.contains(&head.method) || said.any(|(_, value)| !is_usual(value.as_bytes())) {
            return Err(Rule::Method);
        }
    }
    if head.headers.contains_key(header::UPGRADE) || head::connection_says(&head.headers, "upgrade") {
        return Err(Rule::Upgrade);
    }
    Ok(())
}

/// Whether a server could take its method from this header: `X-HTTP-Method-Override` and similar
/// names, in any spelling.
fn names_a_method(name: &HeaderName) -> bool {
    let name = folded(name.as_str());
    name.contains("method") || name.split('-').any(|word| word == "verb")
}

/// Whether a `Host` header names the target, in any spelling.
pub(crate) fn names(said: &str, target: &Target, default_port: u16) -> bool {
    let Ok((host, port)) = authority::split(said) else { return false };
    Host::parse(host).as_ref() == Ok(&target.host) && port.unwrap_or(default_port) == target.port
}

/// The request that goes out on a connection with this protection: for this host, without anything
/// that was meant for the proxy.
pub(crate) fn outgoing(
    injections: &Injections,
    outbound: &Outbound,
    protection: Protection,
    head: &Head,
    body: Outgoing,
) -> Result<Request<Outgoing>, Failure> {
    let Outbound { target, path, .. } = outbound;
    let had_length = head.headers.contains_key(header::CONTENT_LENGTH);
    let mut headers = head.headers.clone();
    strip_hop_by_hop(&mut headers);
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::EXPECT);
    match head.framing {
        Framing::Length(length) if had_length => {
            headers.insert(header::CONTENT_LENGTH, length.into());
        }
        Framing::Length(_) => {}
        Framing::Chunked => {
            headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
    }
    // This header is ours, not the guest's: it has the one spelling that was decided on.
    let default_port = if protection.is_verified_tls() { 443 } else { 80 };
    let host =
        if target.port == default_port { without_port(target) } else { target.host.with_port(target.port) };
    headers.insert(header::HOST, HeaderValue::try_from(host).map_err(|_| Failure::Broken)?);
    // This comes last, so that nothing the guest wrote overrides it.
    injections.apply(target, protection, &mut headers);
    let mut request = Request::new(body);
    *request.method_mut() = head.method.clone();
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

/// Removes headers that concern one connection only, including those that `Connection` names.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let mut listed: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .collect();
    listed.extend(headers.keys().filter(|name| is_for_one_connection(&folded(name.as_str()))).cloned());
    for name in listed {
        headers.remove(name);
    }
}
