//! What the user wants: options win over the environment, the sandbox file and the defaults, in
//! this order.
//!
//! After [`Settings::resolve`] nothing asks again where a value came from or whether it was given.
//! The command line parser has already put options over environment.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use belljar::config::FileResource;
use belljar::config::{ConfigError, HostPathMap};
use belljar::engine::{Docker, Local, Native, read_file};
use belljar::{Blueprint, Runtime, RuntimeError, SandboxConfig, Secrets, ToolSource};

use crate::args::{EngineName, GivenSecret, SandboxArgs};
use crate::{requirements, secrets};

/// Fields of a config and the options that set them. With it, an error can name what was typed.
const OPTIONS: [(&str, &str); 11] = [
    ("resource_limits.execution_timeout_sec", "--timeout"),
    ("resource_limits.memory_mb", "--memory"),
    ("resource_limits.pids_limit", "--pids"),
    ("resource_limits.cpu_quota", "--cpus"),
    ("scratch_size_mb", "--disk"),
    ("network_policy", "--allow-host"),
    ("resources", "--mount"),
    ("dependencies", "--dep"),
    ("python_version", "--python"),
    ("secrets", "--secret"),
    ("env", "--env"),
];

/// The complete description of one sandbox.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The config and its tools. Cells are made on demand, because a command runs one script and is
    /// not a service.
    pub(crate) blueprint: Blueprint,
    /// Values of the secrets that the config and the tools name.
    pub(crate) secrets: Secrets,
    /// What the owner of the secrets should know.
    pub(crate) warnings: Vec<String>,
    /// Whether the sandbox file says what mode scripts run in.
    pub(crate) has_mode: bool,
    /// The engine that was chosen.
    pub(crate) engine: EngineName,
    host_path_map: HostPathMap,
}

impl Settings {
    /// Reads the files that the options name, and puts the options over them.
    pub(crate) fn resolve(options: &SandboxArgs, engine: EngineName) -> Result<Self> {
        let (mut config, has_mode) = match &options.sandbox {
            Some(path) => read_config(path)?,
            None => (SandboxConfig::default(), false),
        };
        overlay(&mut config, options)?;
        config.validate().map_err(name_option)?;
        let mut tools = Vec::new();
        for path in &options.tool {
            tools.extend(ToolSource::read(path)?);
        }
        let (secrets, warnings) = secrets::look_up(&config, &tools, &options.secrets)?;
        let host_path_map = options.map_path.iter().map(|pair| path_pair(pair)).collect::<Result<_>>()?;
        let blueprint = Blueprint { tools, ..Blueprint::new(config) };
        Ok(Self { blueprint, secrets, warnings, has_mode, engine, host_path_map })
    }

    /// The library, set up with these settings.
    pub(crate) async fn runtime(&self) -> Result<Runtime, RuntimeError> {
        let builder = Runtime::builder().secrets(self.secrets.clone());
        let builder = match self.engine {
            EngineName::Native => builder.engine(Native::new()),
            EngineName::Docker => builder.engine(self.docker()),
            EngineName::Local => builder.engine(Local::new()),
        };
        builder.build().await
    }

    /// The docker engine with these settings.
    pub(crate) fn docker(&self) -> Docker {
        Docker::new().host_path_map(self.host_path_map.clone())
    }
}

/// The library with an engine, set up only by the environment.
pub(crate) async fn runtime_on(engine: EngineName) -> Result<Runtime, RuntimeError> {
    let builder = match engine {
        EngineName::Native => Runtime::builder().engine(Native::new()),
        EngineName::Docker => Runtime::builder().engine(Docker::new()),
        EngineName::Local => Runtime::builder().engine(Local::new()),
    };
    builder.build().await
}

/// The config, and whether it says what mode scripts run in.
fn read_config(path: &Path) -> Result<(SandboxConfig, bool)> {
    const LONGEST: u64 = 1 << 20;
    let place = || format!("sandbox file {}", path.display());
    let bytes = read_file(path, LONGEST).with_context(place)?;
    let text = String::from_utf8(bytes).context("it is not UTF-8").with_context(place)?;
    let config = SandboxConfig::from_toml(&text).with_context(place)?;
    let has_mode = text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("execution_mode"));
    Ok((config, has_mode))
}

