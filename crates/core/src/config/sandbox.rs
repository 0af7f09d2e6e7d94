//! The whole description of an environment.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    ConfigError, ExecutionMode, FileResource, NetworkPolicy, Protection, PythonVersion, ResourceLimits,
    dependency, environment, table,
};

/// The whole description of an environment: what runs in it, how much it may use, and what it may
/// reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// A label for pools, logs and images.
    pub name: String,
    /// The interpreter. Without it the engine chooses one.
    #[serde(alias = "python-version", skip_serializing_if = "Option::is_none")]
    pub python_version: Option<PythonVersion>,
    /// The image to build on, for engines that have images.
    #[serde(alias = "base-image", skip_serializing_if = "Option::is_none")]
    pub base_image: Option<String>,
    /// Packages to install, in an installer's notation: `pandas>=2`.
    pub dependencies: Vec<String>,
    /// Whether packages may be built from source. If false, only wheels are used, because a build
    /// runs the package's own code.
    #[serde(alias = "allow-source-builds")]
    pub allow_source_builds: bool,
    /// Modules to import before any script comes. Without it, the modules that tools and
    /// dependencies name are imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preload: Option<Vec<String>>,
    /// Host files it may see.
    #[serde(deserialize_with = "table::many")]
    pub resources: Vec<FileResource>,
    /// Which hosts it may talk to.
    #[serde(alias = "network-policy", deserialize_with = "table::one")]
    pub network_policy: NetworkPolicy,
    /// How much it may use.
    #[serde(alias = "resource-limits", deserialize_with = "table::one")]
    pub resource_limits: ResourceLimits,
    /// Names of the secrets that its tools need. Values are never in a config.
    pub secrets: Vec<String>,
    /// Variables that every script sees.
    pub env: BTreeMap<String, String>,
    /// Whether it runs whole scripts or steps.
    #[serde(alias = "execution-mode")]
    pub execution_mode: ExecutionMode,
    /// How many cells to keep warm. With 0, each cell is made when it is needed.
    #[serde(alias = "pool-size")]
    pub pool_size: usize,
    /// Size of `/workspace` in MiB. It is memory, so what is written there counts against
    /// `memory_mb`.
    #[serde(alias = "scratch-size-mb")]
    pub scratch_size_mb: u64,
    /// Protections that it refuses to run without.
    pub require: Vec<Protection>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            python_version: None,
            base_image: None,
            dependencies: Vec::new(),
            allow_source_builds: false,
            preload: None,
            resources: Vec::new(),
            network_policy: NetworkPolicy::default(),
            resource_limits: ResourceLimits::default(),
            secrets: Vec::new(),
            env: BTreeMap::new(),
            execution_mode: ExecutionMode::default(),
            pool_size: 2,
            scratch_size_mb: 64,
            require: Vec::new(),
        }
    }
}

impl SandboxConfig {
    /// The default environment with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// This config with more dependencies: its own first, then the new ones in order, each once.
    #[must_use]
    pub fn with_tool_dependencies(&self, added: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut config = self.clone();
        config.dependencies.extend(added.into_iter().map(Into::into));
        let mut seen = BTreeSet::new();
        config.dependencies.retain(|dependency| seen.insert(dependency.clone()));
        config
    }

    /// Refuses a config that breaks a rule. The error names the first rule it breaks.
    ///
    /// Reading a document calls this. Code that takes a config built in code calls it before it
    /// makes anything from it.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_name(&self.name)?;
        self.base_image.as_deref().map_or(Ok(()), check_image)?;
        for (index, requirement) in self.dependencies.iter().enumerate() {
            dependency::check(requirement, self.allow_source_builds).map_err(|rule| {
                ConfigError::invalid(format!("dependencies[{index}]"), requirement, rule.to_string())
            })?;
        }
        for (index, module) in self.preload.iter().flatten().enumerate() {
            check_module(index, module)?;
        }
        FileResource::validate_all(&self.resources)?;
        self.network_policy.validate().map_err(|error| error.within("network_policy"))?;
        self.resource_limits.validate().map_err(|error| error.within("resource_limits"))?;
        environment::check(&self.env, &self.secrets)?;
        ConfigError::unless_in(0..=10_000, "pool_size", self.pool_size, "every warm cell costs memory")?;
        ConfigError::unless_in(
            1..=1_048_576,
            "scratch_size_mb",
            self.scratch_size_mb,
            "it counts MiB of memory and a script needs somewhere to write",
        )
    }
}

fn check_name(name: &str) -> Result<(), ConfigError> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if plain && (1..=64).contains(&name.len()) && !name.starts_with(['.', '-']) {
        return Ok(());
    }
    let rule = "must be 1 to 64 ASCII letters, digits, `.`, `_` and `-`, not beginning with `.` or `-`, \
                because it becomes part of file and image names";
    Err(ConfigError::invalid("name", name, rule))
}

