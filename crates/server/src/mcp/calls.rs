//! A call of a tool: runs code or a program, or hands it on to those who know files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use belljar::config::ExecutionMode;
use belljar::workspace::RunProgramSpec;
use belljar::{ExecutionRequest, ExecutionResult};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, JsonObject};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::content::{After, of_result, said};
use super::progress;
use super::room::{refused, usual_timeout};
use super::tools::ToolName;
use crate::guard::Client;
use crate::problem::Problem;
use crate::runs::{
    DEFAULT, Ending, Home, Manner, Place, ProgramRun, Run, Source, begin, from_json, invalid, taken, within,
};
use crate::sessions::{begin_step, open};
use crate::state::App;
use crate::tokens::Scope;

/// One call, and who makes it.
pub(super) struct Call {
    pub(super) app: Arc<App>,
    pub(super) client: Client,
    pub(super) context: RequestContext<RoleServer>,
}

/// What a call comes to.
pub(super) type Answer = Result<CallToolResult, Problem>;

/// When its client has gone, a run ends.
fn patient() -> Manner {
    Manner { grace: Some(Duration::ZERO), share: None }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunCode {
    code: String,
    #[serde(default)]
    files: BTreeMap<String, Value>,
    timeout: Option<f64>,
    #[serde(default)]
    collect: Vec<String>,
    sandbox: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunStep {
    code: String,
    session: Option<String>,
    timeout: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CloseSession {
    session: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunProgram {
    command: Vec<String>,
    workspace: Option<String>,
    #[serde(default)]
    stdin: String,
    timeout: Option<f64>,
}

impl Call {
    /// Does what a tool does.
    pub(super) async fn answer(&self, tool: ToolName, arguments: JsonObject) -> Answer {
        self.client.needs(Scope::Run)?;
        match tool {
            ToolName::RunCode => self.run_code(read(arguments)?).await,
            ToolName::RunStep => self.run_step(read(arguments)?).await,
            ToolName::CloseSession => self.close_session(&read(arguments)?),
            ToolName::RunProgram => self.run_program(read(arguments)?).await,
            ToolName::ReadFile => self.read_file(read(arguments)?).await,
            ToolName::WriteFile => self.write_file(read(arguments)?).await,
            ToolName::ListFiles => self.list_files(read(arguments)?).await,
            ToolName::SaveArtifact => self.save_artifact(read(arguments)?).await,
        }
    }

    async fn run_code(&self, wanted: RunCode) -> Answer {
        let mut request = request(wanted.code, wanted.timeout)?.collecting(wanted.collect);
        for (path, content) in wanted.files {
            let content = content_of(&content).map_err(|problem| problem.at(format!("files.{path}")))?;
            request = request.with_file(path, content);
        }
        request.check().map_err(|error| invalid(error.to_string()))?;
        let place = Place::Named(wanted.sandbox.unwrap_or_else(|| DEFAULT.to_owned()));
        let chosen = self.app.choose(place, &self.client)?;
        within(self.client.limits.max_timeout_sec, &mut request, chosen.usual_timeout())?;
        let home = Home { sandbox: chosen.name.clone(), session: None, manner: patient() };
        let app = self.app.clone();
        let start = async move |request: ExecutionRequest| {
            Ok(Source::Script(app.sandbox(chosen).await?.stream(request)))
        };
        let run = begin(&self.app, &self.client, request, home, start)?;
        Ok(of_result(&*self.ended(run).await?, After::Nothing))
    }

    async fn run_step(&self, wanted: RunStep) -> Answer {
        let request = request(wanted.code, wanted.timeout)?;
        request.check().map_err(|error| invalid(error.to_string()))?;
        let held = match &wanted.session {
            Some(id) => self.app.sessions.find(id, &self.client)?,
            None => {
                let place = Place::Named(DEFAULT.to_owned());
                open(&self.app, &self.client, place, self.app.limits.session_idle).await?
            }
        };
        let ended = match begin_step(&self.app, &self.client, &held, request, patient()) {
            Ok(run) => self.ended(run).await,
            Err(problem) => Err(problem),
        };
        // A session that nobody was told of, or that is over, is of no use.
        let is_over = held.take().is_ok_and(|session| !session.is_alive());
        if is_over || (ended.is_err() && wanted.session.is_none()) {
            let _ = self.app.sessions.close(&held.id, &self.client);
        }
        let after = if is_over { After::SessionOver(&held.id) } else { After::Session(&held.id) };
        Ok(of_result(&*ended?, after))
    }

    fn close_session(&self, wanted: &CloseSession) -> Answer {
        let id = &wanted.session;
        self.app.sessions.close(id, &self.client)?;
        Ok(said(format!("session {id} is closed"), json!({"session": id, "is_closed": true})))
    }

    async fn run_program(&self, wanted: RunProgram) -> Answer {
        let mut words = wanted.command.iter().cloned();
        let Some(program) = words.next().filter(|program| !program.is_empty()) else {
            return Err(invalid("must name a program, such as [\"ls\", \"-l\"]").at("command"));
        };
        // The history has the command where it has the script of a run.
        let mut request = request(wanted.command.join(" "), wanted.timeout)?;
        within(self.client.limits.max_timeout_sec, &mut request, usual_timeout(&self.app))?;
        let spec = RunProgramSpec {
            stdin: wanted.stdin.into_bytes(),
            timeout: request.timeout,
            ..RunProgramSpec::new(program, words)
        };
        let name = wanted.workspace.as_deref().unwrap_or(DEFAULT);
        let workspace = self.app.mcp.workspace(&self.app, &self.client, name).await?;
        let home = Home { sandbox: DEFAULT.to_owned(), session: None, manner: patient() };
        let start = async move |request: ExecutionRequest| {
            let spec = RunProgramSpec { env: request.env, ..spec };
            let program = ProgramRun::start(&workspace, spec).await.map_err(refused)?;
            Ok(Source::Program(Box::new(program)))
        };
        let run = begin(&self.app, &self.client, request, home, start)?;
        Ok(of_result(&*self.ended(run).await?, After::Nothing))
    }

    /// Waits for the end of a run, and tells of it meanwhile. Who cancels the call kills the run.
    async fn ended(&self, run: Arc<Run>) -> Result<Arc<ExecutionResult>, Problem> {
        let _followed = run.followed();
        tokio::select! {
            () = progress::tell(&self.context, &run, &self.app.history) => {}
            () = self.context.ct.cancelled() => run.cancel(),
        }
        match run.over().await {
            Ending::Result(result) => Ok(result),
            Ending::Failed(problem) => Err(taken(&problem)),
        }
    }
}

/// Arguments. What is wrong with them is named.
fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, Problem> {
    from_json(Value::Object(arguments))
}

/// A script whose last value is shown.
fn request(code: String, timeout: Option<f64>) -> Result<ExecutionRequest, Problem> {
    let mut request = ExecutionRequest::new(code).with_mode(ExecutionMode::Interactive);
    request.timeout = match timeout {
        None => None,
        Some(seconds) => {
            let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
            Some(time.ok_or_else(|| invalid("must be seconds, more than 0").at("timeout"))?)
        }
    };
    Ok(request)
}

/// The content of a file: text, or `{"base64": …}`.
fn content_of(value: &Value) -> Result<Vec<u8>, Problem> {
    match value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        Value::Object(fields) if fields.len() == 1 => match fields.get("base64").and_then(Value::as_str) {
            Some(text) => decoded(text),
            None => Err(invalid("must be text, or {\"base64\": …}")),
        },
        _ => Err(invalid("must be text, or {\"base64\": …}")),
    }
}

/// Bytes that were written in base64.
pub(super) fn decoded(text: &str) -> Result<Vec<u8>, Problem> {
    BASE64_STANDARD.decode(text.trim()).map_err(|error| invalid(format!("this is not base64: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_wrong_are_named() {
        let refused = |arguments: Value| {
            let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
            let problem = read::<RunCode>(arguments).err().unwrap();
            (problem.field().map(str::to_owned), problem.to_string())
        };
        assert_eq!(refused(json!({})).0.as_deref(), Some("code"));
        assert_eq!(refused(json!({"code": "1", "tiemout": 3})).0.as_deref(), Some("tiemout"));
        assert_eq!(refused(json!({"code": 5})).0.as_deref(), Some("code"));
        for wrong in [-1.0, 0.0, f64::NAN, 1e300] {
            let problem = request("1".into(), Some(wrong)).unwrap_err();
            assert_eq!(problem.field(), Some("timeout"), "{wrong}");
        }
    }

    #[test]
    fn a_file_is_text_or_base64_and_nothing_else() {
        assert_eq!(content_of(&json!("é")).unwrap(), "é".as_bytes());
        assert_eq!(content_of(&json!({"base64": "AP8="})).unwrap(), [0, 255]);
        for wrong in [json!(5), json!({"base64": "?"}), json!({"base64": "AA==", "path": "/etc/passwd"})] {
            assert!(content_of(&wrong).is_err(), "{wrong}");
        }
    }
}
