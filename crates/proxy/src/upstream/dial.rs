//! From a target to a connection: wait for a turn, resolve once, vet every address, dial one that
//! was vetted.

use std::io;
use std::net::{IpAddr, SocketAddr};

use belljar_core::policy::{Host, Rule, Target, vet};
use tokio::time::{sleep, timeout};

use super::{HostSocket, ResolveError};
use crate::cell::Cell;

/// Why an allowed target could not be reached.
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
    #[error("TLS with the host failed: {}", why(.0))]
    Tls(#[source] io::Error),
    #[error("the host broke off or sent something that is not HTTP")]
    Broken,
}

impl Failure {
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout | Self::Silent)
    }
}

/// Why TLS failed, in our own words. rustls quotes names, and a guest or a host chose them.
fn why(error: &io::Error) -> &'static str {
    use rustls::{CertificateError as Bad, Error};
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(bad)) => match bad {
            Bad::UnknownIssuer => "nobody who is trusted vouches for its certificate",
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                "its certificate is for another name"
            }
            Bad::Expired | Bad::ExpiredContext { .. } => "its certificate has expired",
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => "its certificate is not valid yet",
            Bad::Revoked => "its certificate was revoked",
            _ => "its certificate is not valid",
        },
        Some(Error::AlertReceived(_)) => "it refused the handshake",
        Some(_) => "it does not speak TLS as it should",
        None => "the connection broke off",
    }
}

/// Why dialling gave no connection.
#[derive(Debug)]
pub(crate) enum NotConnected {
    Denied(Rule),
    Failed(Failure),
}

impl From<Failure> for NotConnected {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Connects to a target. The name is resolved once, and only addresses of that answer are dialled.
pub(crate) async fn dial(cell: &Cell, target: &Target) -> Result<HostSocket, NotConnected> {
    let shared = &cell.shared;
    let patience = shared.limits.connect_time;
    let Some(turn) = cell.dials.take(patience) else {
        return Err(NotConnected::Denied(Rule::Limit("new connections a second")));
    };
    // Even sleeping for zero time would wait for a tick of the clock.
    if !turn.is_zero() {
        sleep(turn).await;
    }
    timeout(patience, async {
        let addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => shared.resolver.resolve(name).await.map_err(Failure::Resolve)?,
        };
        for address in &addresses {
            vet(&shared.policy, target, *address).map_err(NotConnected::Denied)?;
        }
        connect(&addresses, target.port).await.map_err(NotConnected::Failed)
    })
    .await
    .unwrap_or(Err(NotConnected::Failed(Failure::Timeout)))
}

/// Connects to the first address that answers.
async fn connect(addresses: &[IpAddr], port: u16) -> Result<HostSocket, Failure> {
    let mut failure = Failure::Resolve(ResolveError::NotFound);
    for address in addresses {
        match HostSocket::connect(SocketAddr::new(*address, port)).await {
            Ok(socket) => return Ok(socket),
            Err(error) => failure = Failure::Connect(error),
        }
    }
    Err(failure)
}
