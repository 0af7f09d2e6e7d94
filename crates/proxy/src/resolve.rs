//! Names to addresses, on the host: a cell has no resolver of its own.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;

use hickory_resolver::TokioResolver;
use hickory_resolver::net::NetError;

/// An answer on its way.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, ResolveError>> + Send + 'a>>;

/// Where addresses come from. Asked once for each connection, and only for names the policy allows.
pub trait Resolve: Send + Sync {
    /// All addresses of a name that is in its normal spelling.
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
        /// What it said, for the log; a guest is not told about the host's resolver.
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

/// The resolver the host is set up with.
#[derive(Clone)]
pub struct SystemResolver(TokioResolver);

impl SystemResolver {
    /// Reads the host's settings.
    pub fn new() -> Result<Self, ResolveError> {
        let settings = |error: NetError| ResolveError::Settings { source: Box::new(error) };
        let resolver = TokioResolver::builder_tokio().map_err(settings)?.build().map_err(settings)?;
        Ok(Self(resolver))
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            // The dot keeps the host's search domains away: what was decided is what is asked for.
            match self.0.lookup_ip(format!("{name}.")).await {
                Ok(answer) => Ok(answer.iter().collect()),
                Err(error) if error.is_nx_domain() || error.is_no_records_found() => {
                    Err(ResolveError::NotFound)
                }
                Err(error) => Err(ResolveError::Unavailable { source: Box::new(error) }),
            }
        })
    }
}
