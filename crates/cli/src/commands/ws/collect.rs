//! Finds files by patterns, and keeps them.

use std::sync::Arc;

use belljar::artifacts::ArtifactContext;
use belljar::config::GuestPath;
use belljar::workspace::{Context, OutputSpec};

use super::saving::{Saved, save};
use super::scene::Scene;
use crate::args::CollectArgs;
use crate::data;
use crate::error::CliError;
use crate::exit::End;
use crate::terminal_text::quoted;
use crate::units;

pub(super) async fn collect(scene: &Scene<'_>, options: &CollectArgs) -> Result<End, CliError> {
    const MOST: usize = 10_000;
    let workspace = scene.find(&options.name)?;
    let mut context = Context::new();
    if options.save {
        let store = data::artifacts(options.artifacts.as_deref())?;
        let session = options.session.session.clone();
        context = context.with(ArtifactContext { service: Some(Arc::new(store)), session });
    }
    // Nothing of a file is in memory, so only their number is limited.
    let spec = OutputSpec {
        globs: options.globs.clone(),
        max_files: MOST,
        max_file_bytes: u64::MAX,
        max_total_bytes: u64::MAX,
        save: options.save,
        name_template: options.prefix.clone(),
        inline: false,
    };
    let manifest = workspace.collect_outputs(&context, spec).await?;
    if let Some(directory) = &options.out {
        let (mut all, mut left) = (Vec::new(), Vec::new());
        for file in &manifest.files {
            // A name that is not text is known as what can be shown of it.
            let path = GuestPath::new(&file.name).ok();
            match path.filter(|_| !file.name.contains(char::REPLACEMENT_CHARACTER)) {
                Some(from) => {
                    let found = workspace.look(&from).await?;
                    let is_executable = found.is_some_and(|(_, is_executable)| is_executable);
                    all.push(Saved { to: from.clone(), from, is_directory: false, is_executable });
                }
                None => left.push(&file.name),
            }
        }
        let written = save(&workspace, directory, &all, options.force).await?;
        for name in left {
            scene.printer.warning(&format!("{} is left out: its name is not text", quoted(name)))?;
        }
        if !options.json {
            for place in written {
                scene.printer.note(&format!("saved {}", quoted(&place.display().to_string())))?;
            }
        }
    }
    if options.json {
        scene.printer.json(&manifest)?;
        return Ok(End::Done);
    }
    for file in &manifest.files {
        let size = units::shown(file.size_bytes);
        match file.saved_as.as_str() {
            "" if options.out.is_some() => {}
            "" => {
                let kind = file.mime_type.split(';').next().unwrap_or_default();
                scene.printer.text(&format!("{}  {kind}, {size}\n", quoted(&file.name)))?;
            }
            name => scene.printer.text(&format!("{}@{}\n", quoted(name), file.version))?,
        }
    }
    if manifest.limits_hit {
        scene.printer.warning(&format!("there are more than {MOST} files; the rest is left out"))?;
    }
    Ok(End::Done)
}
