//! One program in a workspace.

use belljar::workspace::{RunProgramSpec, Streaming};

use super::scene::Scene;
use crate::args::WsRunArgs;
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::Interrupts;
use crate::program::{self, input};

pub(super) async fn run(
    scene: &Scene<'_>,
    options: &WsRunArgs,
    interrupts: &mut Interrupts,
) -> Result<End, CliError> {
    let workspace = scene.find(&options.name)?;
    scene.warn().await?;
    let mut spec = command(&options.command);
    spec.cwd.clone_from(&options.cwd);
    let streaming =
        Streaming { stdin: input::stdin(&options.input), keeps_output: options.json, ..Streaming::default() };
    let ended = program::run(&workspace, spec, streaming, (scene.printer, interrupts)).await?;
    let ended = match ended {
        Ok(ended) => ended,
        Err(interrupt) => return Ok(End::Interrupted(interrupt)),
    };
    if options.json {
        scene.printer.json(&ended.result)?;
    }
    program::tell(&ended, &scene.settings, scene.printer)
}

/// A program and its arguments. The parser has refused to have none.
pub(super) fn command(words: &[String]) -> RunProgramSpec {
    let mut words = words.iter().cloned();
    RunProgramSpec::new(words.next().unwrap_or_default(), words)
}
