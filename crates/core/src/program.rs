//! A command to run: any program, not only a script.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::check_environment;
use crate::wire::TerminalSize;
use crate::{GuestPath, GuestPathError, Stdin};

/// One program to run in a cell.
///
/// ```
/// use belljar_core::Program;
///
/// let program = Program::new("wc").args(["-l", "data.csv"]).cwd("work").unwrap();
/// assert_eq!(program.argv, ["wc", "-l", "data.csv"]);
/// assert!(Program::new("ls").cwd("../etc").is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Program {
    /// The program and its arguments. A program without a slash is looked for in `PATH`, as the
    /// program itself has it.
    pub argv: Vec<String>,
    /// Variables, besides those of the sandbox.
    pub env: BTreeMap<String, String>,
    /// Whether it gets only these, and the least that programs need.
    pub clean_env: bool,
    /// Where it starts, below the workspace. Made if it is not there. `None` is the workspace.
    pub cwd: Option<GuestPath>,
    /// Directories below the workspace that are made first, by the variables that name them to the
    /// program. The empty path is the workspace itself.
    pub places: BTreeMap<String, String>,
    /// What it reads.
    pub stdin: Stdin,
    /// Whether it has a terminal, and the size of that. All it writes is then on stdout.
    pub terminal: Option<TerminalSize>,
    /// How long it may run. `None` is the sandbox's `execution_timeout_sec`.
    pub timeout: Option<Duration>,
    /// How much processor time it may use, if that is less than the sandbox says.
    pub cpu_time: Option<Duration>,
    /// A lower limit on memory, in mebibytes.
    pub memory_mb: Option<u64>,
    /// A lower limit on processor use, in cores.
    pub cpu_quota: Option<f64>,
    /// A lower limit on processes and threads.
    pub pids_limit: Option<u32>,
    /// The most bytes that a file it writes may have.
    pub largest_file: Option<u64>,
}

/// Why a program cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// There is no program to run.
    #[error("no program is named: say which to run")]
    NoProgram,
    /// It has a NUL byte, which no program can be given.
    #[error("argument {number} of the program has a NUL byte")]
    Nul {
        /// Which one. The program itself is 0.
        number: usize,
    },
    /// The kernel takes no more.
    #[error("the arguments of the program are {bytes} bytes together: at most {most} are allowed")]
    TooLong {
        /// How much they are.
        bytes: usize,
        /// How much they may be.
        most: usize,
    },
    /// A variable cannot be set.
    #[error("the program's variables: {reason}")]
    Environment {
        /// Which, and why.
        reason: String,
    },
    /// A limit of nothing, or less.
    #[error("a limit of {value} on {what} is invalid: leave it out, or set more")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// What was asked for.
        value: f64,
    },
}

impl Program {
    /// The program itself, without arguments.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            argv: vec![program.into()],
            env: BTreeMap::new(),
            clean_env: false,
            cwd: None,
            places: BTreeMap::new(),
            stdin: Stdin::default(),
            terminal: None,
            timeout: None,
            cpu_time: None,
            memory_mb: None,
            cpu_quota: None,
            pids_limit: None,
            largest_file: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.argv.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets where it starts, below the workspace. `.` is the workspace itself.
    pub fn cwd(mut self, path: &str) -> Result<Self, GuestPathError> {
        self.cwd = match path.split('/').all(|part| matches!(part, "" | ".")) && !path.starts_with('/') {
            true => None,
            false => Some(GuestPath::new(path)?),
        };
        Ok(self)
    }

    /// Sets what it reads.
    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<Stdin>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Sets how long it may run.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Gives it a terminal.
    #[must_use]
    pub fn terminal(mut self, size: TerminalSize) -> Self {
        self.terminal = Some(size);
        self
    }

    /// Refuses what no program can be given.
    pub fn check(&self) -> Result<(), ProgramError> {
        /// Less than Linux gives to all strings of a new program together.
        const MOST: usize = 1 << 20;
        if self.argv.first().is_none_or(String::is_empty) {
            return Err(ProgramError::NoProgram);
        }
        if let Some(number) = self.argv.iter().position(|arg| arg.contains('\0')) {
            return Err(ProgramError::Nul { number });
        }
        let bytes = self.argv.iter().map(String::len).sum();
        if bytes > MOST {
            return Err(ProgramError::TooLong { bytes, most: MOST });
        }
        let limits = [
            ("memory", self.memory_mb.map(|megabytes| megabytes as f64)),
            ("processor use", self.cpu_quota),
            ("processes", self.pids_limit.map(f64::from)),
        ];
        let is_none = |value: f64| !(value.is_finite() && value > 0.0);
        match limits
            .into_iter()
            .find_map(|(what, value)| Some((what, value.filter(|value| is_none(*value))?)))
        {
            Some((what, value)) => Err(ProgramError::Limit { what, value }),
            None => check_environment(&self.env)
                .map_err(|error| ProgramError::Environment { reason: error.to_string() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_program_can_be_given_is_refused() {
        let refused = |program: Program| program.check().unwrap_err();
        assert_eq!(refused(Program::new("")), ProgramError::NoProgram);
        assert_eq!(refused(Program::new("a").args(["b", "c\0"])), ProgramError::Nul { number: 2 });
        assert!(matches!(
            refused(Program::new("a").args(["x".repeat(2 << 20)])),
            ProgramError::TooLong { .. }
        ));
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0")] {
            let program = Program::new("a").env(name, value);
            assert!(matches!(refused(program), ProgramError::Environment { .. }), "{name:?}");
        }
        let limited = Program { cpu_quota: Some(0.0), ..Program::new("a") };
        assert!(matches!(refused(limited), ProgramError::Limit { what: "processor use", .. }));
        assert_eq!(Program::new("a").args(["b"]).env("A", "x").check(), Ok(()));
    }

    #[test]
    fn a_program_starts_in_its_workspace() {
        for itself in ["", ".", "./"] {
            assert_eq!(Program::new("a").cwd(itself).unwrap().cwd, None, "{itself:?}");
        }
        for outside in ["..", "a/../b", "/etc"] {
            assert!(Program::new("a").cwd(outside).is_err(), "{outside:?}");
        }
    }
}
