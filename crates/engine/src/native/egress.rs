//! How a cell reaches the hosts its config allows: through a listener on its own loopback, behind which the proxy stands on the host.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use belljar_core::Decision;
use belljar_proxy::{CellEgress, Egress, EgressError, EgressOptions};

use super::settings::Settled;
use crate::engine::Blueprint;

/// A policy made ready; `None` for one that lets nobody out.
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
    // As much as the cell itself: who may use half a processor shall not have another do its work.
    proxy.limits.processor_cores = config.resource_limits.cpu_quota;
    proxy.roots = settings.roots.clone().map(Into::into);
    // Only those it is to set: the proxy need not know the others.
    proxy.secrets = blueprint
        .injected
        .iter()
        .filter(|(name, _)| policy.injects(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Egress::new(policy.clone(), proxy).map(Some)
}

/// One cell's way out. Closes when dropped.
pub(super) struct CellProxy {
    /// `None` once it is closed.
    proxy: Option<CellEgress>,
    denials: Arc<Mutex<Vec<Decision>>>,
}

impl CellProxy {
    /// Serves on the listener that was made in the cell's network.
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
        // The next step of a session has as much as this one had.
        proxy.begin_run();
        decisions
    }

    /// Closes it, and tells what was asked for: after that nothing is.
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
