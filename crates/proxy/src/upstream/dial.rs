//! From a target to a connection: resolve once, vet every address, dial one that was vetted.

use std::io;
use std::net::{IpAddr, SocketAddr};

use belljar_core::policy::{Host, Rule, Target, vet};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::egress::Shared;
use crate::resolve::ResolveError;

/// Why a target that is allowed could not be reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Resolve(#[from] ResolveError),
    #[error("cannot connect: {}", .0.kind())]
    Connect(#[source] io::Error),
    #[error("no connection in time")]
    Timeout,
    #[error("no answer in time")]
    Silent,
    #[error("TLS with the host failed: {0}")]
    Tls(#[source] io::Error),
    #[error("the host broke off or sent something that is not HTTP")]
    Broken,
}

impl Failure {
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout | Self::Silent)
    }
}

/// What dialling came to, when it did not come to a connection.
#[derive(Debug)]
pub(crate) enum Undialled {
    Denied(Rule),
    Failed(Failure),
}

impl From<Failure> for Undialled {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Connects to a target. The name is asked for once; nothing but the addresses of that answer is ever dialled.
pub(crate) async fn dial(shared: &Shared, target: &Target) -> Result<TcpStream, Undialled> {
    timeout(shared.limits.connect_time, async {
        let addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => shared.resolver.resolve(name).await.map_err(Failure::Resolve)?,
        };
        for address in &addresses {
            vet(&shared.policy, target, *address).map_err(Undialled::Denied)?;
        }
        connect(&addresses, target.port).await.map_err(Undialled::Failed)
    })
    .await
    .unwrap_or(Err(Undialled::Failed(Failure::Timeout)))
}

/// The first address that answers.
async fn connect(addresses: &[IpAddr], port: u16) -> Result<TcpStream, Failure> {
    let mut failure = Failure::Resolve(ResolveError::NotFound);
    for address in addresses {
        match TcpStream::connect(SocketAddr::new(*address, port)).await {
            Ok(stream) => {
                // Small messages go out at once; without it a request could wait for an acknowledgement.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => failure = Failure::Connect(error),
        }
    }
    Err(failure)
}
