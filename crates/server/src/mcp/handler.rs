//! What the protocol asks, and who asks it.

use std::sync::Arc;

use axum::http::request::Parts;
use belljar::metrics::{OUTCOME, SERVER_MCP_CALLS, TOOL};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ResourceTemplate, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tracing::Instrument as _;

use super::calls::Call;
use super::content::refusal;
use super::tools::ToolName;
use super::{artifacts, uri};
use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::state::App;
use crate::trace::Trace;

/// Answers one client, or all clients of `/mcp`.
pub(super) struct Handler {
    app: Arc<App>,
    /// `None`: each request says who asks.
    client: Option<Client>,
}

impl Handler {
    /// For the one who started this process.
    pub(super) fn of(app: Arc<App>, client: Client) -> Self {
        Self { app, client: Some(client) }
    }

    /// For requests that came through the guard.
    pub(super) fn of_http(app: Arc<App>) -> Self {
        Self { app, client: None }
    }

    fn client(&self, context: &RequestContext<RoleServer>) -> Result<Client, ErrorData> {
        let by_request = || context.extensions.get::<Parts>()?.extensions.get::<Client>().cloned();
        let found = self.client.clone().or_else(by_request);
        found.ok_or_else(|| ErrorData::internal_error("nobody knows who asks", None))
    }
}

const INSTRUCTIONS: &str = "Runs Python and programs in sandboxes without network, unless the owner allowed \
hosts. Use run_code for one script, run_step for several that build on each other, run_program for \
commands on files that stay in a workspace. A failure comes back with the line that failed: correct it \
and run again.";

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("belljar", version).with_title("Belljar"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(ToolName::ALL.map(ToolName::described).to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        ToolName::named(name).map(ToolName::described)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = self.client(&context)?;
        let Some(tool) = ToolName::named(&request.name) else {
            let known = ToolName::ALL.map(ToolName::name).join(", ");
            let said = format!("there is no tool {:?}; there are {known}", request.name);
            return Err(ErrorData::invalid_params(said, None));
        };
        let (trace, span) = {
            let meta = |name: &str| context.meta.get(name).and_then(|value| value.as_str());
            Trace::of_call(tool.name(), self.client.is_none().then_some(&client.trace), meta)
        };
        let call = Call { app: self.app.clone(), client: Client { trace, ..client }, context };
        let answer = call.answer(tool, request.arguments.unwrap_or_default()).instrument(span).await;
        let outcome = if answer.is_ok() { "ok" } else { "refused" };
        metrics::counter!(SERVER_MCP_CALLS.name, TOOL => tool.name(), OUTCOME => outcome).increment(1);
        Ok(answer.unwrap_or_else(|problem| refusal(&problem)).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let client = self.client(&context)?;
        let after = request.and_then(|request| request.cursor);
        artifacts::list(&self.app, &client, after).await.map_err(|problem| said(&problem))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let artifact = ResourceTemplate::new(uri::TEMPLATE, "artifact")
            .with_description("A file that save_artifact has kept. Without a version it is the latest");
        Ok(ListResourceTemplatesResult::with_all_items(vec![artifact]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let client = self.client(&context)?;
        let read = artifacts::read(&self.app, &client, &request.uri).await;
        read.map(Into::into).map_err(|problem| said(&problem))
    }
}

/// A problem with a resource, for which there is no answer but an error.
fn said(problem: &Problem) -> ErrorData {
    match problem.code {
        Code::NotFound => ErrorData::resource_not_found(problem.to_string(), None),
        Code::Internal => ErrorData::internal_error(problem.to_string(), None),
        _ => ErrorData::invalid_params(problem.to_string(), None),
    }
}
