//! What every proxy container of one config is made from.

use std::collections::BTreeMap;

use belljar_core::NetworkPolicy;
use belljar_core::layout::EGRESS;
use belljar_proxy::Roots;
use bollard::models::{ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType};

use super::SidecarSettings;
use super::protocol::Order;
use crate::docker::DockerError;
use crate::docker::daemon::Daemon;
use crate::docker::labels::Controller;
use crate::docker::remover::Remover;
use crate::guest;

const MEMORY: i64 = 512 << 20;

/// What every proxy of one config is made from.
pub(super) struct Setup {
    pub(super) daemon: Daemon,
    pub(super) remover: Remover,
    pub(super) controller: Controller,
    pub(super) name: String,
    image: String,
    network: String,
    pub(super) volume: String,
    policy: NetworkPolicy,
    secrets: BTreeMap<String, String>,
    known_hosts: BTreeMap<String, std::net::IpAddr>,
    roots_pem: Option<String>,
    processor_cores: f64,
}

impl Setup {
    pub(super) fn new(settings: &SidecarSettings<'_>, image: String) -> Self {
        let SidecarSettings { daemon, controller, remover, blueprint, settings } = settings;
        let config = &blueprint.config;
        let policy = config.network_policy.clone();
        // Only the secrets that the policy injects. The proxy does not need the others.
        let secrets = blueprint
            .injected
            .iter()
            .filter(|(name, _)| policy.injects(name))
            .map(|(name, value)| (name.clone(), value.expose().to_owned()))
            .collect();
        Self {
            daemon: (*daemon).clone(),
            remover: (*remover).clone(),
            controller: (*controller).clone(),
            name: config.name.clone(),
            image,
            network: settings.egress_network.clone().unwrap_or_else(|| "bridge".to_owned()),
            volume: format!("belljar-{}-{}", config.name, &belljar_core::random_hex()[..16]),
            secrets,
            policy,
            known_hosts: settings.known_hosts.clone(),
            roots_pem: settings.roots_pem.clone().or_else(host_roots),
            // The proxy may use as much processor for a cell as the cell itself. Otherwise a cell
            // that may use half a core could make the proxy work for it.
            processor_cores: config.resource_limits.cpu_quota,
        }
    }

    pub(super) fn start_order(&self) -> Order {
        Order::Start {
            policy: self.policy.clone(),
            secrets: self.secrets.clone(),
            known_hosts: self.known_hosts.clone(),
            roots_pem: self.roots_pem.clone(),
            processor_cores: self.processor_cores,
        }
    }

    pub(super) fn body(&self) -> ContainerCreateBody {
        let host_config = HostConfig {
            readonly_rootfs: Some(true),
            cap_drop: Some(vec!["ALL".into()]),
            security_opt: Some(vec!["no-new-privileges".into()]),
            network_mode: Some(self.network.clone()),
            ipc_mode: Some("private".into()),
            memory: Some(MEMORY),
            pids_limit: Some(128),
            mounts: Some(vec![Mount {
                typ: Some(MountType::VOLUME),
                source: Some(self.volume.clone()),
                target: Some(EGRESS.into()),
                ..Default::default()
            }]),
            log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: None }),
            auto_remove: Some(true),
            ..Default::default()
        };
        ContainerCreateBody {
            image: Some(self.image.clone()),
            labels: Some(self.controller.labels("proxy", &self.name)),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            open_stdin: Some(true),
            stdin_once: Some(true),
            host_config: Some(host_config),
            ..Default::default()
        }
    }

    pub(super) fn failed(&self, reason: impl Into<String>, log: Vec<String>) -> DockerError {
        DockerError::Sidecar { name: self.name.clone(), reason: reason.into(), log }
    }
}

/// The certificate authorities this machine trusts. Those that cannot be read are left out, and the
/// others are still trusted.
fn host_roots() -> Option<String> {
    const END: &str = "-----END CERTIFICATE-----";
    let bundle = guest::host_bundle()?;
    let usable = bundle.split_inclusive(END).filter(|one| Roots::from_pem(one).is_ok());
    Some(usable.collect()).filter(|text: &String| !text.is_empty())
}
