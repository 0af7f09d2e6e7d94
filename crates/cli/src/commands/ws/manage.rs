//! Makes, lists, forks, compares and removes workspaces.

use std::fs;
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use belljar::engine::EntryKind;
use belljar::program::WorkspaceName;
use belljar::workspace::{Change, Difference, OpenWorkspace, WorkspaceError, WorkspacePolicy};
use serde::Serialize;

use super::saving::MOST_ENTRIES;
use super::scene::Scene;
use crate::args::{DiffArgs, ForkArgs, LsArgs, NewArgs, RmArgs};
use crate::error::CliError;
use crate::exit::End;
use crate::terminal_text::quoted;
use crate::units;

pub(super) async fn new(scene: &Scene<'_>, options: &NewArgs) -> Result<End, CliError> {
    refuse_taken(scene, &options.name)?;
    let max_disk_bytes = options.max_disk.unwrap_or(0).saturating_mul(1 << 20);
    let policy = WorkspacePolicy { max_disk_bytes, ..WorkspacePolicy::default() };
    scene.workspaces.workspace_with(&options.name, policy).await?;
    Ok(End::Done)
}

/// Refuses a name that none can have, and one that another has.
fn refuse_taken(scene: &Scene<'_>, name: &str) -> Result<(), CliError> {
    WorkspaceName::new(name).map_err(anyhow::Error::from)?;
    match scene.workspaces.find(name) {
        Ok(_) => {
            Err(anyhow!("there is a workspace {name:?} already; choose another name, or remove it first")
                .into())
        }
        Err(WorkspaceError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A line of the list.
#[derive(Serialize)]
struct Row {
    name: String,
    /// Seconds since 1970, where the file system knows.
    created: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// What it may hold. 0 is as much as the disk has.
    max_disk_bytes: u64,
    path: String,
}

#[derive(Serialize)]
struct List {
    workspaces: Vec<Row>,
}

pub(super) async fn ls(scene: &Scene<'_>, options: &LsArgs) -> Result<End, CliError> {
    let mut list = List { workspaces: Vec::new() };
    for (name, policy) in scene.workspaces.list()? {
        // It may have been removed meanwhile.
        let Ok(workspace) = scene.workspaces.find(&name) else { continue };
        let path = workspace.workspace().path.clone();
        let created = fs::metadata(&path).and_then(|found| found.created()).ok();
        let created = created.and_then(|when| when.duration_since(SystemTime::UNIX_EPOCH).ok());
        let size_bytes = if options.size { Some(size(&workspace).await?) } else { None };
        let created = created.map(|since| since.as_secs());
        let max_disk_bytes = policy.max_disk_bytes;
        list.workspaces.push(Row { name, created, size_bytes, max_disk_bytes, path });
    }
    if options.json {
        scene.printer.json(&list)?;
        return Ok(End::Done);
    }
    for row in &list.workspaces {
        let age = row.created.map_or_else(String::new, age);
        let size = row.size_bytes.map_or_else(String::new, |bytes| format!("{:>12}  ", units::shown(bytes)));
        let line = format!("{:<24}  {size}{age}", quoted(&row.name));
        scene.printer.text(&format!("{}\n", line.trim_end()))?;
    }
    Ok(End::Done)
}

/// How many bytes its files have.
async fn size(workspace: &OpenWorkspace) -> Result<u64, CliError> {
    let mut files = workspace.files()?;
    let listing = files.list(MOST_ENTRIES).await.context("cannot look through the workspace")?;
    Ok(listing.entries.iter().filter(|entry| entry.kind == EntryKind::File).map(|entry| entry.size).sum())
}

/// How long ago something was made, for people.
fn age(created: u64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (number, unit) = match now.saturating_sub(created) {
        seconds @ 0..120 => (seconds, "seconds"),
        seconds @ 120..7200 => (seconds / 60, "minutes"),
        seconds @ 7200..172_800 => (seconds / 3600, "hours"),
        seconds => (seconds / 86_400, "days"),
    };
    format!("{number} {unit} ago")
}

pub(super) async fn fork(scene: &Scene<'_>, options: &ForkArgs) -> Result<End, CliError> {
    let workspace = scene.find(&options.name)?;
    refuse_taken(scene, &options.new)?;
    workspace.fork(&options.new).await?;
    Ok(End::Done)
}

#[derive(Serialize)]
struct Differences {
    differences: Vec<Difference>,
}

pub(super) async fn diff(scene: &Scene<'_>, options: &DiffArgs) -> Result<End, CliError> {
    let (one, other) = (scene.find(&options.one)?, scene.find(&options.other)?);
    let differences = one.diff(&other).await?;
    if options.json {
        scene.printer.json(&Differences { differences })?;
        return Ok(End::Done);
    }
    for Difference { path, change, .. } in differences {
        let mark = match change {
            Change::Added => '+',
            Change::Removed => '-',
            Change::Changed => '~',
        };
        scene.printer.text(&format!("{mark} {}\n", quoted(&path)))?;
    }
    Ok(End::Done)
}

pub(super) async fn rm(scene: &Scene<'_>, options: &RmArgs) -> Result<End, CliError> {
    if !options.force {
        // Before anything is removed.
        for name in &options.names {
            scene.find(name)?;
        }
    }
    for name in &options.names {
        scene.workspaces.remove(name).await?;
    }
    Ok(End::Done)
}
