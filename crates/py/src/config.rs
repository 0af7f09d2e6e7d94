//! Configs, checked by the rules that every surface has.

use belljar::SandboxConfig;
use belljar::config::{ConfigError, NetworkPolicy};
use pyo3::prelude::*;

use crate::error::Raise;

/// A config from the JSON that the dataclasses make.
pub(crate) fn parse(py: Python<'_>, json: &str) -> PyResult<SandboxConfig> {
    SandboxConfig::from_json(json).map_err(|error: ConfigError| error.raise(py))
}

/// Refuses a config that breaks a rule.
#[pyfunction]
pub(crate) fn check_config(py: Python<'_>, json: &str) -> PyResult<()> {
    parse(py, json).map(drop)
}

/// A config from TOML, as JSON.
#[pyfunction]
pub(crate) fn read_config(py: Python<'_>, toml: &str) -> PyResult<String> {
    let config = SandboxConfig::from_toml(toml).map_err(|error| error.raise(py))?;
    Ok(serde_json::to_string(&config).expect("a config is plain data"))
}

/// What a policy allows, in one line: `host:port,host:port`.
#[pyfunction]
pub(crate) fn allowlist(json: &str) -> PyResult<String> {
    let policy: NetworkPolicy = serde_json::from_str(json)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    Ok(policy.allowlist_env())
}