fn overlay(config: &mut SandboxConfig, options: &SandboxArgs) -> Result<()> {
    config.pool_size = 0;
    if let Some(seconds) = options.timeout {
        config.resource_limits.execution_timeout_sec = seconds;
    }
    if let Some(mebibytes) = options.memory {
        config.resource_limits.memory_mb = mebibytes;
    }
    if let Some(mebibytes) = options.disk {
        config.scratch_size_mb = mebibytes;
    }
    if let Some(most) = options.pids {
        config.resource_limits.pids_limit = most;
    }
    if let Some(mebibytes) = options.max_output {
        config.resource_limits.max_output_bytes = mebibytes.saturating_mul(1 << 20);
    }
    if let Some(processors) = options.cpus {
        config.resource_limits.cpu_quota = processors;
    }
    if let Some(version) = &options.python {
        config.python_version = Some(version.parse().context("--python")?);
    }
    for host in &options.allow_host {
        allow(config, host)?;
    }
    for mount in &options.mount {
        config.resources.push(resource(mount)?);
    }
    let listed = requirements::read_all(&options.requirements, config.allow_source_builds)?;
    *config = config.with_tool_dependencies(options.dep.iter().cloned().chain(listed));
    for GivenSecret { name, .. } in options.secrets.given()? {
        if !config.secrets.contains(&name) {
            config.secrets.push(name);
        }
    }
    for assignment in &options.env {
        let (name, value) = assignment
            .split_once('=')
            .ok_or_else(|| anyhow!("--env {assignment:?}: must be NAME=VALUE, such as LANG=C.UTF-8"))?;
        config.env.insert(name.to_owned(), value.to_owned());
    }
    Ok(())
}

/// Reads `host`, `host:port`, `[v6]:port` or a bare IPv6 address.
fn allow(config: &mut SandboxConfig, entry: &str) -> Result<()> {
    let policy = &mut config.network_policy;
    let is_bare = entry.parse::<std::net::Ipv6Addr>().is_ok();
    let (host, port) = match entry.rsplit_once(':') {
        Some((host, port)) if !is_bare && !port.ends_with(']') => (host, Some(port)),
        _ => (entry, None),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if !policy.allowed_hosts.iter().any(|known| known == host) {
        policy.allowed_hosts.push(host.to_owned());
    }
    if let Some(port) = port {
        let number =
            port.parse().with_context(|| format!("--allow-host {entry:?}: {port:?} is not a port"))?;
        policy.allowed_ports.entry(host.to_owned()).or_default().push(number);
    }
    Ok(())
}

/// Reads `HOST:GUEST[:ro|rw]`. The host path may be relative here, but not in a file.
fn resource(mount: &str) -> Result<FileResource> {
    let (paths, read_only) = match mount.rsplit_once(':') {
        Some((paths, "ro")) => (paths, true),
        Some((paths, "rw")) => (paths, false),
        _ => (mount, true),
    };
    let Some((host, guest)) =
        paths.split_once(':').filter(|(host, guest)| !host.is_empty() && !guest.is_empty())
    else {
        bail!("--mount {mount:?}: must be HOST:GUEST, HOST:GUEST:ro or HOST:GUEST:rw");
    };
    let host = from_here(Path::new(host)).with_context(|| format!("--mount {mount:?}"))?;
    fs::symlink_metadata(&host).with_context(|| format!("--mount {mount:?}: {}", host.display()))?;
    Ok(FileResource { read_only, ..FileResource::new(host, guest) })
}

/// The path from the root. Links in it are left as they are: the engine decides which of them it
/// follows. The path of the current directory has none.
fn from_here(path: &Path) -> Result<PathBuf> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let mut place = std::env::current_dir()?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next_if(|part| matches!(part, Component::ParentDir | Component::CurDir)) {
        if part == Component::ParentDir {
            place.pop();
        }
    }
    Ok(place.join(parts.collect::<PathBuf>()))
}

