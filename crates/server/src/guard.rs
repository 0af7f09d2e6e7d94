//! Who asks, and whether a page of another site made them.
//!
//! A browser sends a request to any address that a page names, this machine's included. Two things
//! tell such a request: the name in `Host`, if the page's own name was made to point here (DNS
//! rebinding), and `Origin`. So a host is an address, `localhost`, or a name that the owner gave;
//! and an origin, if one is said, is the host itself.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::console;
use crate::openapi;
use crate::problem::{Code, Problem};
use crate::state::App;
use crate::tokens::{Scope, TokenLimits};
use crate::trace::{Followed, Trace};

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// The id of the token.
    pub(crate) id: String,
    pub(crate) scope: Scope,
    pub(crate) limits: TokenLimits,
    /// The trace of what is asked.
    pub(crate) trace: Trace,
}

/// Who asks where no token is needed.
const ANYBODY: &str = "local";

impl Client {
    /// Somebody who needs no token: a program of this machine, or who started this process.
    pub(crate) fn of_this_machine() -> Self {
        Self {
            id: ANYBODY.to_owned(),
            scope: Scope::Admin,
            limits: TokenLimits::default(),
            trace: Trace::begin(),
        }
    }

    /// Refuses a client whose token does not allow this.
    pub(crate) fn needs(&self, scope: Scope) -> Result<(), Problem> {
        let is_allowed = match scope {
            Scope::Read => true,
            Scope::Run => self.scope != Scope::Read,
            Scope::Admin => self.scope == Scope::Admin,
        };
        if is_allowed {
            return Ok(());
        }
        let detail = format!("this needs a token of scope {scope}, and this one has {}", self.scope);
        Err(Problem::new(Code::Forbidden, detail))
    }

    /// Whether something of another's may be seen.
    pub(crate) fn may_see(&self, owner: &str) -> bool {
        self.scope != Scope::Run || self.id == owner
    }

    /// Whether something of another's may be ended or changed.
    pub(crate) fn may_change(&self, owner: &str) -> bool {
        self.scope == Scope::Admin || (self.scope == Scope::Run && self.id == owner)
    }
}

/// What may be asked without a token: whether the server is there, what can be asked of it, and the
/// console, which has no data in it.
fn is_public(method: &Method, uri: &Uri) -> bool {
    matches!(uri.path(), "/healthz" | "/readyz" | openapi::PATH) || console::is_page(method, uri)
}

pub(crate) async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    if let Err(problem) = check_host(request.uri(), request.headers(), &app.host_names) {
        return problem.into_response();
    }
    if !is_public(request.method(), request.uri()) {
        match identify(&app, request.headers()) {
            Ok(mut client) => {
                if let Some(followed) = request.extensions().get::<Followed>() {
                    client.trace = followed.by(&client.id);
                }
                request.extensions_mut().insert(client);
            }
            Err(problem) => return problem.into_response(),
        }
    }
    next.run(request).await
}

fn identify(app: &App, headers: &HeaderMap) -> Result<Client, Problem> {
    let Some(tokens) = &app.tokens else {
        return Ok(Client::of_this_machine());
    };
    let refused = |detail: &str| Problem::new(Code::Unauthorized, detail);
    let text = match headers.get(AUTHORIZATION) {
        Some(said) => {
            let text = said.to_str().ok().and_then(|said| {
                let (kind, text) = said.split_once(' ')?;
                kind.eq_ignore_ascii_case("bearer").then(|| text.trim())
            });
            text.ok_or_else(|| refused("`Authorization` must be `Bearer TOKEN`"))?
        }
        None => offered_token(headers)
            .ok_or_else(|| refused("say `Authorization: Bearer TOKEN`; `belljar token new` makes a token"))?,
    };
    let found = tokens.find(text).map_err(|error| {
        tracing::error!(%error, "tokens cannot be read");
        Problem::new(Code::Internal, "the tokens of this server cannot be read: see its log")
    })?;
    let token = found.ok_or_else(|| refused("this token is not known here, or has ended"))?;
    Ok(Client { id: token.id, scope: token.scope, limits: token.limits, trace: Trace::begin() })
}

/// The token that a browser offers as a subprotocol of a WebSocket, where it can set no header.
fn offered_token(headers: &HeaderMap) -> Option<&str> {
    let is_socket =
        headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    let mut names = offered.flat_map(|value| value.split(',')).map(str::trim);
    if is_socket { names.find_map(|name| name.strip_prefix("bearer.")) } else { None }
}

fn check_host(uri: &Uri, headers: &HeaderMap, names: &[String]) -> Result<(), Problem> {
    let wrong = |detail: String| Problem::new(Code::WrongOrigin, detail);
    let text = |value: &axum::http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let host = match uri.authority() {
        Some(authority) => authority.as_str().to_owned(),
        None => headers.get(HOST).map(text).unwrap_or_default(),
    };
    let name = host_name(&host);
    let is_known = name.eq_ignore_ascii_case("localhost")
        || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
        || names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if !is_known {
        let detail = format!("this server is not called {name:?}: start it with --host-name {name}");
        return Err(wrong(detail));
    }
    let Some(origin) = headers.get(ORIGIN).map(text) else { return Ok(()) };
    let is_own = origin.split_once("://").is_some_and(|(_, theirs)| theirs.eq_ignore_ascii_case(&host));
    if is_own { Ok(()) } else { Err(wrong(format!("a page of {origin:?} may not use this server"))) }
}

/// A host without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_let_in(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        check_host(&Uri::from_static("/v1/runs"), &headers, &["jar.example".to_owned()]).is_ok()
    }

    #[test]
    fn a_page_of_another_site_is_refused_however_its_name_is_made_to_point_here() {
        for host in ["localhost:8720", "127.0.0.1", "[::1]:8720", "10.1.2.3:80", "Jar.Example"] {
            assert!(is_let_in(host, None), "{host}");
            assert!(is_let_in(host, Some(&format!("http://{host}"))), "{host}");
            assert!(!is_let_in(host, Some("http://evil.example")), "{host}");
            assert!(!is_let_in(host, Some("null")), "{host}");
        }
        assert!(!is_let_in("evil.example:8720", None), "a name that was made to point here");
        assert!(!is_let_in("localhost.evil.example", None));
        assert!(!is_let_in("localhost:8720", Some("http://localhost:9999")), "another program's page");
    }

    #[test]
    fn a_token_is_offered_by_a_websocket_only() {
        let mut headers = HeaderMap::new();
        headers.insert(SEC_WEBSOCKET_PROTOCOL, "belljar.terminal.v1, bearer.bj_1_2".parse().unwrap());
        assert_eq!(offered_token(&headers), None);
        headers.insert(UPGRADE, "WebSocket".parse().unwrap());
        assert_eq!(offered_token(&headers), Some("bj_1_2"));
        headers.insert(SEC_WEBSOCKET_PROTOCOL, "belljar.terminal.v1".parse().unwrap());
        assert_eq!(offered_token(&headers), None);
    }

    #[test]
    fn a_scope_allows_what_the_table_says() {
        let client = |scope| Client { id: "a".into(), scope, ..Client::of_this_machine() };
        let [read, run, admin] = Scope::ALL.map(client);
        assert!(read.needs(Scope::Run).is_err() && run.needs(Scope::Run).is_ok());
        assert!(run.needs(Scope::Admin).is_err() && admin.needs(Scope::Admin).is_ok());
        assert!(read.may_see("b") && !run.may_see("b") && run.may_see("a") && admin.may_see("b"));
        assert!(
            !read.may_change("a") && run.may_change("a") && !run.may_change("b") && admin.may_change("b")
        );
    }
}
