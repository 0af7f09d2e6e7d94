//! `belljar cache`: shows and removes the packages that are kept for sandboxes.

use std::io::{self, IsTerminal};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::anyhow;
use belljar::Fault;
use belljar::engine::builder::{Inventory, KeptLayer, LayerError, LayerStore, Prune, Pruned};
use belljar::engine::provision::default_cache_dir;
use indicatif::HumanBytes;
use serde::Serialize;

use crate::args::{CacheCommand, ClearArgs, PruneCacheArgs};
use crate::error::CliError;
use crate::exit::End;
use crate::printer::{Output, Printer};
use crate::progress::without_hashes;
use crate::terminal_text::quoted;

pub(super) async fn cache(command: CacheCommand) -> Result<End, CliError> {
    let cache = default_cache_dir()
        .ok_or_else(|| anyhow!("there is no cache directory: set BELLJAR_CACHE or HOME"))?;
    let store = LayerStore::in_cache(&cache);
    let printer = Printer::new(Output::Human);
    match command {
        CacheCommand::Ls(options) => {
            let kept = store.inventory().map_err(failed)?;
            if options.json { printer.json(&Kept::of(&kept))? } else { list(&printer, &kept)? }
        }
        CacheCommand::Size(options) => {
            let kept = store.inventory().map_err(failed)?;
            match options.json {
                true => printer.json(&Size {
                    bytes: kept.bytes,
                    layers: kept.layers.len(),
                    wheels: kept.wheels,
                })?,
                false => printer.text(&format!("{}\n", HumanBytes(kept.bytes)))?,
            }
        }
        CacheCommand::Prune(PruneCacheArgs { older_than, dry_run, json }) => {
            remove(&store, &printer, Prune { unused_for: older_than, at_most: usize::MAX, dry_run }, json)?;
        }
        CacheCommand::Clear(options) => clear(&store, &printer, &options)?,
    }
    Ok(End::Done)
}

fn clear(store: &LayerStore, printer: &Printer, options: &ClearArgs) -> Result<(), CliError> {
    let all = Prune { unused_for: Duration::ZERO, at_most: usize::MAX, dry_run: true };
    if !options.yes && !options.dry_run {
        let would = store.prune(all).map_err(failed)?;
        if would.layers.is_empty() && would.wheels == 0 {
            return shown(printer, &would, (false, options.json));
        }
        if !io::stdin().is_terminal() || !printer.has_audience() {
            return Err(anyhow!("nobody can be asked here: clear the cache with --yes").into());
        }
        let (layers, room) = (count(would.layers.len(), "set"), HumanBytes(would.bytes));
        printer.prompt(&format!("Remove {layers} of packages ({room})? [y/N] "))?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).map_err(CliError::system("read the answer"))?;
        if !["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()) {
            printer.note("nothing was removed")?;
            return Ok(());
        }
    }
    remove(store, printer, Prune { dry_run: options.dry_run, ..all }, options.json)
}

fn remove(store: &LayerStore, printer: &Printer, prune: Prune, json: bool) -> Result<(), CliError> {
    let pruned = store.prune(prune).map_err(failed)?;
    shown(printer, &pruned, (prune.dry_run, json))
}

fn shown(printer: &Printer, pruned: &Pruned, (dry_run, json): (bool, bool)) -> Result<(), CliError> {
    if json {
        let removed = pruned.layers.iter().map(Row::of).collect();
        let (bytes, wheels, in_use) = (pruned.bytes, pruned.wheels, pruned.in_use);
        return Ok(printer.json(&Removed { removed, wheels, bytes, in_use, dry_run })?);
    }
    let verb = if dry_run { "would remove" } else { "removed" };
    for layer in &pruned.layers {
        printer.text(&format!("{verb} {} (Python {})\n", names(layer), layer.python))?;
    }
    if pruned.layers.is_empty() && pruned.wheels == 0 {
        printer.note("there is nothing to remove")?;
    } else {
        let (layers, wheels) = (count(pruned.layers.len(), "set"), count(pruned.wheels, "wheel"));
        printer.note(&format!("{verb} {layers} of packages and {wheels}: {}", HumanBytes(pruned.bytes)))?;
    }
    if pruned.in_use > 0 {
        let stay = if pruned.in_use == 1 { "is in use and stays" } else { "are in use and stay" };
        printer.note(&format!("{} of packages {stay}", count(pruned.in_use, "set")))?;
    }
    Ok(())
}