/// Reads `HERE=THERE`, two absolute paths.
fn path_pair(pair: &str) -> Result<(PathBuf, PathBuf)> {
    let paths = pair.split_once('=').map(|(here, there)| (PathBuf::from(here), PathBuf::from(there)));
    match paths {
        Some((here, there)) if here.is_absolute() && there.is_absolute() => Ok((here, there)),
        _ => {
            bail!("--map-path {pair:?}: must be HERE=THERE, two absolute paths, such as /app/data=/srv/data")
        }
    }
}

/// Adds the option to an error. Mistakes in the file were found when it was read, so this one was
/// typed.
fn name_option(error: ConfigError) -> anyhow::Error {
    let text = error.to_string();
    match OPTIONS.iter().find(|(field, _)| text.starts_with(field)) {
        Some((_, option)) => anyhow::Error::from(error).context(*option),
        None => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(change: impl FnOnce(&mut SandboxArgs)) -> Result<SandboxConfig, String> {
        let mut options = SandboxArgs::default();
        change(&mut options);
        Settings::resolve(&options, EngineName::default())
            .map(|settings| settings.blueprint.config)
            .map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn options_win_over_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("box.toml");
        fs::write(
            &path,
            "dependencies = ['a']\n[resource-limits]\nmemory-mb = 64\nexecution_timeout_sec = 5\n",
        )
        .unwrap();
        let config = settled(|options| {
            options.sandbox = Some(path);
            options.memory = Some(128);
            options.dep = vec!["b".into(), "a".into()];
        });
        let config = config.unwrap();
        assert_eq!(
            (config.resource_limits.memory_mb, config.resource_limits.execution_timeout_sec),
            (128, 5.0)
        );
        assert_eq!(config.dependencies, ["a", "b"]);
    }

    /// Makes good options bad.
    type Spoil = fn(&mut SandboxArgs);

    #[test]
    fn a_bad_value_is_refused_by_the_option_that_gave_it() {
        let table: [(Spoil, &str); 9] = [
            (
                |o| o.timeout = Some(-1.0),
                "--timeout: resource_limits.execution_timeout_sec = -1.0 is invalid",
            ),
            (|o| o.timeout = Some(f64::NAN), "--timeout: "),
            (|o| o.memory = Some(1), "--memory: resource_limits.memory_mb = 1 is invalid"),
            (|o| o.dep = vec!["-r x".into()], "--dep: dependencies[0]"),
            (|o| o.python = Some("2.7".into()), "--python: \"2.7\" is not a Python version"),
            (|o| o.map_path = vec!["a=/b".into()], "--map-path \"a=/b\": must be HERE=THERE"),
            (|o| o.env = vec!["A".into()], "--env \"A\": must be NAME=VALUE"),
            (|o| o.allow_host = vec!["a:http".into()], "--allow-host \"a:http\": \"http\" is not a port"),
            (|o| o.mount = vec!["/tmp".into()], "--mount \"/tmp\": must be HOST:GUEST"),
        ];
        for (change, expected) in table {
            let error = settled(change).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn hosts_come_with_and_without_ports() {
        let config = settled(|options| {
            options.allow_host =
                ["a.com", "b.com:80", "b.com:81", "[::1]:8080", "::2"].map(String::from).into();
        });
        let policy = config.unwrap().network_policy;
        assert_eq!(policy.allowlist_env(), "a.com:443,b.com:80,b.com:81,[::1]:8080,[::2]:443");
    }

    #[test]
    fn a_mount_is_read_only_unless_said_otherwise() {
        let config = settled(|options| {
            options.mount = ["/usr:/data/a", "/usr:/data/b:ro", "/usr:/data/c:rw"].map(String::from).into();
        });
        let config = config.unwrap();
        assert_eq!(
            config.resources.iter().map(|resource| resource.read_only).collect::<Vec<_>>(),
            [true, true, false]
        );
    }
}
