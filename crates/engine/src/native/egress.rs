//! How a cell reaches the hosts its config allows.
//!
//! The cell connects to a listener on its own loopback. The proxy serves that listener on the host.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use belljar_core::Decision;
use belljar_proxy::{CellEgress, Egress, EgressError, EgressOptions};

use super::settings::Settled;
use crate::engine::Blueprint;

/// Makes a policy ready. `None` if the policy allows no host.
pub(super) fn prepare(blueprint: &Blueprint, settings: &Settled) -> Result<Option<Egress>, EgressError> {
    let config = &blueprint.config;
    let policy = &config.network_policy;
    if policy.is_isolated() {
        return Ok(None);
    }
    let mut proxy = match &settings.resolver {
        Some(resolver) => EgressOptions::new(Arc::clone(resolver)),
        None => EgressOptions::from_system()?,
    };
    // The proxy may use as much processor as the cell. Otherwise a cell that may use half a core
    // could make the proxy work for it.
    proxy.limits.processor_cores = config.resource_limits.cpu_quota;
    proxy.roots = settings.roots.clone().map(Into::into);
    // Only the secrets that the policy injects. The proxy does not need the others.
    proxy.secrets = blueprint
        .injected
        .iter()
        .filter(|(name, _)| policy.injects(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Egress::new(policy.clone(), proxy).map(Some)
}

/// One cell's access to the network. Closes when dropped.
pub(super) struct CellProxy {
    /// `None` once it is closed.
    proxy: Option<CellEgress>,
    denials: Arc<Mutex<Vec<Decision>>>,
}

impl CellProxy {
    /// Serves the listener that was made in the cell's network namespace.
    pub(super) fn open(egress: &Egress, listener: OwnedFd) -> Result<Self, EgressError> {
        let denials = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&denials);
        let proxy = egress.serve_reporting(TcpListener::from(listener), move |decision: &Decision| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(decision.clone());
        })?;
        Ok(Self { proxy: Some(proxy), denials })
    }

    pub(super) fn take_decisions(&self) -> Vec<Decision> {
        let Some(proxy) = &self.proxy else { return Vec::new() };
        let decisions = proxy.take_decisions();
        // The next step of a session gets the full byte allowance again.
        proxy.begin_run();
        decisions
    }

    /// Closes it and returns what the cell asked for. Nothing can be asked for after that.
    pub(super) async fn close(&mut self) -> Vec<Decision> {
        match self.proxy.take() {
            Some(proxy) => proxy.close().await,
            None => Vec::new(),
        }
    }

    pub(super) fn take_denials(&self) -> Vec<Decision> {
        std::mem::take(&mut *self.denials.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
