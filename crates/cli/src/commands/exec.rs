//! `belljar exec`: one program in a workspace that is gone afterwards.
//!
//! ```text
//!  a workspace ── files and source put ── compile ── fork, if --out ── run ── what differs, saved
//! ```

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use belljar::Verdict;
use belljar::config::GuestPath;
use belljar::engine::{random_hex, read_file, real_path};
use belljar::files::Stdin;
use belljar::workspace::{
    Change, CodeBlock, GlobSet, Language, OpenWorkspace, RunProgramSpec, Streaming, WorkspaceError,
    WorkspacePolicy, plan_block,
};

use super::ws::saving::{Saved, list, save};
use super::ws::scene::{Scene, settings_of_programs};
use crate::args::ExecArgs;
use crate::data;
use crate::error::CliError;
use crate::exit::End;
use crate::files::given_file;
use crate::interrupt::Interrupts;
use crate::printer::{Output, Printer};
use crate::program::{self, input};
use crate::script;
use crate::terminal_text::quoted;

pub(super) async fn exec(options: ExecArgs, verbose: bool) -> Result<End, CliError> {
    if options.source.is_none() && options.args.is_empty() {
        return Err(anyhow!("nothing to run: give FILE, or a command after `--`").into());
    }
    let printer = Printer::new(if options.json { Output::Json } else { Output::Human });
    // Until the scene is closed.
    let place = data::passing_workspaces(options.engine.name)?;
    let settings = settings_of_programs(&options.sandbox, options.engine.name)?;
    let mut interrupts = Interrupts::listen()?;
    let opening = Scene::of_programs(place.path.clone(), settings, (&printer, verbose));
    let scene = tokio::select! {
        scene = opening => scene?,
        interrupt = interrupts.next() => return Ok(End::Interrupted(interrupt)),
    };
    let outcome = in_scene(&scene, &options, &mut interrupts).await;
    scene.close().await;
    outcome
}

async fn in_scene(
    scene: &Scene<'_>,
    options: &ExecArgs,
    interrupts: &mut Interrupts,
) -> Result<End, CliError> {
    scene.warn().await?;
    forget_old(scene).await;
    let name = format!("exec-{}", random_hex());
    // What `--disk` says of scripts holds for programs, too.
    let max_disk_bytes = scene.settings.blueprint.config.scratch_size_mb << 20;
    let policy = WorkspacePolicy { max_disk_bytes, ..WorkspacePolicy::default() };
    let workspace = scene.workspaces.workspace_with(&name, policy).await?;
    let held = workspace.hold()?;
    let outcome = in_workspace(scene, &workspace, options, interrupts).await;
    drop(held);
    let before = format!("{name}-before");
    for name in [&before, &name] {
        scene.workspaces.remove(name).await?;
    }
    outcome
}

/// Removes what commands that were killed have left. Any other holds its own.
async fn forget_old(scene: &Scene<'_>) {
    /// Long enough to begin to hold it.
    const OLD: Duration = Duration::from_secs(60);
    for (name, _) in scene.workspaces.list().unwrap_or_default() {
        let Ok(workspace) = scene.workspaces.find(&name) else { continue };
        let made = fs::metadata(&workspace.workspace().path).and_then(|found| found.modified());
        let age = made.ok().and_then(|made| SystemTime::now().duration_since(made).ok());
        if age.is_some_and(|age| age > OLD) {
            let _ = workspace.remove().await;
        }
    }
}

async fn in_workspace(
    scene: &Scene<'_>,
    workspace: &OpenWorkspace,
    options: &ExecArgs,
    interrupts: &mut Interrupts,
) -> Result<End, CliError> {
    let printer = scene.printer;
    for option in &options.files.given {
        let (path, name) = given_file(option).with_context(|| format!("--file {option:?}"))?;
        workspace.put_from(&path, &name).await?;
    }
    let words = match &options.source {
        None => options.args.clone(),
        Some(source) => {
            let prepared = tokio::select! {
                prepared = prepared(workspace, source, options) => prepared?,
                interrupt = interrupts.next() => return Ok(End::Interrupted(interrupt)),
            };
            let Some((compile, mut run)) = prepared else {
                return Err(anyhow!("{} is not text", source.display()).into());
            };
            if let Some(compile) = compile {
                let streaming = Streaming { keeps_output: options.json, ..Streaming::default() };
                let compiled =
                    program::run(workspace, words(compile), streaming, (printer, interrupts)).await?;
                let compiled = match compiled {
                    Ok(compiled) => compiled,
                    Err(interrupt) => return Ok(End::Interrupted(interrupt)),
                };
                if compiled.end.result.verdict != Verdict::Ok {
                    if options.json {
                        printer.json(&compiled.result)?;
                    }
                    return program::tell(&compiled, &scene.settings, printer);
                }
            }
            run.extend(options.args.iter().cloned());
            run
        }
    };
    let before = match &options.files.out {
        Some(_) => Some(workspace.fork(&format!("{}-before", workspace.id())).await?),
        None => None,
    };
    let _held = before.as_ref().map(OpenWorkspace::hold).transpose()?;
    let stdin = match options.source.as_deref() {
        Some(source) if source == Path::new("-") => Stdin::Empty,
        _ => input::stdin(&options.input),
    };
    let streaming = Streaming { stdin, keeps_output: options.json, ..Streaming::default() };
    let ended = program::run(workspace, self::words(words), streaming, (printer, interrupts)).await?;
    let ended = match ended {
        Ok(ended) => ended,
        Err(interrupt) => return Ok(End::Interrupted(interrupt)),
    };
    if let (Some(directory), Some(before)) = (&options.files.out, before) {
        save_new(&before, workspace, directory, (options, printer)).await?;
    }
    if options.json {
        printer.json(&ended.result)?;
    }
    program::tell(&ended, &scene.settings, printer)
}

