//! A model of Python's that writes scripts, and the orchestrator that runs them.

use std::sync::Arc;

use belljar::agent::{
    AgentMode, Delta, Message, Model, ModelError, Reply as ModelReply, Role, Task, ToolOrchestrator, Vetting,
};
use belljar::engine::BoxFuture;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::ask::{Host, ask};
use crate::call::Call;
use crate::input::option;
use crate::sandbox::{Sandbox, seconds};
use crate::{input, output, process};

/// A model that is a function of Python's: `ask(messages, reply)`, where `reply` takes
/// `{"text", "input_tokens", "output_tokens"}` as JSON.
struct PythonModel {
    name: String,
    host: Host,
    ask: Arc<Py<PyAny>>,
}

fn failed(message: impl Into<String>) -> ModelError {
    ModelError::Failed { reason: message.into() }
}

/// What the function says, read.
fn read(json: &str) -> Result<ModelReply, ModelError> {
    let value: serde_json::Value = serde_json::from_str(json).map_err(|error| failed(error.to_string()))?;
    let text = value["text"].as_str().ok_or_else(|| failed("the model's reply has no text"))?;
    let reply = ModelReply::new(text);
    Ok(match (value["input_tokens"].as_u64(), value["output_tokens"].as_u64()) {
        (Some(read), Some(written)) => reply.with_tokens(read, written),
        _ => reply,
    })
}

impl Model for PythonModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn reply<'a>(
        &'a self,
        messages: &'a [Message],
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let messages: Vec<(&'static str, String)> = messages
            .iter()
            .map(|message| {
                let role = match message.role {
                    Role::System => "system",
                    Role::Assistant => "assistant",
                    _ => "user",
                };
                (role, message.text.clone())
            })
            .collect();
        Box::pin(async move {
            let answer = ask(&self.host, Arc::clone(&self.ask), None, move |ask, reply| {
                Ok(ask.call1((messages, reply))?.unbind())
            });
            let reply = answer.await.map_err(failed).and_then(|json| read(&json))?;
            on_delta(Delta::Text(reply.text.clone()));
            Ok(reply)
        })
    }
}

/// Has a model write scripts for tasks.
#[pyclass(frozen, module = "belljar._belljar")]
pub(crate) struct Orchestrator {
    orchestrator: ToolOrchestrator,
    host: Host,
}

#[pymethods]
impl Orchestrator {
    /// `settings` may have `interactive`, `attempts`, `steps`, `time`, `tokens`, `rules` and `vet`.
    #[new]
    fn new(
        py: Python<'_>,
        sandbox: &Bound<'_, Sandbox>,
        model: (String, Py<PyAny>),
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let (name, ask) = model;
        let host = Host::of(&*process::current(py)?);
        let model = PythonModel { name, host: host.clone(), ask: Arc::new(ask) };
        let mode = match option(settings, "interactive")? {
            Some(true) => AgentMode::Interactive,
            _ => AgentMode::Plan,
        };
        let vetting = match option(settings, "vet")? {
            Some(false) => Vetting::syntax_only(),
            _ => Vetting::default(),
        };
        let (attempts, steps) = (option(settings, "attempts")?, option(settings, "steps")?);
        let (time, tokens) =
            (option(settings, "time")?.map(seconds).transpose()?, option(settings, "tokens")?);
        let orchestrator = ToolOrchestrator::new(sandbox.get().sandbox.clone(), model)
            .mode(mode)
            .rules(option::<String>(settings, "rules")?.unwrap_or_default())
            .vetting(vetting)
            .limited(|limits| {
                limits.attempts = attempts.unwrap_or(limits.attempts);
                limits.steps = steps.unwrap_or(limits.steps);
                limits.time = time.unwrap_or(limits.time);
                limits.tokens = tokens.or(limits.tokens);
            });
        Ok(Self { orchestrator, host })
    }

    /// Does a task, and gives `(success, outcome in words, record as JSON)`. `on_event` is told of everything as it happens.
    #[pyo3(signature = (task, json, extra=None, on_event=None))]
    fn run(
        &self,
        task: &str,
        json: &str,
        extra: Option<&Bound<'_, PyDict>>,
        on_event: Option<Py<PyAny>>,
    ) -> PyResult<Call> {
        let task = Task::new(task).with_request(input::request(json, extra)?);
        let (orchestrator, host) = (self.orchestrator.clone(), self.host.clone());
        let on_event = on_event.map(Arc::new);
        let work = async move {
            let mut run = orchestrator.stream(task);
            while let Some(event) = run.next().await {
                let Some(listener) = &on_event else { continue };
                let json = serde_json::to_string(&event).expect("an event is plain data");
                // Waits until it was taken: a slow listener slows the task down.
                let _ = ask(&host, Arc::clone(listener), None, move |listener, reply| {
                    Ok(listener.call1((json, reply))?.unbind())
                })
                .await;
            }
            run.record().await
        };
        Ok(Call::fallible(work, |py, record| {
            let (success, outcome) = (record.success(), record.outcome.to_string());
            Ok((success, outcome, output::json(py, &record)?).into_pyobject(py)?.into_any().unbind())
        }))
    }
}
