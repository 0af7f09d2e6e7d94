//! Where the command finds the values of secrets.
//!
//! | named by | its value is |
//! |---|---|
//! | `--secret NAME=SOURCE` | there |
//! | `--secret NAME`, the sandbox file | in a `--secrets-file`, or in the environment |
//! | a tool file | given by `--secret`, or in a `--secrets-file` |
//!
//! A tool file may be somebody else's, and could name any variable. So its secrets are not taken
//! from the environment unless `--secret` says so.

use anyhow::{Result, bail};
use belljar::{SandboxConfig, SecretSource, Secrets, ToolSource};

use crate::args::{GivenSecret, SecretArgs};

/// The values of all secrets that a config and its tools name, and what their owner should know.
/// Whatever has no value is told at once.
pub(crate) fn look_up(
    config: &SandboxConfig,
    tools: &[ToolSource],
    options: &SecretArgs,
) -> Result<(Secrets, Vec<String>)> {
    let (mut listed, mut warnings) = (Secrets::new(), Vec::new());
    for path in &options.lists {
        listed = listed.and(Secrets::from_file(path)?);
        warnings.extend(SecretSource::File(path.clone()).warning());
    }
    let mut search = Search { listed, found: Secrets::new(), failed: Vec::new(), missing: Vec::new() };
    let mut problems = Vec::new();
    for GivenSecret { name, source } in options.given()? {
        if let Some(source) = source {
            match source.read(&name) {
                Ok(value) => search.found = search.found.with(&name, value),
                Err(error) => {
                    problems.push(format!("{:#}", anyhow::Error::new(error)));
                    search.failed.push(name);
                }
            }
            warnings.extend(source.warning());
        }
    }
    for name in &config.secrets {
        search.want(name, Some(name), || format!("secret {name}"))?;
    }
    for tool in tools {
        // A block that cannot be read is reported when the sandbox is made.
        let Ok(Some(needs)) = tool.needs() else { continue };
        for name in &needs.secrets {
            search.want(name, None, || format!("secret {name} (tool file {})", tool.file_name))?;
        }
    }
    if !search.missing.is_empty() {
        problems.push(format!(
            "no value for {}: say where it is with --secret NAME=file:PATH or --secrets-file FILE, or set it in the environment \
             that belljar runs in (for what a tool file needs, name it by --secret too)",
            search.missing.join(", ")
        ));
    }
    if !problems.is_empty() {
        bail!("{}", problems.join("; "));
    }
    // The guest does not get the secrets that the proxy adds. The policy itself reports a missing
    // one.
    for injection in &config.network_policy.inject {
        search.want(&injection.secret, Some(&injection.secret), String::new)?;
    }
    Ok((search.found, warnings))
}

struct Search {
    /// What the files have. Not all of it is wanted.
    listed: Secrets,
    found: Secrets,
    /// What has a source that does not give its value.
    failed: Vec<String>,
    /// What has no value, as a person reads it.
    missing: Vec<String>,
}

impl Search {
    /// Looks for a value in the files and, if it may be there, in a variable. An empty value counts
    /// as none, because the guest's check sees it so.
    fn want(&mut self, name: &str, variable: Option<&str>, what: impl Fn() -> String) -> Result<()> {
        if self.found.get(name).is_some() || self.failed.iter().any(|failed| failed == name) {
            return Ok(());
        }
        let listed = self.listed.get(name).filter(|value| !value.expose().is_empty()).cloned();
        let is_set = |variable: &&str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
        let value = match (listed, variable.filter(is_set)) {
            (Some(value), _) => value,
            (None, Some(variable)) => SecretSource::Environment(variable.to_owned()).read(name)?,
            (None, None) => {
                self.missing.push(what());
                return Ok(());
            }
        };
        self.found = std::mem::take(&mut self.found).with(name, value);
        Ok(())
    }
}
