//! The fast way for Python: a script in a warm cell, that sees what `python FILE` shows it.
//!
//! A new interpreter takes longer than most programs that a trainer sends. A warm cell has one. The
//! names that a model's script finds there would make a program right that is wrong elsewhere. So
//! `launcher.py` takes them away first, and has errors printed as Python prints them.

use belljar::config::ExecutionMode;
use belljar::files::{FileContent, InputFile, Stdin};
use belljar::{Event, EventKind, ExecutionRequest};
use std::time::Duration;

use super::Graders;
use super::ended::{Ended, How};
use super::job::{Given, Input, Job};
use super::languages::own_name;
use crate::problem::Problem;

/// What graders put before each program. With these loaded, importing them costs nothing.
pub(super) const USUAL_MODULES: [&str; 20] = [
    "bisect",
    "collections",
    "copy",
    "datetime",
    "decimal",
    "fractions",
    "functools",
    "heapq",
    "io",
    "itertools",
    "json",
    "math",
    "operator",
    "random",
    "re",
    "statistics",
    "string",
    "time",
    "traceback",
    "typing",
];

const LAUNCHER: &str = include_str!("launcher.py");

impl Graders {
    /// Whether one run can be had so. A lower limit on memory needs a cell of its own, and files
    /// are fetched from workspaces.
    pub(super) fn is_fast(&self, job: &Job, input: &Input) -> bool {
        let most = self.config.resource_limits.memory_mb;
        job.tongue.is_python()
            && job.flags.is_empty()
            && input.fetch.is_empty()
            && input.limits.memory_mb.is_none_or(|wanted| wanted >= most)
            // The launcher takes the place of the source in the directory itself.
            && job.name.as_ref().is_none_or(|name| !name.as_str().contains('/'))
    }

    /// Runs a Python program in a warm cell.
    pub(super) async fn run_script(&self, job: &Job, input: &Input) -> Result<Ended, Problem> {
        let name = own_name(job, "py");
        let name = name.strip_prefix("./").unwrap_or(&name);
        let stdin = if input.stdin.is_empty() { Stdin::Empty } else { Stdin::from(input.stdin.clone()) };
        let mut request = ExecutionRequest::new(LAUNCHER)
            .with_mode(ExecutionMode::Script)
            .with_name(name)
            .with_args(input.args.iter().cloned())
            .with_timeout(input.limits.timeout)
            .with_stdin(stdin)
            .with_file(name, job.source.clone());
        request.files.extend(files(job, input, name));
        request.cpu_time = input.limits.cpu_time;
        let most = self.config.resource_limits.max_output_bytes;
        request.max_output_bytes = input.limits.output_bytes.map(|wanted| wanted.clamp(1024, most));
        let mut both = input.in_order.then(String::new);
        let listen = |event: Event| {
            if let (Some(both), EventKind::Stdout { text } | EventKind::Stderr { text }) =
                (&mut both, event.kind)
            {
                both.push_str(&text);
            }
        };
        let result = self.python().await?.run_with(request, listen).await?;
        let mut ended = Ended {
            how: How::of(&result.verdict, 1, None)?,
            verdict: result.verdict.name(),
            stdout: result.stdout,
            stderr: result.stderr,
            output: both,
            wall: Duration::from_secs_f64(result.usage.wall_ms.max(0.0) / 1e3),
            cpu: result.usage.cpu_ms.map(|cpu| Duration::from_secs_f64(cpu.max(0.0) / 1e3)),
            peak_memory: result.usage.peak_memory_bytes,
            files: Vec::new(),
        };
        ended.explain(result.error.as_deref());
        Ok(ended)
    }
}

/// All files beside the source. Of two at one place the later counts.
fn files(job: &Job, input: &Input, source: &str) -> Vec<InputFile> {
    let mut files: Vec<InputFile> = Vec::new();
    for Given { place, content, is_executable } in job.files.iter().chain(&input.files) {
        let path = place.below("");
        files.retain(|file| file.path != path);
        if path != source {
            let mut file = InputFile::new(path, FileContent::Bytes(content.clone()));
            file.is_executable = *is_executable;
            files.push(file);
        }
    }
    files
}