fn check_image(image: &str) -> Result<(), ConfigError> {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/' | b':' | b'@');
    let begins = image.starts_with(|first: char| first.is_ascii_alphanumeric());
    if begins && image.len() <= 512 && image.bytes().all(plain) {
        return Ok(());
    }
    let rule =
        "must be an image reference such as \"python:3.11-slim\", because it becomes a line of a build file";
    Err(ConfigError::invalid("base_image", image, rule))
}

fn check_module(index: usize, module: &str) -> Result<(), ConfigError> {
    let is_identifier = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if module.split('.').all(is_identifier) {
        return Ok(());
    }
    let rule = "must be a module name such as \"numpy.linalg\"";
    Err(ConfigError::invalid(format!("preload[{index}]"), module, rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_config_is_valid_isolated_and_builds_nothing_from_source() {
        let config = SandboxConfig::default();
        assert_eq!(config.validate(), Ok(()));
        assert_eq!((config.name.as_str(), config.pool_size, config.scratch_size_mb), ("default", 2, 64));
        assert!(config.network_policy.is_isolated() && !config.allow_source_builds);
    }

    #[test]
    fn tool_dependencies_are_added_in_order_and_once() {
        let base = SandboxConfig { dependencies: vec!["b".into(), "a".into()], ..SandboxConfig::new("x") };
        let more = base.with_tool_dependencies(["c", "a", "c"]);
        assert_eq!(more.dependencies, ["b", "a", "c"]);
        assert_eq!(base.dependencies, ["b", "a"]);
        assert_eq!(SandboxConfig { dependencies: base.dependencies.clone(), ..more }, base);
    }

    /// Makes a valid config invalid.
    type Spoil = fn(&mut SandboxConfig);

    #[test]
    fn each_bad_value_is_refused_by_field_value_and_rule() {
        let table: [(Spoil, &str); 18] = [
            (|c| c.name.clear(), "name = \"\" is invalid: must be 1 to 64"),
            (|c| c.name = "a".repeat(65), "name = \"aaaa"),
            (|c| c.name = ".x".into(), "name = \".x\" is invalid: must be 1 to 64"),
            (|c| c.name = "-x".into(), "name = \"-x\" is invalid: must be 1 to 64"),
            (|c| c.name = "a/b".into(), "name = \"a/b\" is invalid: must be 1 to 64"),
            (
                |c| c.base_image = Some("a\nRUN x".into()),
                "base_image = \"a\\nRUN x\" is invalid: must be an image",
            ),
            (|c| c.base_image = Some("--x".into()), "base_image = \"--x\" is invalid: must be an image"),
            (
                |c| c.dependencies = vec!["-r".into()],
                "dependencies[0] = \"-r\" is invalid: must not hold a word",
            ),
            (
                |c| c.preload = Some(vec!["a.".into()]),
                "preload[0] = \"a.\" is invalid: must be a module name",
            ),
            (
                |c| c.preload = Some(vec!["a;b".into()]),
                "preload[0] = \"a;b\" is invalid: must be a module name",
            ),
            (
                |c| c.resources = vec![FileResource::new("/a", "/etc")],
                "resources[0].container_path = \"/etc\" is invalid: must not be at, inside or above \"/etc\"",
            ),
            (
                |c| c.network_policy.allowed_hosts = vec!["a:1".into()],
                "network_policy.allowed_hosts[0] = \"a:1\" is invalid: must be a host without a port",
            ),
            (
                |c| c.resource_limits.memory_swap_mb = 128,
                "resource_limits.memory_swap_mb = 128 is invalid: must be -1 or greater than memory_mb (256)",
            ),
            (|c| c.secrets = vec!["a b".into()], "secrets[0] = \"a b\" is invalid: must be a name"),
            (
                |c| drop(c.env.insert("LD_PRELOAD".into(), "x".into())),
                "env = \"LD_PRELOAD\" is invalid: must not be set",
            ),
            (|c| c.pool_size = 10_001, "pool_size = 10001 is invalid: must be from 0 to 10000"),
            (|c| c.scratch_size_mb = 0, "scratch_size_mb = 0 is invalid: must be from 1 to 1048576"),
            (
                |c| c.scratch_size_mb = 1 << 21,
                "scratch_size_mb = 2097152 is invalid: must be from 1 to 1048576",
            ),
        ];
        for (spoil, expected) in table {
            let mut config = SandboxConfig::default();
            spoil(&mut config);
            let text = config.validate().unwrap_err().to_string();
            assert!(text.starts_with(expected), "{text}");
        }
    }
}
