//! Where the values of secrets come from.
//!
//! * `source`: a variable, a file or a program, for one secret. `file`, `list`, `command` read
//!   them.
//! * `check` says which are refused.

mod check;
mod command;
mod file;
mod list;
mod source;

use std::collections::BTreeMap;

use belljar_core::Secret;

pub use self::check::{MissingSecret, SecretError};
pub use self::source::{SecretSource, SecretSourceError, UnknownSecretSource};

/// Values of secrets, by the names that configs use for them.
///
/// A runtime gets them once. A cell gets those that its config (`secrets`) and its guest tools
/// name. The engine's proxy gets those that the config injects (`network_policy.inject`). Nobody
/// gets any others.
///
/// ```
/// use belljar_runtime::{Secret, Secrets};
///
/// let key = Secret::new("hunter2-hunter2");
/// let secrets = Secrets::from_env_prefixed("AGENT_").with("API_KEY", key);
/// assert!(secrets.get("API_KEY").is_some());
/// ```
///
/// [`Secrets::from_file`] reads a list, and [`Secrets::with_source`] a value from a variable, a
/// file or a program.
///
/// A source is read once, when this is made. So a value cannot change while a sandbox hides it.
///
/// A secret reaches a script as an environment variable. So a value must not hold a NUL, and has at
/// most 128 KiB with its name. A sandbox may have 1000 secrets and, with its `env`, 1 MiB of them.
/// Otherwise the error is [`SecretError`], from
/// [`RuntimeBuilder::build`](crate::RuntimeBuilder::build) or
/// [`Runtime::sandbox`](crate::Runtime::sandbox).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets(BTreeMap<String, Secret>);

impl Secrets {
    /// No secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every variable of this process's environment that is text. A config can then name any of
    /// them. If configs come from others, use [`Secrets::from_env_prefixed`] or a map, which limit
    /// what they can name.
    pub fn from_env() -> Self {
        Self::from_env_prefixed("")
    }

    /// The variables whose names begin with a prefix, by their names without it. With `AGENT_`, the
    /// secret `API_KEY` is the variable `AGENT_API_KEY`.
    pub fn from_env_prefixed(prefix: &str) -> Self {
        Self::from_variables(std::env::vars_os(), prefix)
    }

    fn from_variables(
        variables: impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
        prefix: &str,
    ) -> Self {
        // A value that is not text could not be found in what a script prints.
        variables
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?.to_owned(), value)))
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, value)| (name, Secret::new(value)))
            .collect()
    }

    /// Adds one. It replaces another with the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: Secret) -> Self {
        self.0.insert(name.into(), value);
        self
    }

    /// Adds those of another source. They replace others with the same names.
    #[must_use]
    pub fn and(mut self, others: impl Into<Self>) -> Self {
        self.0.extend(others.into().0);
        self
    }

    /// The value of one secret.
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.0.get(name)
    }

    /// The secrets with these names, as far as they exist.
    pub(crate) fn only<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> BTreeMap<String, Secret> {
        names.into_iter().filter_map(|name| Some((name.clone(), self.0.get(name)?.clone()))).collect()
    }
}

impl From<BTreeMap<String, Secret>> for Secrets {
    fn from(values: BTreeMap<String, Secret>) -> Self {
        Self(values)
    }
}

impl<N: Into<String>> FromIterator<(N, Secret)> for Secrets {
    fn from_iter<I: IntoIterator<Item = (N, Secret)>>(values: I) -> Self {
        Self(values.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

impl<N: Into<String>, const COUNT: usize> From<[(N, Secret); COUNT]> for Secrets {
    fn from(values: [(N, Secret); COUNT]) -> Self {
        values.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn environment() -> impl Iterator<Item = (OsString, OsString)> {
        let text = [("AGENT_KEY", "from-env"), ("AGENT_OTHER", "other"), ("HOME", "/root"), ("AGENT_", "x")];
        let odd = (OsString::from("AGENT_ODD"), OsString::from_vec(vec![0xff]));
        text.map(|(name, value)| (name.into(), value.into())).into_iter().chain([odd])
    }

    #[test]
    fn a_prefix_says_which_variables_are_secrets() {
        let secrets = Secrets::from_variables(environment(), "AGENT_");
        let names: Vec<_> = secrets.0.keys().map(String::as_str).collect();
        assert_eq!(names, ["KEY", "OTHER"]);
        assert!(Secrets::from_variables(environment(), "").get("HOME").is_some());
    }

    #[test]
    fn a_map_wins_over_the_environment_it_is_laid_over() {
        let map = BTreeMap::from([("KEY".to_owned(), Secret::new("from-map"))]);
        let both = Secrets::from_variables(environment(), "AGENT_").and(map);
        assert_eq!(both.get("KEY").map(Secret::expose), Some("from-map"));
        assert_eq!(both.get("OTHER").map(Secret::expose), Some("other"));
        assert!(!format!("{both:?}").contains("from-map"));
    }
}
