//! `belljar docker`: manages what is kept on a daemon.

use std::io::{self, IsTerminal};

use anyhow::anyhow;
use belljar::RuntimeError;
use belljar::engine::{Docker, OrphanContainer, Orphans, Pruned};

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
    let can_ask = io::stdin().is_terminal() && io::stdout().is_terminal();
    if !(options.yes || options.dry_run || can_ask) {
        return Err(CliError::Input(anyhow!(
            "nobody can be asked here, because stdin or stdout is no terminal. Add --yes to remove without asking, \
             or --dry-run to see what would be removed"
        )));
    }
    // Connecting usually removes what is certain to be left over. Here the user decides.
    let engine = Docker::new().sweep(false).open().await.map_err(RuntimeError::from)?;
    let orphans = engine.orphans(options.images).await.map_err(RuntimeError::from)?;
    let found = names(&orphans);
    if found.iter().all(|(_, names)| names.is_empty()) {
        printer.note("there is nothing to remove")?;
        return say_in_use(&printer, orphans.in_use);
    }
    if options.dry_run || !options.yes {
        list(&printer, "would remove", &found)?;
    }
    if options.dry_run {
        return say_in_use(&printer, orphans.in_use);
    }
    if !options.yes && !ask(&printer)? {
        printer.note("nothing was removed")?;
        return Ok(End::Done);
    }
    let Pruned { containers, volumes, images, in_use } =
        engine.remove(&orphans).await.map_err(RuntimeError::from)?;
    list(&printer, "removed", &[("container", containers), ("volume", volumes), ("image", images)])?;
    say_in_use(&printer, in_use)
}

/// What was found, by kind, as it is shown.
fn names(orphans: &Orphans) -> [(&'static str, Vec<String>); 3] {
    let containers = orphans.containers.iter().map(OrphanContainer::short_id).map(str::to_owned).collect();
    [("container", containers), ("volume", orphans.volumes.clone()), ("image", orphans.images.clone())]
}

fn list(printer: &Printer, word: &str, things: &[(&str, Vec<String>)]) -> io::Result<()> {
    for (kind, names) in things {
        for name in names {
            printer.text(&format!("{word} {kind} {}\n", quoted(name)))?;
        }
    }
    Ok(())
}

/// Asks whether to go on. Anything but yes is no.
fn ask(printer: &Printer) -> Result<bool, CliError> {
    printer.prompt("Remove these? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(CliError::system("read the answer"))?;
    if !answer.ends_with('\n') {
        printer.text("\n")?;
    }
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn say_in_use(printer: &Printer, in_use: usize) -> Result<End, CliError> {
    if in_use > 0 {
        printer.note(&format!("{in_use} containers are in use and stay"))?;
    }
    Ok(End::Done)
}
