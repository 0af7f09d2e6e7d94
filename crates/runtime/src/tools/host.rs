//! One tool of the host's.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use belljar_core::Json;
use belljar_core::tool::{Failure, Tool, check_arguments};
use belljar_engine::BoxFuture;
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::{ToolContext, schema};

/// Why a tool did not do what it was asked for. The script reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFailure {
    /// One line, for the script's author.
    pub message: String,
}

impl ToolFailure {
    /// A failure with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl<E: fmt::Display> From<E> for ToolFailure {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

type Call = dyn Fn(ToolContext, Json) -> BoxFuture<'static, Result<Json, ToolFailure>> + Send + Sync;

/// A function of the host's that scripts can call.
///
/// It is polled where the run is polled. So a closure that blocks a thread holds up its own run,
/// and should use `spawn_blocking`. Dropping the run, or the end of its script, drops the closure's
/// future.
#[derive(Clone)]
pub struct HostTool {
    pub(crate) tool: Tool,
    pub(crate) timeout: Duration,
    pub(crate) most_calls: Option<u64>,
    pub(crate) most_answer_bytes: usize,
    /// Shared by all runs of all sandboxes that have this tool.
    turns: Option<Arc<Semaphore>>,
    call: Arc<Call>,
}

impl fmt::Debug for HostTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, timeout, most_calls, most_answer_bytes, .. } = self;
        f.debug_struct("HostTool")
            .field("tool", tool)
            .field("timeout", timeout)
            .field("most_calls", most_calls)
            .field("most_answer_bytes", most_answer_bytes)
            .finish_non_exhaustive()
    }
}

/// What a script gets for a call.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) success: bool,
    pub(crate) data: Json,
    pub(crate) message: String,
}

impl Answer {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        let data = Json::parse("null").expect("it is JSON");
        Self { success: false, data, message: message.into() }
    }
}

impl HostTool {
    /// A tool whose arguments are the fields of a struct. They become the function's parameters, in
    /// their order, and comments on them become part of its documentation.
    pub fn new<A, T, E, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(A) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize,
        E: fmt::Display,
    {
        Self::with_context(name, description, move |_, arguments| function(arguments))
    }

    /// The same for a closure that wants to know who calls.
    pub fn with_context<A, T, E, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(ToolContext, A) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize,
        E: fmt::Display,
    {
        let call =
            move |context: ToolContext, arguments: Json| -> BoxFuture<'static, Result<Json, ToolFailure>> {
                let arguments = match serde_json::from_str(arguments.as_str()) {
                    Ok(arguments) => arguments,
                    Err(error) => {
                        let failure = ToolFailure::new(format!("wrong arguments: {}", plain(&error)));
                        return Box::pin(async { Err(failure) });
                    }
                };
                let answering = function(context, arguments);
                Box::pin(async move {
                    let found = answering.await.map_err(ToolFailure::from)?;
                    let text = serde_json::to_string(&found)
                        .map_err(|error| ToolFailure::new(format!("its answer is no JSON: {error}")))?;
                    Ok(Json::parse_repaired(&text).map_err(ToolFailure::from)?.0)
                })
            };
        Self::described(schema::described::<A>(name.into(), &description.into()), call)
    }

    /// A tool that is described by hand. Its arguments come as one JSON object that fits the
    /// description, with defaults filled in.
    pub fn described(
        tool: Tool,
        call: impl Fn(ToolContext, Json) -> BoxFuture<'static, Result<Json, ToolFailure>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            tool,
            timeout: Duration::from_secs(60),
            most_calls: None,
            most_answer_bytes: 16 << 20,
            turns: None,
            call: Arc::new(call),
        }
    }

    /// How long one call may take. 60 seconds by default.
    #[must_use]
    pub fn timeout(mut self, within: Duration) -> Self {
        self.timeout = within;
        self
    }

    /// How many calls may be carried out at the same time, by all runs together. The others wait.
    #[must_use]
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.turns = Some(Arc::new(Semaphore::new(calls.max(1))));
        self
    }

    /// How often one run may call it.
    #[must_use]
    pub fn budget(mut self, calls: u64) -> Self {
        self.most_calls = Some(calls);
        self
    }

    /// How long its answer may be, as JSON. 16 MiB by default.
    #[must_use]
    pub fn answer_limit(mut self, bytes: usize) -> Self {
        self.most_answer_bytes = bytes;
        self
    }

    /// Names a secret that the closure uses. The runtime must have a value for it before anything
    /// runs. No cell gets it, and where an answer has it, the script reads `***`.
    #[must_use]
    pub fn secret(mut self, name: impl Into<String>) -> Self {
        self.tool.secrets.push(name.into());
        self
    }

    /// Has the function return what the tool found, and raise `ToolError` if it failed. Otherwise
    /// it returns a `ToolResponse` in any case.
    #[must_use]
    pub fn raising(mut self) -> Self {
        self.tool.failure = Failure::Exception;
        self
    }

    /// Carries out one call. Panics become failures.
    pub(crate) async fn answer(self, context: ToolContext, arguments: Json) -> Answer {
        let arguments = match self.checked(&arguments) {
            Ok(arguments) => arguments,
            Err(reason) => return Answer::failed(reason),
        };
        let within = self.timeout;
        let work = async {
            // Never closed.
            let _turn = match &self.turns {
                Some(turns) => Some(turns.acquire().await),
                None => None,
            };
            // The closure itself may panic, before there is a future.
            let call = std::panic::catch_unwind(AssertUnwindSafe(|| (self.call)(context, arguments)));
            match call {
                Ok(call) => AssertUnwindSafe(call).catch_unwind().await,
                Err(panic) => Err(panic),
            }
        };
        match belljar_engine::timeout(within, work).await {
            Err(_) => Answer::failed(format!("it did not answer within {} s", within.as_secs_f64())),
            Ok(Err(_)) => Answer::failed("it failed inside: the host's function panicked"),
            Ok(Ok(Err(failure))) => Answer::failed(failure.message),
            Ok(Ok(Ok(data))) if data.as_str().len() > self.most_answer_bytes => Answer::failed(format!(
                "its answer of {} bytes is longer than {}",
                data.as_str().len(),
                self.most_answer_bytes
            )),
            Ok(Ok(Ok(data))) => Answer { success: true, data, message: String::new() },
        }
    }
}

impl HostTool {
    /// The arguments by the names that the tool has for them, or what is wrong with them.
    fn checked(&self, arguments: &Json) -> Result<Json, String> {
        let arguments: Map<String, Value> = arguments
            .to()
            .map_err(|_| "its arguments must be an object, with a field for each".to_owned())?;
        let checked = check_arguments(&self.tool, arguments).map_err(|error| error.to_string())?;
        Json::of(&self.tool.original_arguments(checked)).map_err(|error| error.to_string())
    }
}

/// The error without its place in a text that the script never saw.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}
