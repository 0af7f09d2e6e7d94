//! The rules that can refuse a connection. A guest, an event and a result all see these words.

use super::{AddressKind, HostError};

/// Why something was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// No entry names the host.
    #[error("not in allowed_hosts")]
    NotListed,
    /// An entry names the host, but none of its ports is this one.
    #[error("the host is in allowed_hosts, but not with this port")]
    Port,
    /// The guest asked for an address by number, and no entry lists it.
    #[error("addresses must be in allowed_hosts themselves")]
    AddressNotListed,
    /// It is not a host.
    #[error("not a host name: {0}")]
    Malformed(#[from] HostError),
    /// The name is allowed, but leads to an address that is not on the internet.
    #[error("the name leads to a {0} address, which must be in allowed_hosts itself")]
    Address(AddressKind),
    /// The tunnel does not begin with TLS.
    #[error("expected TLS in the tunnel; plain HTTP goes to the proxy as a whole URL")]
    ExpectedTls,
    /// Plain HTTP to a host and port whose credential must not be sent in clear text.
    #[error("a credential for this host and port travels by TLS only; use https://")]
    NeedsTls,
    /// Plain HTTP to a port where TLS is spoken.
    #[error("port 443 is for TLS; plain HTTP there needs the host in plain_hosts")]
    TlsPort,
    /// The host at the other end of the tunnel does not speak TLS.
    #[error("the host answered with something that is not TLS")]
    HostWithoutTls,
    /// A method that could make a host show the credential it gets.
    #[error("a host that gets a credential is asked by GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS only")]
    Method,
    /// The TLS greeting cannot be read.
    #[error("the TLS ClientHello is malformed or too long")]
    BadTls,
    /// TLS without a server name.
    #[error("TLS without a server name (SNI)")]
    NoServerName,
    /// TLS with the name of another server.
    #[error("the TLS server name (SNI) differs from the host asked for")]
    ServerName,
    /// TLS that hides its real server name.
    #[error("encrypted ClientHello hides the server name")]
    HiddenServerName,
    /// The `Host` header names another host.
    #[error("the Host header differs from the URL's host")]
    HostHeader,
    /// The URL does not begin with `http://`.
    #[error("only http:// URLs are forwarded; anything else needs CONNECT")]
    Scheme,
    /// A change of protocol on a connection that was allowed as HTTP.
    #[error("protocol upgrades are not forwarded over plain HTTP")]
    Upgrade,
    /// A message that two parsers could read differently.
    #[error("ambiguous or malformed HTTP: {0}")]
    Http(&'static str),
    /// It is not HTTP or SOCKS5, or is a part of them that is not offered.
    #[error("not offered: {0}")]
    Protocol(&'static str),
    /// The run reached a limit.
    #[error("limit reached: {0}")]
    Limit(&'static str),
}
