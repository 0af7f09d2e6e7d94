//! `belljar run`: one script, one result.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use belljar::config::{ExecutionMode, ResourceLimits};
use belljar::engine::random_hex;
use belljar::{
    Event, EventKind, ExecutionId, ExecutionRequest, ExecutionResult, Runtime, Sandbox, ToolRegistry, Verdict,
};

use super::missing_module;
use crate::args::RunArgs;
use crate::error::CliError;
use crate::exit::End;
use crate::files;
use crate::follow::{follow, hand_on};
use crate::interrupt::{Interrupt, Interrupts};
use crate::mcp::Servers;
use crate::metadata;
use crate::printer::{Advice, Output, Printer};
use crate::progress::Preparation;
use crate::script;
use crate::settings::Settings;
use crate::terminal_text::quoted;

pub(super) async fn run(options: RunArgs, verbose: bool) -> Result<End, CliError> {
    let output = match (options.json, options.events) {
        (true, _) => Output::Json,
        (_, true) => Output::Events,
        _ => Output::Human,
    };
    let printer = Printer::new(output).saving_displays(options.files.out.is_some());
    let mut settings = Settings::resolve(&options.sandbox, options.engine.name)?;
    let request = request(&options, &settings, &printer)?;
    let metadata = metadata::honour(&request, &mut settings)?;
    let mut interrupts = Interrupts::listen()?;
    let runtime = tokio::select! {
        runtime = settings.runtime() => runtime?,
        interrupt = interrupts.next() => return cancelled(&request, &settings, &printer, interrupt),
    };
    let mut servers = Servers::default();
    let outcome = async {
        let preparing = async {
            let tools = servers.connect(&options.mcp, &printer, verbose).await?;
            prepare(&runtime, &settings, tools, (&printer, verbose)).await
        };
        let sandbox = tokio::select! {
            sandbox = preparing => sandbox?,
            interrupt = interrupts.next() => return cancelled(&request, &settings, &printer, interrupt),
        };
        metadata.map_or(Ok(()), |metadata| metadata.check(&sandbox.report().python))?;
        run_and_show(&sandbox, &settings, request, (&printer, &mut interrupts, &options)).await
    };
    let outcome = outcome.await;
    runtime.shutdown().await;
    servers.close().await;
    outcome
}

/// The end of a run whose script had not begun. Programs that read the result, or events, get one.
fn cancelled(
    request: &ExecutionRequest,
    settings: &Settings,
    printer: &Printer,
    interrupt: Interrupt,
) -> Result<End, CliError> {
    if !printer.is_for_people() {
        let id = request.execution_id.clone().unwrap_or_else(made_up_id);
        let mut result = ExecutionResult::new(id.clone(), Verdict::Cancelled, settings.engine.name());
        result.error = Some("The run was cancelled before its script began".to_owned());
        let result = Arc::new(result);
        printer.event(&Event::new(id, 0, EventKind::Ended { result: Arc::clone(&result) }))?;
        printer.result(&result, Advice::Nothing)?;
    }
    Ok(End::Interrupted(interrupt))
}

/// A name for a run that never got as far as the library, which gives names otherwise.
fn made_up_id() -> ExecutionId {
    ExecutionId::new(format!("exec-{}", random_hex()))
}

fn request(options: &RunArgs, settings: &Settings, printer: &Printer) -> Result<ExecutionRequest, CliError> {
    let file = options.file.as_deref();
    let unless_said = (!settings.has_mode).then_some(ExecutionMode::Script);
    let mode = options.mode.map(Into::into).or(unless_said);
    let mut request = match &options.code {
        Some(code) => script::given(code, mode)?,
        None if options.module.is_some() => {
            script::module(options.module.as_deref().unwrap_or_default(), mode)?
        }
        None => {
            if script::is_typed(file) {
                printer.note("Type a script; Ctrl-D on a line of its own runs it.")?;
            }
            script::read(file, mode)?
        }
    };
    request = request.with_args(options.args.iter().cloned()).with_stdin(files::stdin(options));
    request = files::add(request, &options.files, settings.blueprint.config.scratch_size_mb)?;
    files::refuse_another_script(&request, file)?;
    request.check().map_err(anyhow::Error::from)?;
    if let Some(id) = &options.execution_id {
        request = request.with_execution_id(id);
    }
    Ok(request)
}

