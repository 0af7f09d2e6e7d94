//! The workspaces of one engine, open.

use std::path::PathBuf;

use anyhow::anyhow;
use belljar::Runtime;
use belljar::workspace::{OpenWorkspace, WorkspaceError, Workspaces, WorkspacesOptions};

use crate::args::{EngineName, SandboxArgs};
use crate::commands::run::warn;
use crate::error::CliError;
use crate::printer::Printer;
use crate::progress::Preparation;
use crate::settings::Settings;

/// What a command about workspaces works with.
pub(crate) struct Scene<'a> {
    pub(crate) printer: &'a Printer,
    pub(crate) settings: Settings,
    pub(crate) workspaces: Workspaces,
    runtime: Runtime,
}

/// What programs may do. Files are read here, which may have to be waited for: before signals are
/// caught, so that each of them ends the wait.
pub(crate) fn settings_of_programs(sandbox: &SandboxArgs, engine: EngineName) -> Result<Settings, CliError> {
    if !sandbox.tool.is_empty() {
        let scripts = "functions are for scripts in Python; see `belljar run --tool`";
        return Err(anyhow!("--tool: {scripts}").into());
    }
    if sandbox.max_output.is_some() {
        let scripts = "it is for scripts; what a program prints goes where stdout goes, all of it";
        return Err(anyhow!("--max-output: {scripts}").into());
    }
    Ok(Settings::resolve(sandbox, engine)?)
}

impl<'a> Scene<'a> {
    /// Opens the workspaces in a directory, to work with their files.
    pub(crate) async fn of_files(
        store: PathBuf,
        engine: EngineName,
        printer: &'a Printer,
    ) -> Result<Self, CliError> {
        let settings = Settings::resolve(&SandboxArgs::default(), engine)?;
        let runtime = settings.runtime().await?;
        let workspaces = Workspaces::unprepared(&runtime, WorkspacesOptions::new(store))?;
        Ok(Self { printer, settings, workspaces, runtime })
    }

    /// Opens the workspaces in a directory, to run programs in them.
    pub(crate) async fn of_programs(
        store: PathBuf,
        settings: Settings,
        (printer, verbose): (&'a Printer, bool),
    ) -> Result<Self, CliError> {
        let runtime = settings.runtime().await?;
        let mut options = WorkspacesOptions::new(store);
        options.config = settings.blueprint.config.clone();
        let mut preparation = Preparation::new(printer, verbose);
        let opened = Workspaces::open_with(&runtime, options, &mut |step| preparation.show(&step)).await;
        drop(preparation);
        Ok(Self { printer, settings, workspaces: opened?, runtime })
    }

    /// Says what whoever runs a program should know first.
    pub(crate) async fn warn(&self) -> Result<(), CliError> {
        for warning in &self.settings.warnings {
            self.printer.warning(warning)?;
        }
        warn(self.printer, self.runtime.engine_name(), self.workspaces.sandbox().await?)
    }

    /// A workspace that is there.
    pub(crate) fn find(&self, name: &str) -> Result<OpenWorkspace, CliError> {
        match self.workspaces.find(name) {
            Err(WorkspaceError::NotFound { .. }) => Err(self.missing(name)),
            found => Ok(found?),
        }
    }

    pub(crate) fn missing(&self, name: &str) -> CliError {
        let engine = self.runtime.engine_name();
        let place = self.workspaces.store().path().display();
        anyhow!(
            "the {engine} engine has no workspace {name:?} in {place}; make it with `belljar ws new`, or see \
             those there are with `belljar ws ls`"
        )
        .into()
    }

    /// Ends everything.
    pub(crate) async fn close(self) {
        let Self { runtime, workspaces, .. } = self;
        drop(workspaces);
        runtime.shutdown().await;
    }
}
