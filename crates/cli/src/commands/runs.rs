//! `belljar runs`: what a server has run.

use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use belljar::{Event, EventKind, ExecutionResult, OutputStream};
use belljar_server::{HistoryReader, RunFilter, RunSummary};
use serde_json::{Value, json};

use crate::args::{ListRunsArgs, LogsArgs, OneRunArgs, RunsCommand, StateArgs};
use crate::data;
use crate::error::CliError;
use crate::exit::End;
use crate::printer::{Advice, Output, Printer};
use crate::terminal_text::quoted;

/// Events that are read at a time.
const PAGE: usize = 256;

pub(super) async fn runs(command: RunsCommand) -> Result<End, CliError> {
    match command {
        RunsCommand::Ls(options) => ls(options).await?,
        RunsCommand::Show(options) => show(&options).await?,
        RunsCommand::Logs(options) => logs(&options).await?,
    }
    Ok(End::Done)
}

fn open(options: &StateArgs) -> Result<HistoryReader, CliError> {
    let state = data::state(options.state.as_ref())?;
    let reader = HistoryReader::open(&state).map_err(anyhow::Error::from);
    Ok(reader.context("no server has kept anything there, or another user's did; see --state")?)
}

async fn ls(options: ListRunsArgs) -> Result<(), CliError> {
    let printer = Printer::new(Output::Human);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |now| now.as_secs_f64());
    let filter = RunFilter {
        verdict: options.verdict,
        sandbox: options.sandbox,
        since_ms: options.last.map(|seconds| ((now - seconds) * 1000.0) as i64),
        limit: options.limit as usize,
        ..RunFilter::default()
    };
    let runs = open(&options.state)?.list(filter).await.map_err(anyhow::Error::from)?;
    if options.json {
        printer.json(&json!({"runs": runs}))?;
        return Ok(());
    }
    for run in &runs {
        printer.text(&line(run))?;
    }
    Ok(())
}

/// A run in one line.
fn line(run: &RunSummary) -> String {
    let since = Duration::from_millis(u64::try_from(run.started_ms).unwrap_or_default());
    let time = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since);
    let took = run.wall_ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms"));
    let verdict = run.verdict.as_deref().unwrap_or("running");
    format!("{}  {time}  {verdict:<12}  {took:>12}  {}\n", run.id, quoted(&run.sandbox))
}

async fn found(history: &HistoryReader, id: &str) -> Result<(RunSummary, String), CliError> {
    let found = history.find(id).await.map_err(anyhow::Error::from)?;
    found.ok_or_else(|| anyhow!("there is no run {id:?}: `belljar runs ls` lists them").into())
}

async fn show(options: &OneRunArgs) -> Result<(), CliError> {
    let history = open(&options.state)?;
    let (run, script) = found(&history, &options.id).await?;
    let last = history.last_event(&options.id).await.map_err(anyhow::Error::from)?;
    let result = last.filter(|_| run.ended_ms.is_some());
    if options.json {
        let result: Option<Value> = result.and_then(|json| serde_json::from_str(&json).ok());
        let told = json!({"run": run, "script": script, "result": result});
        Printer::new(Output::Json).json(&told)?;
        return Ok(());
    }
    let printer = Printer::new(Output::Human);
    printer.text(&line(&run))?;
    printer.program(OutputStream::Stdout, &format!("{}\n", script.trim_end()))?;
    if let Some(json) = result {
        let result: ExecutionResult = serde_json::from_str(&json).context("its result")?;
        printer.result(&result, Advice::Nothing)?;
    }
    Ok(())
}

async fn logs(options: &LogsArgs) -> Result<(), CliError> {
    let history = open(&options.state)?;
    found(&history, &options.id).await?;
    let printer = Printer::new(if options.events { Output::Events } else { Output::Human });
    let mut next = 0;
    loop {
        let page = history.events(&options.id, next, PAGE).await.map_err(anyhow::Error::from)?;
        if page.is_empty() {
            return Ok(());
        }
        next += page.len() as u64;
        for json in page {
            let event: Event = serde_json::from_str(&json).context("an event of it")?;
            match &event.kind {
                _ if options.events => printer.event(&event)?,
                EventKind::Stdout { text } => printer.program(OutputStream::Stdout, text)?,
                EventKind::Stderr { text } => printer.program(OutputStream::Stderr, text)?,
                _ => {}
            }
        }
    }
}