/// Runs the script and shows its events. An interrupt cancels the run, and the events and the
/// result say so.
async fn run_and_show(
    sandbox: &Sandbox,
    settings: &Settings,
    request: ExecutionRequest,
    (printer, interrupts, options): (&Printer, &mut Interrupts, &RunArgs),
) -> Result<End, CliError> {
    /// How long to wait for a reader who no longer takes the last events.
    const LAST_EVENTS: Duration = Duration::from_secs(3);
    let is_program = request.mode == Some(ExecutionMode::Script);
    let execution = sandbox.stream(request);
    let handle = execution.handle();
    let mut running = std::pin::pin!(follow(printer, async |queue| hand_on(execution, queue).await));
    let (result, interrupt) = tokio::select! {
        result = &mut running => (result??, None),
        interrupt = interrupts.next() => {
            handle.cancel();
            match tokio::time::timeout(LAST_EVENTS, running).await {
                Ok(result) => (result??, Some(interrupt)),
                Err(_) => return Ok(End::Interrupted(interrupt)),
            }
        }
    };
    let (displays, unsaved) = match options.files.out.as_deref() {
        Some(directory) => files::save_displays(directory, &result.displays, &result.files).await,
        None => Default::default(),
    };
    for warning in unsaved {
        printer.warning(&quoted(&warning))?;
    }
    if printer.is_for_people() {
        for line in displays.into_iter().chain(result.files.iter().filter_map(files::saved)) {
            printer.note(&quoted(&line))?;
        }
    }
    match interrupt {
        None if is_program && matches!(result.verdict, Verdict::Exited { .. }) => {
            printer.result(&result, Advice::Silence)?;
        }
        None => {
            let near = options.file.as_deref().and_then(Path::parent);
            printer.result(&result, advice(&result, settings, near).into())?;
        }
        Some(_) if printer.is_for_people() => {}
        Some(_) => printer.result(&result, Advice::Nothing)?,
    }
    Ok(match interrupt {
        Some(interrupt) => End::Interrupted(interrupt),
        None if is_program => End::RanProgram(result.verdict),
        None => End::Ran(result.verdict),
    })
}

/// Prepares the sandbox. Shows slow steps and warnings.
pub(super) async fn prepare(
    runtime: &Runtime,
    settings: &Settings,
    tools: ToolRegistry,
    (printer, verbose): (&Printer, bool),
) -> Result<Sandbox, CliError> {
    for warning in &settings.warnings {
        printer.warning(&quoted(warning))?;
    }
    let mut preparation = Preparation::new(printer, verbose);
    let blueprint = settings.blueprint.clone();
    let sandbox = runtime.prepare_with(blueprint, tools, &mut |step| preparation.show(&step)).await;
    drop(preparation);
    let sandbox = sandbox?;
    warn(printer, runtime.engine_name(), &sandbox)?;
    Ok(sandbox)
}

/// Says what whoever uses a sandbox should know.
pub(crate) fn warn(printer: &Printer, engine: &str, sandbox: &Sandbox) -> Result<(), CliError> {
    if engine == "local" && !printer.is_for_people() {
        // A reader of stdout alone finds it in the result's warnings.
        printer.warning("no isolation: --engine local runs scripts as plain subprocesses")?;
    }
    if printer.is_for_people() {
        for warning in &sandbox.report().warnings {
            // The author of the tool or the package may have written a part of it.
            printer.warning(&quoted(warning))?;
        }
    }
    Ok(())
}

/// What to do about a failure, if an option can help. `near` is where the script's file is.
pub(crate) fn advice(result: &ExecutionResult, settings: &Settings, near: Option<&Path>) -> Option<String> {
    let ResourceLimits {
        execution_timeout_sec, cpu_time_sec, memory_mb, pids_limit, max_output_bytes, ..
    } = settings.blueprint.config.resource_limits;
    Some(match &result.verdict {
        Verdict::TimeoutWall => {
            format!("it may take {execution_timeout_sec} s; give it more with --timeout SECS")
        }
        Verdict::TimeoutCpu => {
            let limit = cpu_time_sec.unwrap_or_default();
            format!(
                "it may use {limit} s of processor time; raise resource_limits.cpu_time_sec in the --sandbox file"
            )
        }
        Verdict::Oom => format!("it may use {memory_mb} MiB; give it more with --memory MB"),
        Verdict::NoResult => {
            "end the script with emit_result(…), or run it with --mode script if what it prints is enough"
                .into()
        }
        Verdict::Output => {
            format!("it may write {max_output_bytes} bytes; let it write more with --max-output SIZE")
        }
        Verdict::Pids => {
            format!("it may have {pids_limit} processes and threads; let it have more with --pids N")
        }
        Verdict::Disk => {
            let mebibytes = settings.blueprint.config.scratch_size_mb;
            format!("its files may take {mebibytes} MiB; give it more room with --disk SIZE")
        }
        Verdict::Infra => "this was not the script's doing; see what `belljar doctor` says".into(),
        Verdict::Exception => {
            return missing_module::advice(result.error.as_deref()?, &settings.blueprint.config, near);
        }
        _ => return None,
    })
}
