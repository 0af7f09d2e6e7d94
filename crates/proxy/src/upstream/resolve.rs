//! Resolves names to addresses on the host. A cell has no resolver of its own.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// A lookup in progress.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, ResolveError>> + Send + 'a>>;

/// Resolves names. Called once per connection, and only for names the policy allows.
pub trait Resolve: Send + Sync {
    /// All addresses of a name, which is in its normal spelling.
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a>;
}

impl<T: Resolve + ?Sized> Resolve for std::sync::Arc<T> {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        (**self).resolve(name)
    }
}

/// Why there is no address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The name does not exist, or has no address.
    #[error("no such host")]
    NotFound,
    /// The resolver could not be asked.
    #[error("the resolver does not answer")]
    Unavailable {
        /// What the resolver said, for the log. A guest is not told about the host's resolver.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The host's own settings cannot be read.
    #[error("the host's resolver settings cannot be used")]
    Settings {
        /// What is wrong with them.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The resolver that the host is set up with.
///
/// Names in the host's `/etc/hosts` lead where it says, as for the host's own programs. Such an
/// address is vetted like any other, so a name for a machine in a private network needs its address
/// in `allowed_hosts` too. If the file has no address of a family, servers are asked for that
/// family. Answers are kept for their time to live.
#[derive(Clone)]
pub struct SystemResolver(TokioResolver);

impl SystemResolver {
    /// Reads the host's settings.
    pub fn new() -> Result<Self, ResolveError> {
        let settings = |error: NetError| ResolveError::Settings { source: Box::new(error) };
        let resolver = TokioResolver::builder_tokio().map_err(settings)?.build().map_err(settings)?;
        Ok(Self(resolver))
    }

    /// Asks this server, and not those the host is set up with.
    pub fn asking(server: SocketAddr) -> Result<Self, ResolveError> {
        let on_its_port = |mut connection: ConnectionConfig| {
            connection.port = server.port();
            connection
        };
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(on_its_port).to_vec();
        let servers = vec![NameServerConfig::new(server.ip(), true, connections)];
        let config = ResolverConfig::from_parts(None, Vec::new(), servers);
        let builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        let resolver = builder.build().map_err(|error| ResolveError::Settings { source: Box::new(error) })?;
        Ok(Self(resolver))
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            // The dot prevents the host's search domains: only the name that was decided on is
            // looked up. Below a suffix a guest chooses the name, and can put a secret there. The
            // library would log it, so it gets no subscriber.
            let asked = self.0.lookup_ip(format!("{name}.")).with_subscriber(NoSubscriber::new());
            match asked.await {
                Ok(answer) => Ok(answer.iter().collect()),
                Err(error) if error.is_nx_domain() || error.is_no_records_found() => {
                    Err(ResolveError::NotFound)
                }
                Err(error) => Err(ResolveError::Unavailable { source: Box::new(error) }),
            }
        })
    }
}
