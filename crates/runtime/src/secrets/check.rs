//! Which secrets are refused, before anything is made for them.
//!
//! A secret reaches a script as an environment variable, and a program that the script starts gets
//! it the same way. So the kernel's rules for variables are the rules here. Errors name the secret
//! and never show its value.

use std::collections::BTreeMap;
use std::fmt;

use belljar_core::Secret;
use belljar_core::config::{ENTRY_BYTES, ENVIRONMENT_BYTES, POINTER_BYTES, SandboxConfig, entry_bytes};

use super::Secrets;
use crate::mask;

/// How many secrets a sandbox may have. A guest looks through all variables to set one, so ten
/// times as many take a hundred times as long, in every run.
const MOST: usize = 1000;

/// Why secrets were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// No environment variable can have the name.
    #[error(
        "{name:?} cannot name a secret: must not be empty and must not hold `=` or a NUL, because it names an environment variable"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// No environment variable can have the value.
    #[error(
        "the value of secret {name} has a NUL byte, which an environment variable cannot hold. Encode it, in base64 for instance, \
         and let the script decode it"
    )]
    Nul {
        /// The secret's name.
        name: String,
    },
    /// It is so short that it is part of ordinary text by chance, and cannot be hidden.
    #[error(
        "the value of secret {name} is too short: must be at least {least} bytes, or it could not be told from ordinary output"
    )]
    Short {
        /// The secret's name.
        name: String,
        /// How long it must be.
        least: usize,
    },
    /// No environment variable can be so long.
    #[error(
        "the value of secret {name} is too long: it has {bytes} bytes and may have {most}, because the kernel passes no longer \
         variable to a program. Put it into a file and grant that file (`resources`)"
    )]
    Long {
        /// The secret's name.
        name: String,
        /// How long the value is.
        bytes: usize,
        /// How long a value with that name may be.
        most: usize,
    },
    /// A config or its tools name secrets, and nobody gave their values.
    #[error(
        "sandbox `{sandbox}` needs secrets that have no value: {}. Give them to the runtime",
        .missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    Missing {
        /// The sandbox.
        sandbox: String,
        /// Which, all of them.
        missing: Vec<MissingSecret>,
    },
    /// There are too many.
    #[error(
        "sandbox `{sandbox}` has {count} secrets and may have {most}, because every run is given all of them. Put them into a \
         file and grant that file (`resources`)"
    )]
    Many {
        /// The sandbox.
        sandbox: String,
        /// How many it has.
        count: usize,
        /// How many it may have.
        most: usize,
    },
    /// Together they are too large.
    #[error(
        "the secrets and variables (`env`) of sandbox `{sandbox}` take {bytes} bytes and may take {most}, because the kernel \
         passes little more to a program. Put the largest into files and grant those (`resources`)"
    )]
    Large {
        /// The sandbox.
        sandbox: String,
        /// What they take together.
        bytes: usize,
        /// What they may take.
        most: usize,
    },
}

/// A secret without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingSecret {
    /// Its name.
    pub name: String,
    /// The tools that need it: `tool file weather.py`, `tool price`. Empty if only the config names
    /// it.
    pub needed_by: Vec<String>,
}

impl fmt::Display for MissingSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.needed_by.is_empty() {
            true => f.write_str(&self.name),
            false => write!(f, "{} ({})", self.name, self.needed_by.join(", ")),
        }
    }
}

