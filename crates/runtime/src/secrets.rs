//! Where the values of secrets come from.

use std::collections::BTreeMap;

use belljar_core::Secret;

/// Values of secrets, by the names that configs use for them.
///
/// They are given to a runtime once. A cell gets those its config grants (`secrets`), the engine's proxy gets those its
/// config injects (`network_policy.inject`), and nobody gets any other.
///
/// ```
/// use belljar_runtime::{Secret, Secrets};
///
/// let secrets = Secrets::from_env_prefixed("AGENT_").with("API_KEY", Secret::new("hunter2-hunter2"));
/// assert!(secrets.get("API_KEY").is_some());
/// ```
///
/// The environment is read when this is made and not again, so a value cannot change under a sandbox that hides it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets(BTreeMap<String, Secret>);

impl Secrets {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every variable of this process's environment that is text: a config can then name any of them. Where configs
    /// come from others, [`Secrets::from_env_prefixed`] or a map says which ones there are.
    pub fn from_env() -> Self {
        Self::from_env_prefixed("")
    }

    /// The variables whose names begin with a prefix, by their names without it: with `AGENT_`, the secret `API_KEY`
    /// is the variable `AGENT_API_KEY`.
    pub fn from_env_prefixed(prefix: &str) -> Self {
        Self::from_variables(std::env::vars_os(), prefix)
    }

    fn from_variables(
        variables: impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
        prefix: &str,
    ) -> Self {
        // A value that is not text could not be found again in what a script prints.
        variables
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?.to_owned(), value)))
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, value)| (name, Secret::new(value)))
            .collect()
    }

    /// One more. It takes the place of one by the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: Secret) -> Self {
        self.0.insert(name.into(), value);
        self
    }

    /// Those of another source too. They take the place of those by the same names.
    #[must_use]
    pub fn and(mut self, others: impl Into<Self>) -> Self {
        self.0.extend(others.into().0);
        self
    }

    /// The value of one.
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.0.get(name)
    }

    /// Those of these names that there are.
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