fn words(words: Vec<String>) -> RunProgramSpec {
    let mut words = words.into_iter();
    RunProgramSpec::new(words.next().unwrap_or_default(), words)
}

type Commands = (Option<Vec<String>>, Vec<String>);

/// Puts a source into the workspace. Returns how it is compiled and run. `None` if it is not text.
async fn prepared(
    workspace: &OpenWorkspace,
    source: &Path,
    options: &ExecArgs,
) -> Result<Option<Commands>, CliError> {
    let language = language_of(source, options.lang.as_deref())?;
    let place = || source.display().to_string();
    let bytes = match source == Path::new("-") {
        true => {
            let read = || {
                let mut bytes = Vec::new();
                io::stdin().read_to_end(&mut bytes).map(|_| bytes)
            };
            input::on_a_thread(read).await.context("cannot read stdin")?
        }
        false => real_path(source).and_then(|real| read_file(&real, script::LONGEST)).with_context(place)?,
    };
    let Ok(code) = String::from_utf8(bytes) else { return Ok(None) };
    let found = found(workspace, language).await?;
    let block = CodeBlock { code, language: language.name().to_owned() };
    let plan = plan_block(0, &block, |program| found.iter().any(|name| name == program))?;
    // The program knows itself by the name that the user knows, where nothing depends on another.
    let own = source.file_name().and_then(|name| name.to_str()).filter(|name| !name.starts_with('-'));
    let usual = format!("code_0.{}", language.extension());
    let renamed = |word: String| match own {
        Some(own) if word == usual => own.to_owned(),
        _ => word,
    };
    for mut file in plan.files {
        file.path = renamed(file.path);
        workspace.put(&file.path, file.content).await?;
    }
    let all = |words: Vec<String>| words.into_iter().map(renamed).collect::<Vec<_>>();
    Ok(Some((plan.compile.map(all), all(plan.run))))
}

fn language_of(source: &Path, named: Option<&str>) -> Result<&'static Language, CliError> {
    let known = || Language::all().iter().map(Language::name).collect::<Vec<_>>().join(", ");
    if let Some(name) = named {
        let found = Language::named(name);
        return found.ok_or_else(|| anyhow!("--lang {name:?}: this version knows {}", known()).into());
    }
    let extension = source.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let by_extension = Language::all().iter().find(|language| language.extension() == extension);
    by_extension.or_else(|| Language::named(extension)).ok_or_else(|| {
        anyhow!("{} is in no language that its name tells; say --lang: {}", source.display(), known()).into()
    })
}

/// Which programs of a language's toolchains the sandbox has.
async fn found(workspace: &OpenWorkspace, language: &Language) -> Result<Vec<String>, CliError> {
    const LOOK: &str =
        r#"for program; do if command -v "$program" >/dev/null 2>&1; then echo "$program"; fi; done"#;
    let args = ["-c", LOOK, "sh"].into_iter().chain(language.programs());
    let looked = workspace.run(RunProgramSpec::new("sh", args)).await?;
    if !looked.is_success() {
        let said = looked.stderr_text().trim().to_owned();
        let failed: Box<dyn std::error::Error + Send + Sync> = said.into();
        return Err(WorkspaceError::engine("sandbox", "look for programs")(failed).into());
    }
    Ok(looked.stdout_text().lines().map(str::to_owned).collect())
}

/// Saves the files that a program has made or changed.
async fn save_new(
    before: &OpenWorkspace,
    after: &OpenWorkspace,
    directory: &Path,
    (options, printer): (&ExecArgs, &Printer),
) -> Result<(), CliError> {
    let wanted = match options.files.collect.is_empty() {
        true => None,
        false => Some(GlobSet::new(&options.files.collect)?),
    };
    let entries = list(&mut *after.files()?).await?;
    let mut all = Vec::new();
    for difference in before.diff(after).await? {
        let is_wanted = wanted.as_ref().is_none_or(|globs| globs.matches(difference.path.as_bytes()));
        if difference.change == Change::Removed || difference.size_after.is_none() || !is_wanted {
            continue;
        }
        let from = GuestPath::new(&difference.path).map_err(anyhow::Error::from)?;
        let entry = entries.iter().find(|entry| entry.path == *difference.path);
        let is_executable = entry.is_some_and(|entry| entry.is_executable);
        all.push(Saved { to: from.clone(), from, is_directory: false, is_executable });
    }
    for place in save(after, directory, &all, false).await? {
        if printer.is_for_people() {
            printer.note(&format!("saved {}", quoted(&place.display().to_string())))?;
        }
    }
    Ok(())
}
