//! What is to run: a program, once, and what one run of it is given.

use std::time::Duration;

use belljar::config::GuestPath;
use belljar::engine::layout;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::languages::Tongue;
use crate::problem::Problem;
use crate::runs::invalid;

/// A program.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) tongue: Tongue,
    pub(super) source: String,
    /// What the source is called, if that matters to whoever sent it.
    pub(super) name: Option<GuestPath>,
    pub(super) files: Vec<Given>,
    /// Whether other files in the same language are compiled with it.
    pub(super) compiles_all: bool,
    /// More arguments for the compiler.
    pub(super) flags: Vec<String>,
    pub(super) compile_limits: Limits,
}

/// What one run is given.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) stdin: Bytes,
    pub(super) args: Vec<String>,
    /// They come after those of the job, and replace them.
    pub(super) files: Vec<Given>,
    /// Files that are wanted afterwards: what they are called in the answer, and where they are.
    pub(super) fetch: Vec<(String, Place)>,
    pub(super) limits: Limits,
    /// Whether both streams are wanted as one, too.
    pub(super) in_order: bool,
}

/// How much one run may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    pub(super) timeout: Duration,
    /// `None`: what the sandbox has.
    pub(super) memory_mb: Option<u64>,
    pub(super) cpu_time: Option<Duration>,
    /// Bytes of each stream. `None`: what the sandbox has.
    pub(super) output_bytes: Option<u64>,
}

impl Limits {
    pub(super) fn of(timeout: Duration) -> Self {
        Self { timeout, memory_mb: None, cpu_time: None, output_bytes: None }
    }
}

/// A file that comes with a request.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) place: Place,
    pub(super) content: Bytes,
    pub(super) is_executable: bool,
}

/// Where a file is: beside the program, or at a path of the cell that is named as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    path: GuestPath,
    is_absolute: bool,
}

impl Place {
    /// Reads what a client calls a file. It leads nowhere but into the workspace: of absolute paths
    /// only those below `/workspace` can be meant.
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let inside = text.strip_prefix(layout::WORKSPACE).and_then(|rest| rest.strip_prefix('/'));
        let read = GuestPath::new(inside.unwrap_or(text));
        let path = read.map_err(|error| {
            let workspace = layout::WORKSPACE;
            invalid(format!("{error}; a file is beside the program, or below {workspace}"))
        })?;
        Ok(Self { path, is_absolute: inside.is_some() })
    }

    /// Its path below the workspace, if the program is in that directory. The empty one is the
    /// workspace itself.
    pub(super) fn below(&self, directory: &str) -> String {
        match self.is_absolute || directory.is_empty() {
            true => self.path.as_str().to_owned(),
            false => format!("{directory}/{}", self.path.as_str()),
        }
    }

    /// Its path as seen from the program, if it is there.
    pub(super) fn seen(&self) -> Option<&str> {
        (!self.is_absolute).then(|| self.path.as_str())
    }
}

impl Job {
    /// What is the same for two jobs whose compiled programs are the same. What one client has
    /// compiled is no other's.
    pub(super) fn key(&self, client: &str) -> String {
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        };
        add(client.as_bytes());
        add(self.tongue.name.as_bytes());
        add(self.source.as_bytes());
        add(self.name.as_ref().map_or("", GuestPath::as_str).as_bytes());
        add(&[u8::from(self.compiles_all)]);
        add(&(self.flags.len() as u64).to_le_bytes());
        self.flags.iter().chain(&self.tongue.flags).for_each(|flag| add(flag.as_bytes()));
        for file in &self.files {
            add(file.place.below("box").as_bytes());
            add(&[u8::from(file.is_executable)]);
            add(&file.content);
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_beside_the_program_or_below_the_workspace_and_nowhere_else() {
        let below = |text: &str| Place::read(text).map(|place| place.below("box")).ok();
        assert_eq!(below("./a/b.txt").as_deref(), Some("box/a/b.txt"));
        assert_eq!(below("/workspace/a.txt").as_deref(), Some("a.txt"));
        for outside in ["/etc/passwd", "../a", "a/../../b", "/workspace/../etc/x", "/workspace", "", "a\0b"] {
            assert_eq!(below(outside), None, "{outside:?}");
        }
    }
}
