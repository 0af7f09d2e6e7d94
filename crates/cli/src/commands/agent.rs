//! `belljar agent`: a model writes scripts for a task, until it is done.

use std::time::Duration;

use anyhow::anyhow;
use belljar::agent::{
    AgentError, AgentEvent, AgentRun, GaveUp, HttpModel, Outcome, Provider, RunRecord, Task, ToolOrchestrator,
};
use belljar::{ExecutionRequest, ExitCode, Runtime, Secret};
use tokio::sync::mpsc::Sender;

use super::run::prepare;
use crate::agent_view::{View, conclude};
use crate::args::{AgentArgs, ModelArgs};
use crate::env;
use crate::error::CliError;
use crate::exit::End;
use crate::files;
use crate::follow::Printing;
use crate::interrupt::Interrupts;
use crate::mcp::Servers;
use crate::printer::{Output, Printer};
use crate::settings::Settings;
use crate::terminal_text::quoted;

pub(super) async fn agent(options: AgentArgs, verbose: bool) -> Result<End, CliError> {
    let output = match (options.json, options.events) {
        (true, _) => Output::Json,
        (_, true) => Output::Events,
        _ => Output::Human,
    };
    let printer = Printer::new(output).saving_displays(options.files.out.is_some());
    let settings = Settings::resolve(&options.sandbox, options.engine.name)?;
    let task = task(&options, &settings)?;
    let model = model(&options.model)?;
    let mut interrupts = Interrupts::listen()?;
    let runtime = settings.runtime().await?;
    let work = Work { options: &options, settings: &settings, printer: &printer, output, verbose };
    let mut servers = Servers::default();
    let outcome = work.carry_out((&runtime, &mut servers), model, task, &mut interrupts).await;
    runtime.shutdown().await;
    servers.close().await;
    outcome
}

/// What is to be done, and how it is shown.
struct Work<'a> {
    options: &'a AgentArgs,
    settings: &'a Settings,
    printer: &'a Printer,
    output: Output,
    verbose: bool,
}

impl Work<'_> {
    async fn carry_out(
        &self,
        (runtime, servers): (&Runtime, &mut Servers),
        model: HttpModel,
        task: Task,
        interrupts: &mut Interrupts,
    ) -> Result<End, CliError> {
        let Self { options, settings, printer, verbose, .. } = *self;
        let preparing = async {
            let tools = servers.connect(&options.mcp, printer, verbose).await?;
            prepare(runtime, settings, tools, (printer, verbose)).await
        };
        let sandbox = tokio::select! {
            sandbox = preparing => sandbox?,
            interrupt = interrupts.next() => return Ok(End::Interrupted(interrupt)),
        };
        let mode = options.mode.into();
        let orchestrator = ToolOrchestrator::new(sandbox, model).mode(mode).limited(|limits| {
            limits.attempts = options.max_attempts;
            limits.steps = options.max_steps;
            limits.time = options.max_time;
            limits.tokens = options.max_tokens;
        });
        self.follow(orchestrator.stream(task), interrupts).await
    }

    async fn follow(&self, run: AgentRun, interrupts: &mut Interrupts) -> Result<End, CliError> {
        /// How long to wait for the run, and for a reader who no longer takes the last events.
        const LAST_EVENTS: Duration = Duration::from_secs(8);
        let mut view = View::new(self.printer.clone(), self.output, self.options.mode.into(), self.verbose);
        let (events, printing) = Printing::start(move |event: &AgentEvent| view.show(event))?;
        let handle = run.handle();
        let mut running = std::pin::pin!(printing.beside(hand_on(run, events)));
        let (record, interrupt) = tokio::select! {
            record = &mut running => (record?, None),
            interrupt = interrupts.next() => {
                handle.cancel();
                tokio::select! {
                    record = &mut running => (record?, Some(interrupt)),
                    () = tokio::time::sleep(LAST_EVENTS) => return Ok(End::Interrupted(interrupt)),
                    // Whoever asks twice does not want the record either.
                    again = interrupts.next() => return Ok(End::Interrupted(again)),
                }
            }
        };
        let record = record.map_err(|error| match error {
            AgentError::Runtime(error) => CliError::Runtime(error),
            other => CliError::Input(other.into()),
        })?;
        self.save(&record).await?;
        conclude(&record, self.printer, self.output)?;
        Ok(match interrupt {
            Some(interrupt) => End::Interrupted(interrupt),
            None => End::Tasked(code(&record)),
        })
    }

    async fn save(&self, record: &RunRecord) -> Result<(), CliError> {
        let Some(directory) = &self.options.files.out else { return Ok(()) };
        let displays: Vec<_> = record
            .steps
            .iter()
            .filter_map(|step| step.result.as_ref())
            .flat_map(|it| it.displays.clone())
            .collect();
        let (mut lines, mut warnings) = files::save_collected(directory, record.files()).await;
        let shown = files::save_displays(directory, &displays, record.files()).await;
        lines.extend(shown.0);
        warnings.extend(shown.1);
        for warning in warnings {
            self.printer.warning(&quoted(&warning))?;
        }
        for line in lines.iter().filter(|_| self.printer.is_for_people()) {
            self.printer.note(&quoted(line))?;
        }
        Ok(())
    }
}