fn list(printer: &Printer, kept: &Inventory) -> Result<(), CliError> {
    let now = SystemTime::now();
    let mut rows = vec![["LAST USED", "SIZE", "PYTHON", "PACKAGES", "ASKED FOR"].map(str::to_owned)];
    for layer in &kept.layers {
        let last = if layer.in_use { "in use".into() } else { ago(now, layer.last_used) };
        let size = HumanBytes(layer.bytes).to_string();
        rows.push([last, size, layer.python.clone(), layer.distributions.len().to_string(), names(layer)]);
    }
    let widths: [usize; 5] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    });
    if kept.layers.is_empty() && kept.wheels == 0 {
        return Ok(printer.note("no packages are kept")?);
    }
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        printer.text(&format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end()))?;
    }
    let wheels = count(kept.wheels, "wheel");
    printer.note(&format!(
        "{} in all; {wheels} kept, and shared by those that need them",
        HumanBytes(kept.bytes)
    ))?;
    Ok(())
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// What was asked for. The caller of some other program may have chosen the words.
fn names(layer: &KeptLayer) -> String {
    match layer.requirements.is_empty() {
        true => format!("{} (damaged)", &layer.key[..12]),
        false => {
            let names: Vec<_> = layer.requirements.iter().map(|each| without_hashes(each)).collect();
            quoted(&names.join(", ")).into_owned()
        }
    }
}

fn ago(now: SystemTime, then: SystemTime) -> String {
    const A_DAY: u64 = 24 * 60 * 60;
    match now.duration_since(then).unwrap_or_default().as_secs() / A_DAY {
        0 => "today".into(),
        1 => "yesterday".into(),
        days => format!("{days} days ago"),
    }
}

/// A failure of the machine's must not look like the user's.
fn failed(error: LayerError) -> CliError {
    match (error.fault(), error) {
        (Fault::Backend, LayerError::Store { action, path, source }) => {
            let source = io::Error::new(source.kind(), format!("{action} {}: {source}", path.display()));
            CliError::System { action: "manage the cache", source }
        }
        (_, error) => CliError::Input(error.into()),
    }
}

#[derive(Serialize)]
struct Kept<'a> {
    layers: Vec<Row<'a>>,
    wheels: usize,
    bytes: u64,
}

impl<'a> Kept<'a> {
    fn of(kept: &'a Inventory) -> Self {
        let layers = kept.layers.iter().map(Row::of).collect();
        Self { layers, wheels: kept.wheels, bytes: kept.bytes }
    }
}

#[derive(Serialize)]
struct Row<'a> {
    key: &'a str,
    requirements: &'a [String],
    python: &'a str,
    packages: Vec<String>,
    bytes: u64,
    /// Seconds since 1970.
    last_used: u64,
    in_use: bool,
}

impl<'a> Row<'a> {
    fn of(layer: &'a KeptLayer) -> Self {
        let package =
            |each: &belljar::engine::builder::Distribution| format!("{}=={}", each.name, each.version);
        Self {
            key: &layer.key,
            requirements: &layer.requirements,
            python: &layer.python,
            packages: layer.distributions.iter().map(package).collect(),
            bytes: layer.bytes,
            last_used: layer.last_used.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            in_use: layer.in_use,
        }
    }
}

#[derive(Serialize)]
struct Size {
    bytes: u64,
    layers: usize,
    wheels: usize,
}

#[derive(Serialize)]
struct Removed<'a> {
    removed: Vec<Row<'a>>,
    wheels: usize,
    bytes: u64,
    in_use: usize,
    dry_run: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_use_is_told_in_days() {
        let now = UNIX_EPOCH + Duration::from_secs(100 * 24 * 60 * 60);
        let hours = |hours: u64| now - Duration::from_secs(hours * 60 * 60);
        for (then, expected) in [
            (hours(5), "today"),
            (hours(30), "yesterday"),
            (hours(24 * 31), "31 days ago"),
            (now + Duration::from_secs(9), "today"),
        ] {
            assert_eq!(ago(now, then), expected);
        }
    }
}
