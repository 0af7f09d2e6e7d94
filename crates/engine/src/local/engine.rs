//! The engine itself: what it refuses, and how a blueprint is made ready.

use std::sync::{Arc, Mutex};

use belljar_core::config::{Protection as Named, SandboxConfig};
use belljar_core::wire::GuestReport;

use super::NAME;
use super::home::Home;
use super::process::Leaving;
use super::settings::failed;
use super::template::LocalTemplate;
use crate::provision::Provisioner;
use crate::{
    Blueprint, BoxFuture, Capabilities, Engine, EngineError, Progress, ProtectionState, ProtectionStatus,
    Template, TemplateReport, check,
};

/// The warning in every report and result of this engine.
const WARNING: &str = "no isolation: the local engine runs scripts as plain subprocesses, which can do whatever this program can do";

/// Runs scripts in plain subprocesses.
pub struct LocalEngine {
    provisioner: Provisioner,
    capabilities: Capabilities,
    leaving: Leaving,
}

impl LocalEngine {
    pub(super) fn new(provisioner: Provisioner) -> Self {
        let names = Named::ALL.iter().flat_map(Named::layers).map(|layer| layer.name());
        let protections = names.map(|name| ProtectionStatus {
            name,
            purpose: "nothing on this engine",
            state: ProtectionState::Missing {
                reason: "the local engine isolates nothing".into(),
                remedy: "use the native engine, or docker".into(),
            },
        });
        let capabilities = Capabilities {
            protections: protections.collect(),
            control_groups: "none".to_owned(),
            ..Capabilities::default()
        };
        Self { provisioner, capabilities, leaving: Leaving::default() }
    }

    fn check(&self, blueprint: &Blueprint) -> Result<(), EngineError> {
        let config = &blueprint.config;
        check::config(config)?;
        check::required(NAME, config, &self.capabilities)?;
        check::tool_names(blueprint)?;
        match unenforced(config) {
            None => Ok(()),
            Some(what) => Err(EngineError::Unenforceable {
                engine: NAME,
                what: what.to_owned(),
                reason: "it isolates nothing".to_owned(),
                remedy: "Leave it at its default, or use the native engine or docker".to_owned(),
            }),
        }
    }

    async fn make_ready(
        &self,
        blueprint: &Blueprint,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Arc<dyn Template>, EngineError> {
        self.check(blueprint)?;
        let provided = self.provisioner.provide(&blueprint.config, |_| Ok(()), progress).await;
        let (interpreter, layer) = provided.map_err(failed)?;
        let home = Home::make(blueprint, layer).map_err(EngineError::io("lay out a sandbox's files"))?;
        let mut template = LocalTemplate {
            name: blueprint.config.name.clone(),
            python: interpreter.executable.display().to_string(),
            home: Arc::new(home),
            store: blueprint.workspaces.clone(),
            report: Default::default(),
            living: Mutex::default(),
            first: Mutex::default(),
            vouched: None,
            leaving: self.leaving.clone(),
        };
        // The first cell reports what all of them have. The first caller gets it.
        let (first, GuestReport { python, tools, warnings, vouched }) = template.make(None).await?;
        template.report = TemplateReport {
            python,
            python_path: template.python.clone(),
            tools,
            warnings: std::iter::once(WARNING.to_owned()).chain(warnings).collect(),
        };
        template.vouched = vouched;
        template.first = Mutex::new(Some(first));
        Ok(Arc::new(template))
    }
}

/// What a config relies on that this engine does not enforce. A value at its default was not asked
/// for.
fn unenforced(config: &SandboxConfig) -> Option<&'static str> {
    let usual = SandboxConfig::default();
    let (asked, default) = (&config.resource_limits, &usual.resource_limits);
    [
        ("network_policy", config.network_policy != usual.network_policy),
        ("resources", !config.resources.is_empty()),
        ("scratch_size_mb", config.scratch_size_mb != usual.scratch_size_mb),
        ("resource_limits.memory_mb", asked.memory_mb != default.memory_mb),
        ("resource_limits.memory_swap_mb", asked.memory_swap_mb != default.memory_swap_mb),
        ("resource_limits.cpu_quota", asked.cpu_quota != default.cpu_quota),
        ("resource_limits.cpu_time_sec", asked.cpu_time_sec.is_some()),
        ("resource_limits.pids_limit", asked.pids_limit != default.pids_limit),
        ("resource_limits.open_files", asked.open_files != default.open_files),
    ]
    .into_iter()
    .find_map(|(what, is_beyond)| is_beyond.then_some(what))
}

impl Engine for LocalEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> String {
        format!("{NAME}: plain subprocesses, no isolation")
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn prepare<'a>(
        &'a self,
        blueprint: &'a Blueprint,
        progress: &'a mut (dyn FnMut(Progress) + Send),
    ) -> BoxFuture<'a, Result<Arc<dyn Template>, EngineError>> {
        Box::pin(self.make_ready(blueprint, progress))
    }

    fn kept_owner(&self) -> Option<u32> {
        None
    }

    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.provisioner.settle().await;
            self.leaving.settle().await;
        })
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::config::FileResource;

    use super::*;

    /// Makes a config rely on something.
    type Ask = fn(&mut SandboxConfig);

    #[test]
    fn what_cannot_be_enforced_is_refused_by_name() {
        let table: [(Ask, &str); 11] = [
            (|c| c.network_policy.allowed_hosts = vec!["a.com".into()], "network_policy"),
            (|c| c.resources = vec![FileResource::new("/usr", "/data")], "resources"),
            (|c| c.scratch_size_mb = 1, "scratch_size_mb"),
            (|c| c.resource_limits.memory_mb = 64, "memory_mb"),
            (|c| c.resource_limits.memory_swap_mb = 4096, "memory_swap_mb"),
            (|c| c.resource_limits.cpu_quota = 1.0, "cpu_quota"),
            (|c| c.resource_limits.cpu_time_sec = Some(1.0), "cpu_time_sec"),
            (|c| c.resource_limits.pids_limit = 8, "pids_limit"),
            (|c| c.resource_limits.open_files = 64, "open_files"),
            (|c| c.require = vec![Named::Seccomp], "seccomp"),
            (|c| c.require = vec![Named::Cgroup], "cgroup_memory"),
        ];
        let engine = super::super::Local::new().cache_dir("/nowhere").open().unwrap();
        for (ask, named) in table {
            let mut config = SandboxConfig::default();
            ask(&mut config);
            let error = engine.check(&Blueprint::new(config)).unwrap_err();
            assert_eq!(error.fault(), crate::Fault::Caller);
            let said = error.to_string();
            assert!(said.starts_with("the local engine cannot enforce") && said.contains(named), "{said}");
        }
        let mut config = SandboxConfig::default();
        config.resource_limits.execution_timeout_sec = 1.0;
        config.resource_limits.max_output_bytes = 2048;
        config.secrets = vec!["KEY".into()];
        assert!(engine.check(&Blueprint::new(config)).is_ok());
    }

    #[test]
    fn it_claims_no_protection() {
        let engine = super::super::Local::new().cache_dir("/nowhere").open().unwrap();
        let here = engine.capabilities();
        assert!(here.can_make_cells() && !here.egress_policy);
        assert!(!here.protections.is_empty());
        assert!(here.protections.iter().all(|protection| !protection.state.is_active()));
    }
}