/// Hands on all events, at the printer's pace, and gives the record.
async fn hand_on(mut run: AgentRun, events: Sender<AgentEvent>) -> Result<RunRecord, AgentError> {
    while let Some(event) = run.next().await {
        // Fails only if nobody prints any more, which ends everything.
        if events.send(event).await.is_err() {
            break;
        }
    }
    drop(events);
    run.record().await
}

fn task(options: &AgentArgs, settings: &Settings) -> Result<Task, CliError> {
    let scratch_mb = settings.blueprint.config.scratch_size_mb;
    let mut request = files::add(ExecutionRequest::new(""), &options.files, scratch_mb)?;
    // An attempt that fails leaves nothing there: files are saved when the task is over.
    request.collect_into = None;
    if options.task.trim().is_empty() {
        return Err(anyhow!("the task is empty: say what is to be done").into());
    }
    Ok(Task::new(&options.task).with_request(request))
}

/// The model, with a key that is meant for its server. A provider's own key goes nowhere else.
fn model(options: &ModelArgs) -> Result<HttpModel, CliError> {
    let provider = options.provider();
    let theirs = match provider {
        Provider::Anthropic => env::ANTHROPIC_API_KEY,
        _ => env::OPENAI_API_KEY,
    };
    let given = |name| std::env::var(name).ok().filter(|key| !key.is_empty());
    let key = given(env::MODEL_KEY).or_else(|| given(theirs).filter(|_| options.base_url.is_none()));
    let mut model = HttpModel::of(provider, &options.model);
    match (key, &options.base_url) {
        (Some(key), _) => model = model.key(Secret::new(key.trim())),
        (None, None) => {
            let ours = env::MODEL_KEY;
            return Err(anyhow!("there is no key for the model: set {theirs} or {ours}, or give --base-url of a server that wants none").into());
        }
        (None, Some(_)) => {}
    }
    if let Some(url) = &options.base_url {
        model = model.base_url(url);
    }
    Ok(model.build().map_err(anyhow::Error::from)?)
}

/// How the command ends: as the last script did, where there is one.
fn code(record: &RunRecord) -> ExitCode {
    match &record.outcome {
        Outcome::Succeeded => ExitCode::Ok,
        Outcome::Cancelled => ExitCode::Interrupted,
        Outcome::ModelFailed { is_callers: true, .. } => ExitCode::Usage,
        Outcome::ModelFailed { .. } => ExitCode::Infra,
        Outcome::GaveUp { reason: GaveUp::Time } => ExitCode::Timeout,
        _ => match record.last_result().map(|result| ExitCode::from(&result.verdict)) {
            Some(ExitCode::Ok) | None => ExitCode::ScriptFailed,
            Some(code) => code,
        },
    }
}
