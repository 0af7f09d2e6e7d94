//! `--secret` and `--secrets-file`. No value is ever part of a command line.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use belljar::SecretSource;
use clap::Args;

/// The secrets of a sandbox, and where their values are.
#[derive(Debug, Default, Args)]
pub(crate) struct SecretArgs {
    /// Give the script a secret: a variable of your own environment, or `NAME=env:VARIABLE`, the
    /// content of a file, `NAME=file:PATH`, or what a program prints, `NAME=cmd:COMMAND`. May be
    /// repeated
    #[arg(long = "secret", value_name = "NAME[=SOURCE]")]
    given: Vec<String>,
    /// Look for values of secrets in this file of `NAME=value` lines first. The script gets those
    /// that --secret, the sandbox file or a tool names. May be repeated
    #[arg(long = "secrets-file", value_name = "FILE")]
    pub(crate) lists: Vec<PathBuf>,
}

/// One `--secret`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GivenSecret {
    pub(crate) name: String,
    /// Where its value is, if not wherever that of any secret is.
    pub(crate) source: Option<SecretSource>,
}

impl SecretArgs {
    /// Every `--secret`. They are not read with the command line, whose errors repeat what was
    /// typed: somebody may have typed a value.
    pub(crate) fn given(&self) -> Result<Vec<GivenSecret>> {
        self.given.iter().map(|text| secret(text)).collect()
    }
}

fn secret(text: &str) -> Result<GivenSecret> {
    let Some((name, source)) = text.split_once('=') else {
        return Ok(GivenSecret { name: text.to_owned(), source: None });
    };
    let source = source.parse().map_err(|error| anyhow!("--secret {name}: its source {error}"))?;
    Ok(GivenSecret { name: name.to_owned(), source: Some(source) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_a_name_with_or_without_a_source() {
        let one = |text: &str| secret(text).unwrap();
        assert_eq!(one("KEY"), GivenSecret { name: "KEY".into(), source: None });
        let source = Some(SecretSource::File("a=b".into()));
        assert_eq!(one("KEY=file:a=b"), GivenSecret { name: "KEY".into(), source });
    }

    #[test]
    fn a_value_on_the_command_line_is_refused_and_not_repeated() {
        let options = SecretArgs { given: vec!["KEY=hunter2".into()], lists: Vec::new() };
        let text = options.given().unwrap_err().to_string();
        assert!(
            text.starts_with("--secret KEY: its source must be env:VARIABLE, file:PATH or cmd:"),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
    }
}