impl Secrets {
    /// Refuses what could be nobody's secret.
    pub(crate) fn check(&self) -> Result<(), SecretError> {
        for (name, value) in &self.0 {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(SecretError::Name { name: name.clone() });
            }
            if value.expose().contains('\0') {
                return Err(SecretError::Nul { name: name.clone() });
            }
        }
        Ok(())
    }

    /// Refuses to give a sandbox what could not be hidden in its results, or not be carried to it.
    pub(crate) fn check_for(&self, config: &SandboxConfig) -> Result<(), SecretError> {
        let granted = || config.secrets.iter().filter_map(|name| Some((name, self.get(name)?)));
        let injected = self.injected_by(config);
        let taken = |name: &str, value: &str| entry_bytes(name, value) + POINTER_BYTES;
        let mut bytes: usize = config.env.iter().map(|(name, value)| taken(name, value)).sum();
        for (name, value) in granted() {
            if entry_bytes(name, value.expose()) > ENTRY_BYTES {
                let (bytes, most) = (value.expose().len(), ENTRY_BYTES - entry_bytes(name, ""));
                return Err(SecretError::Long { name: name.clone(), bytes, most });
            }
            bytes += taken(name, value.expose());
        }
        let mut count = granted().count();
        for (name, value) in injected.clone() {
            count += usize::from(!config.secrets.contains(name));
            bytes += taken(name, value.expose());
        }
        let sandbox = || config.name.clone();
        if count > MOST {
            return Err(SecretError::Many { sandbox: sandbox(), count, most: MOST });
        }
        if bytes > ENVIRONMENT_BYTES {
            return Err(SecretError::Large { sandbox: sandbox(), bytes, most: ENVIRONMENT_BYTES });
        }
        // An empty value counts as missing: the guest is told so.
        let short =
            granted().chain(injected).find(|(_, value)| (1..mask::SHORTEST).contains(&value.expose().len()));
        match short {
            Some((name, _)) => Err(SecretError::Short { name: name.clone(), least: mask::SHORTEST }),
            None => Ok(()),
        }
    }

    /// Refuses a config and tools whose secrets are not all here. An empty value counts as missing.
    /// `needed` are those that tools need, and which tool that is.
    pub(crate) fn check_complete<'a>(
        &self,
        config: &'a SandboxConfig,
        needed: impl IntoIterator<Item = (&'a String, String)>,
    ) -> Result<(), SecretError> {
        let mut all: BTreeMap<&String, Vec<String>> = BTreeMap::new();
        for name in &config.secrets {
            all.entry(name).or_default();
        }
        for (name, tool) in needed {
            all.entry(name).or_default().push(tool);
        }
        let is_missing = |name: &str| self.get(name).is_none_or(|value| value.expose().is_empty());
        let missing: Vec<_> = all
            .into_iter()
            .filter(|(name, _)| is_missing(name))
            .map(|(name, needed_by)| MissingSecret { name: name.clone(), needed_by })
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(SecretError::Missing { sandbox: config.name.clone(), missing }),
        }
    }

    /// The secrets that the proxy injects into requests. No cell has them, but a host may echo
    /// them.
    pub(crate) fn injected_by<'a>(
        &'a self,
        config: &'a SandboxConfig,
    ) -> impl Iterator<Item = (&'a String, &'a Secret)> + Clone {
        let injected = config.network_policy.inject.iter();
        injected.filter_map(|injection| Some((&injection.secret, self.get(&injection.secret)?)))
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::config::Injection;

    use super::*;

    fn refusal(secrets: &Secrets, config: &SandboxConfig) -> String {
        secrets.check().and_then(|()| secrets.check_for(config)).unwrap_err().to_string()
    }

    fn config(names: &[&str]) -> SandboxConfig {
        let secrets = names.iter().map(ToString::to_string).collect();
        SandboxConfig { secrets, ..SandboxConfig::default() }
    }

    #[test]
    fn what_no_variable_can_hold_is_refused_by_name_and_never_by_value() {
        for name in ["", "A=B", "A\0"] {
            let text = refusal(&Secrets::new().with(name, Secret::new("hunter2")), &config(&[]));
            assert!(text.starts_with(&format!("{name:?} cannot name a secret")), "{text}");
        }
        let text = refusal(&Secrets::new().with("KEY", Secret::new("hunter2\0hunter2")), &config(&[]));
        assert!(
            text.starts_with("the value of secret KEY has a NUL byte") && !text.contains("hunter"),
            "{text}"
        );
    }

    #[test]
    fn a_value_is_as_long_as_the_kernel_allows_and_not_longer() {
        let secret = |bytes: usize| Secrets::new().with("KEY", Secret::new("x".repeat(bytes)));
        assert_eq!(secret(131_067).check_for(&config(&["KEY"])), Ok(()));
        let text = refusal(&secret(131_068), &config(&["KEY"]));
        assert!(text.contains("KEY is too long: it has 131068 bytes and may have 131067"), "{text}");
        // Nobody gets it here.
        assert_eq!(secret(1 << 20).check_for(&config(&[])), Ok(()));
        let text = refusal(&secret(3), &config(&["KEY"]));
        assert!(text.contains("KEY is too short: must be at least 4 bytes"), "{text}");
    }

    #[test]
    fn a_sandbox_is_given_so_many_and_so_much() {
        let names: Vec<_> = (0..1001).map(|number| format!("KEY_{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let all = |value: &str| names.iter().map(|name| (*name, Secret::new(value))).collect::<Secrets>();
        let text = refusal(&all("hunter2"), &config(&names));
        assert!(text.contains("`default` has 1001 secrets and may have 1000"), "{text}");
        assert_eq!(all("hunter2").check_for(&config(&names[1..])), Ok(()));
        let text = refusal(&all(&"x".repeat(2000)), &config(&names[..600]));
        assert!(text.contains("take 1210090 bytes and may take 1048576"), "{text}");
        let mut shared = config(&names[..525]);
        assert_eq!(all(&"x".repeat(1970)).check_for(&shared), Ok(()));
        shared.env = [("OTHER".to_owned(), "x".repeat(20_000))].into();
        assert!(refusal(&all(&"x".repeat(1970)), &shared).contains("secrets and variables (`env`)"));
    }

    #[test]
    fn all_that_is_missing_is_told_with_who_needs_it() {
        let secrets = Secrets::new().with("HERE", Secret::new("hunter2")).with("EMPTY", Secret::new(""));
        let config = config(&["HERE", "EMPTY", "GONE"]);
        let names = ["GONE", "HERE", "TOOLS"].map(String::from);
        let needed = || {
            let by = |name, tool: &str| (name, tool.to_owned());
            [
                by(&names[0], "tool file a.py"),
                by(&names[1], "tool b"),
                by(&names[2], "tool b"),
                by(&names[2], "tool c"),
            ]
        };
        let text = secrets.check_complete(&config, needed()).unwrap_err().to_string();
        let listed = "no value: EMPTY, GONE (tool file a.py), TOOLS (tool b, tool c). Give them";
        assert!(text.contains(listed), "{text}");
        let all = secrets.and(
            [("EMPTY", "EMPTY"), ("GONE", "gone"), ("TOOLS", "tools")]
                .map(|(name, value)| (name, Secret::new(value))),
        );
        assert_eq!(all.check_complete(&config, needed()), Ok(()));
    }

    #[test]
    fn what_the_proxy_injects_counts_too() {
        let mut config = config(&[]);
        config.network_policy.inject = vec![Injection {
            host: "example.com".into(),
            ports: Vec::new(),
            header: "x-key".into(),
            secret: "KEY".into(),
            prefix: String::new(),
            terminate_tls: false,
        }];
        let text = refusal(&Secrets::new().with("KEY", Secret::new("abc")), &config);
        assert!(text.contains("KEY is too short"), "{text}");
        let text = refusal(&Secrets::new().with("KEY", Secret::new("x".repeat(2 << 20))), &config);
        assert!(text.contains("and may take 1048576"), "{text}");
    }
}
