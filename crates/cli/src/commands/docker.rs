//! `belljar docker`: manages what is kept on a daemon.

use belljar::RuntimeError;
use belljar::engine::Docker;

use crate::args::{DockerCommand, PruneArgs};
use crate::error::CliError;
use crate::exit::End;
use crate::printer::{Output, Printer};
use crate::terminal_text::quoted;

pub(super) async fn docker(command: DockerCommand) -> Result<End, CliError> {
    match command {
        DockerCommand::Prune(options) => prune(options).await,
    }
}

async fn prune(options: PruneArgs) -> Result<End, CliError> {
    let printer = Printer::new(Output::Human);
    let engine = Docker::connect().await.map_err(RuntimeError::from)?;
    let pruned = engine.prune(options.images).await.map_err(RuntimeError::from)?;
    let removed = [("container", &pruned.containers), ("volume", &pruned.volumes), ("image", &pruned.images)];
    for (kind, names) in removed {
        for name in names {
            printer.text(&format!("removed {kind} {}\n", quoted(name)))?;
        }
    }
    if removed.iter().all(|(_, names)| names.is_empty()) {
        printer.note("there was nothing to remove")?;
    }
    if pruned.in_use > 0 {
        printer.note(&format!("{} containers are in use and stay", pruned.in_use))?;
    }
    Ok(End::Done)
}
