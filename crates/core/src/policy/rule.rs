//! The rules by which a connection can be refused, in the words a guest, an event and a result all see.

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
    /// An address asked for by number that no entry lists.
    #[error("addresses must be in allowed_hosts themselves")]
    AddressNotListed,
    /// Not a host at all.
    #[error("not a host name: {0}")]
    Malformed(#[from] HostError),
    /// The name is allowed but leads somewhere that is not the internet.
    #[error("the name leads to a {0} address, which must be in allowed_hosts itself")]
    Address(AddressKind),
    /// A tunnel that does not begin with TLS.
    #[error("expected TLS in the tunnel; plain HTTP goes to the proxy as a whole URL")]
    ExpectedTls,
    /// Plain HTTP to a host and port whose credential must not leave in clear text.
    #[error("a credential for this host and port travels by TLS only; use https://")]
    NeedsTls,
    /// Plain HTTP where TLS is spoken.
    #[error("port 443 is for TLS; plain HTTP there needs the host in plain_hosts")]
    TlsPort,
    /// A tunnel whose host does not speak TLS.
    #[error("the host answered with something that is not TLS")]
    HostWithoutTls,
    /// A method by which a host that gets a credential could be made to show it.
    #[error("a host that gets a credential is asked by GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS only")]
    Method,
    /// A TLS greeting that cannot be read.
    #[error("the TLS ClientHello is malformed or too long")]
    BadTls,
    /// TLS without a server name.
    #[error("TLS without a server name (SNI)")]
    NoServerName,
    /// TLS for somebody else.
    #[error("the TLS server name (SNI) differs from the host asked for")]
    ServerName,
    /// TLS whose real server name cannot be seen.
    #[error("encrypted ClientHello hides the server name")]
    HiddenServerName,
    /// A `Host` header for somebody else.
    #[error("the Host header differs from the URL's host")]
    HostHeader,
    /// A URL that is not `http://`.
    #[error("only http:// URLs are forwarded; anything else needs CONNECT")]
    Scheme,
    /// A change of protocol on a connection that was allowed as HTTP.
    #[error("protocol upgrades are not forwarded over plain HTTP")]
    Upgrade,
    /// A message two parsers could read differently.
    #[error("ambiguous or malformed HTTP: {0}")]
    Http(&'static str),
    /// Neither HTTP nor SOCKS5, or a part of them that is not offered.
    #[error("not offered: {0}")]
    Protocol(&'static str),
    /// A limit of the run.
    #[error("limit reached: {0}")]
    Limit(&'static str),
}
