//! One policy, ready for any number of cells.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;

use belljar_core::{Decision, NetworkPolicy, Secret};

use crate::audit::OnDenial;
use crate::budget::Ports;
use crate::error::EgressError;
use crate::inject::Injections;
use crate::limits::Limits;
use crate::listener::CellEgress;
use crate::upstream::{Pipes, Resolve, SystemResolver};

/// What a proxy needs besides its policy.
#[derive(Clone)]
#[non_exhaustive]
pub struct EgressOptions {
    /// Resolves names.
    pub resolver: Arc<dyn Resolve>,
    /// How much of the host a cell's traffic may take.
    pub limits: Limits,
    /// The values of the secrets that the policy injects, by name.
    pub secrets: BTreeMap<String, Secret>,
    /// Root certificates the proxy trusts when it terminates TLS. `None` means those of the
    /// machine.
    pub roots: Option<rustls::RootCertStore>,
}

impl EgressOptions {
    /// Default limits and this resolver.
    pub fn new(resolver: impl Resolve + 'static) -> Self {
        Self {
            resolver: Arc::new(resolver),
            limits: Limits::default(),
            secrets: BTreeMap::new(),
            roots: None,
        }
    }

    /// Default limits and the resolver that the host is set up with.
    pub fn from_system() -> Result<Self, EgressError> {
        Ok(Self::new(SystemResolver::new()?))
    }
}

/// A policy and what is needed to enforce it. One per template, and cheap to clone.
#[derive(Clone)]
pub struct Egress {
    pub(crate) shared: Arc<Shared>,
}

/// What all cells of a template share.
pub(crate) struct Shared {
    pub(crate) policy: NetworkPolicy,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) limits: Limits,
    pub(crate) injections: Injections,
    pub(crate) pipes: Arc<Pipes>,
    pub(crate) ports: Arc<Ports>,
}

impl Egress {
    /// Checks the policy and prepares it.
    pub fn new(policy: NetworkPolicy, options: EgressOptions) -> Result<Self, EgressError> {
        policy.validate()?;
        let EgressOptions { resolver, limits, secrets, roots } = options;
        let injections = Injections::new(&policy, &secrets, roots)?;
        let (pipes, ports) = (Arc::new(Pipes::new()), Arc::new(Ports::new(limits.ports_held)));
        Ok(Self { shared: Arc::new(Shared { policy, resolver, limits, injections, pipes, ports }) })
    }

    /// The certificate, as PEM, that programs in the cells must trust. `None` unless the policy
    /// terminates TLS to a host.
    pub fn ca_pem(&self) -> Option<String> {
        self.shared.injections.authority.as_ref().map(|authority| authority.pem())
    }

    /// Serves one cell on its own listener, on the current tokio runtime, until the handle is
    /// dropped.
    ///
    /// Panics outside a tokio runtime.
    pub fn serve(&self, listener: TcpListener) -> Result<CellEgress, EgressError> {
        CellEgress::new(self.shared.clone(), listener, None)
    }

    /// Like [`serve`](Self::serve), and also reports denials as they happen: the first of each line
    /// of the result, and some of the others. It never calls back while it holds a lock. The
    /// callback runs on the proxy's own task, so it must not block.
    pub fn serve_reporting(
        &self,
        listener: TcpListener,
        on_denial: impl Fn(&Decision) + Send + Sync + 'static,
    ) -> Result<CellEgress, EgressError> {
        let on_denial: OnDenial = Arc::new(on_denial);
        CellEgress::new(self.shared.clone(), listener, Some(on_denial))
    }
}
