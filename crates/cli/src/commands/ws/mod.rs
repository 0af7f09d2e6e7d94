//! `belljar ws`: workspaces that stay.
//!
//! * `scene` opens the workspaces of an engine, for `belljar exec` too.
//! * `manage` makes, lists, forks, compares and removes.
//! * `files` copies in and out; `saving` writes files of a workspace to this machine.
//! * `collect` finds files by patterns. `run` and `shell` run programs.

mod collect;
mod files;
mod manage;
mod run;
pub(super) mod saving;
pub(super) mod scene;
mod shell;

use self::scene::{Scene, settings_of_programs};
use crate::args::{SandboxArgs, StoreArgs, WsCommand};
use crate::data;
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::Interrupts;
use crate::printer::{Output, Printer};

pub(super) async fn ws(command: WsCommand, verbose: bool) -> Result<End, CliError> {
    let is_json = matches!(&command, WsCommand::Run(options) if options.json);
    let printer = Printer::new(if is_json { Output::Json } else { Output::Human });
    let (store, sandbox) = needs(&command);
    let place = data::workspaces(store.store.as_ref(), store.engine.name)?;
    let engine = store.engine.name;
    let settings = sandbox.map(|sandbox| settings_of_programs(sandbox, engine)).transpose()?;
    let mut interrupts = Interrupts::listen()?;
    let opening = async {
        match settings {
            Some(settings) => Scene::of_programs(place, settings, (&printer, verbose)).await,
            None => Scene::of_files(place, engine, &printer).await,
        }
    };
    let scene = tokio::select! {
        scene = opening => scene?,
        interrupt = interrupts.next() => return Ok(End::Interrupted(interrupt)),
    };
    let outcome = match &command {
        WsCommand::Run(options) => run::run(&scene, options, &mut interrupts).await,
        WsCommand::Shell(options) => shell::shell(&scene, options, &mut interrupts).await,
        other => tokio::select! {
            outcome = without_programs(&scene, other) => outcome,
            interrupt = interrupts.next() => Ok(End::Interrupted(interrupt)),
        },
    };
    scene.close().await;
    outcome
}

async fn without_programs(scene: &Scene<'_>, command: &WsCommand) -> Result<End, CliError> {
    match command {
        WsCommand::New(options) => manage::new(scene, options).await,
        WsCommand::Ls(options) => manage::ls(scene, options).await,
        WsCommand::Fork(options) => manage::fork(scene, options).await,
        WsCommand::Diff(options) => manage::diff(scene, options).await,
        WsCommand::Rm(options) => manage::rm(scene, options).await,
        WsCommand::Put(options) => files::put(scene, options).await,
        WsCommand::Get(options) => files::get(scene, options).await,
        WsCommand::Collect(options) => collect::collect(scene, options).await,
        WsCommand::Run(_) | WsCommand::Shell(_) => Ok(End::Done),
    }
}

/// Where a command's workspaces are, and what its programs may do, if it runs any.
fn needs(command: &WsCommand) -> (&StoreArgs, Option<&SandboxArgs>) {
    match command {
        WsCommand::New(options) => (&options.store, None),
        WsCommand::Ls(options) => (&options.store, None),
        WsCommand::Put(options) => (&options.store, None),
        WsCommand::Get(options) => (&options.store, None),
        WsCommand::Run(options) => (&options.store, Some(&options.sandbox)),
        WsCommand::Shell(options) => (&options.store, Some(&options.sandbox)),
        WsCommand::Collect(options) => (&options.store, None),
        WsCommand::Fork(options) => (&options.store, None),
        WsCommand::Diff(options) => (&options.store, None),
        WsCommand::Rm(options) => (&options.store, None),
    }
}
