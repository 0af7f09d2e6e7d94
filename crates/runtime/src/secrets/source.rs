//! Where the value of one secret comes from: a variable, a file, a program.
//!
//! Errors name the secret and its source, and never show a value: not of this secret, and not what
//! a file or a program said instead of one.

use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use belljar_core::Secret;

use super::{Secrets, command, file};

/// Where the value of one secret comes from.
///
/// ```
/// use belljar_runtime::{SecretSource, Secrets};
///
/// let source: SecretSource = "cmd:printf %s-%s hunter2 hunter2".parse().unwrap();
/// let secrets = Secrets::new().with_source("KEY", &source).unwrap();
/// assert_eq!(secrets.get("KEY").unwrap().expose(), "hunter2-hunter2");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretSource {
    /// A variable of this process's environment: `env:NAME`.
    Environment(String),
    /// A file that has nothing but the value: `file:PATH`. One line break at its end is not part of
    /// the value. A file that every user of the machine can change is refused.
    File(PathBuf),
    /// What a program prints: `cmd:PROGRAM ARGUMENT…`. No shell reads it: words are split and
    /// quoted as a shell does it, and that is all. The program has 30 seconds. One line break at
    /// the end is not part of the value.
    Command(Vec<String>),
}

/// Why a secret has no value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretSourceError {
    /// The variable is not set, is empty, or is not text.
    #[error("secret {name}: the variable {variable} {problem}")]
    Environment {
        /// The secret.
        name: String,
        /// The variable.
        variable: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The file cannot be read.
    #[error("secret {name}: cannot read {}", .path.display())]
    Unreadable {
        /// The secret.
        name: String,
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The file has no value.
    #[error("secret {name}: {} {problem}", .path.display())]
    File {
        /// The secret.
        name: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file of several secrets cannot be read.
    #[error("secrets file {}", .path.display())]
    UnreadableList {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// A file of several secrets has something else in it.
    #[error("secrets file {}: {problem}", .path.display())]
    List {
        /// The file.
        path: PathBuf,
        /// The line, and what is wrong with it.
        problem: String,
    },
    /// The program has no value.
    #[error("secret {name}: the command {program} {problem}")]
    Command {
        /// The secret.
        name: String,
        /// The program, without its arguments: others may be secrets.
        program: String,
        /// What went wrong, with what the program said on stderr.
        problem: String,
    },
}

/// A word that names no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be env:VARIABLE, file:PATH or cmd:COMMAND. A value itself must not be here: others can see it")]
#[non_exhaustive]
pub struct UnknownSecretSource;

impl FromStr for SecretSource {
    type Err = UnknownSecretSource;

    fn from_str(text: &str) -> Result<Self, UnknownSecretSource> {
        let (kind, rest) = text.split_once(':').ok_or(UnknownSecretSource)?;
        match kind {
            _ if rest.is_empty() => Err(UnknownSecretSource),
            "env" => Ok(Self::Environment(rest.to_owned())),
            "file" => Ok(Self::File(rest.into())),
            "cmd" => match shlex::split(rest) {
                Some(words) if !words.is_empty() => Ok(Self::Command(words)),
                _ => Err(UnknownSecretSource),
            },
            _ => Err(UnknownSecretSource),
        }
    }
}

impl SecretSource {
    /// How long a program may take.
    const COMMAND_TIME: Duration = Duration::from_secs(30);

    /// Reads the value. Waits for a program, on this thread.
    pub fn read(&self, name: &str) -> Result<Secret, SecretSourceError> {
        match self {
            Self::Environment(variable) => from_environment(name, variable),
            Self::File(path) => file::value(name, path),
            Self::Command(words) => {
                let program = words.first().map_or("", String::as_str);
                command::output(words, Self::COMMAND_TIME).map_err(|problem| SecretSourceError::Command {
                    name: name.to_owned(),
                    program: format!("{program:?}"),
                    problem,
                })
            }
        }
    }

    /// What its owner should know: that every user of the machine can read a file.
    pub fn warning(&self) -> Option<String> {
        match self {
            Self::File(path) => file::warning(path),
            _ => None,
        }
    }
}

fn from_environment(name: &str, variable: &str) -> Result<Secret, SecretSourceError> {
    let failed = |problem| {
        let (name, variable) = (name.to_owned(), variable.to_owned());
        Err(SecretSourceError::Environment { name, variable, problem })
    };
    if variable.contains(['=', '\0']) {
        return failed("cannot exist: no variable has `=` or a NUL in its name");
    }
    match std::env::var(variable) {
        Ok(value) if value.is_empty() => failed("is empty"),
        Ok(value) => Ok(Secret::new(value)),
        Err(std::env::VarError::NotPresent) => failed("is not set"),
        Err(std::env::VarError::NotUnicode(_)) => failed("is not UTF-8"),
    }
}

impl Secrets {
    /// Adds one from a source. It replaces another with the same name. A program is waited for on
    /// this thread.
    pub fn with_source(
        self,
        name: impl Into<String>,
        source: &SecretSource,
    ) -> Result<Self, SecretSourceError> {
        let name = name.into();
        let value = source.read(&name)?;
        Ok(self.with(name, value))
    }

    /// Adds those of a file with a `NAME=value` on each line. They replace others with the same
    /// names.
    ///
    /// ```text
    /// # a comment
    /// PLAIN=all up to the end of the line        # or to a comment
    /// export SINGLE='as it is, # too'
    /// DOUBLE="with \" and \\ and \n, over
    /// several lines"
    /// ```
    ///
    /// Nothing is looked up or run: `$HOME` is these five characters. A file that every user of the
    /// machine can change is refused.
    pub fn from_file(path: impl Into<PathBuf>) -> Result<Self, SecretSourceError> {
        file::list(&path.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_named_by_its_kind() {
        let table = [
            ("env:KEY", SecretSource::Environment("KEY".into())),
            ("file:/run/a b:c", SecretSource::File("/run/a b:c".into())),
            ("cmd:pass show 'a b'", SecretSource::Command(vec!["pass".into(), "show".into(), "a b".into()])),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse(), Ok(expected));
        }
        // The last ones are values, which must not be in an error.
        for text in ["", "env:", "file:", "cmd:", "cmd:  ", "cmd:'open", "hunter2", "http://hunter2"] {
            let error = text.parse::<SecretSource>().unwrap_err().to_string();
            assert!(error.starts_with("must be env:") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_variable_that_has_no_value_is_named() {
        let error =
            |variable: &str| SecretSource::Environment(variable.into()).read("KEY").unwrap_err().to_string();
        assert_eq!(error("BELLJAR_NO_SUCH"), "secret KEY: the variable BELLJAR_NO_SUCH is not set");
        assert!(error("A=B").contains("cannot exist"));
        assert!(SecretSource::Environment("PATH".into()).read("KEY").is_ok());
    }
}
