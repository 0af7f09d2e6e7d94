//! `/v1/tools`: what a model should know of the tools that scripts of a sandbox can call.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Query, State};
use axum::response::{IntoResponse, Response};
use belljar::tools::{DescribeError, ToolSet};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::runs::{DEFAULT, invalid};
use crate::state::App;

pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(tools))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Asked {
    /// Whose tools. Without it, those of `default`.
    sandbox: Option<String>,
    /// In which form: `mcp`, `openai` or `anthropic`. Without it, `mcp`.
    form: Option<String>,
}

/// What a model should know of the tools of a sandbox.
#[derive(Serialize, ToSchema)]
struct Tools {
    sandbox: String,
    form: String,
    /// Their schemas.
    #[schema(value_type = Vec<Object>)]
    tools: Vec<serde_json::Value>,
    /// The same in words.
    prompt: String,
    /// The same as Python.
    stubs: String,
}

/// Says what a model should know of the tools that scripts of a sandbox can call.
#[utoipa::path(
    get, path = "/v1/tools", tag = "tools", operation_id = "list_tools", params(Asked),
    responses((status = OK, body = Tools, description = "the tools")),
)]
async fn tools(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Query(Asked { sandbox, form }): Query<Asked>,
) -> Result<Response, Problem> {
    let name = sandbox.unwrap_or_else(|| DEFAULT.to_owned());
    let form = form.unwrap_or_else(|| "mcp".to_owned());
    let forms: fn(&ToolSet) -> Vec<serde_json::Value> = match form.as_str() {
        "mcp" => ToolSet::mcp_forms,
        "openai" => ToolSet::openai_forms,
        "anthropic" => ToolSet::anthropic_forms,
        _ => return Err(invalid("must be mcp, openai or anthropic").at("form")),
    };
    let set = app.tools(&name, &client).await?;
    let (tools, prompt, stubs) = (forms(&set), set.prompt(), set.stubs());
    Ok(Json(Tools { sandbox: name, form, tools, prompt, stubs }).into_response())
}

impl App {
    /// The tools of a sandbox. They are read once: a sandbox that is ready does not change.
    async fn tools(&self, name: &str, client: &Client) -> Result<Arc<ToolSet>, Problem> {
        let offered = self.sandboxes.find(name)?;
        let read = async || {
            // Files are read in a cell, which is somebody's turn like any run.
            let _place = self.admission.turn(&client.id, &client.limits)?.await?;
            offered.make_ready(&self.runtime).await?;
            let sandbox = offered.ready().ok_or_else(|| Problem::new(Code::Sandbox, "it is not ready"))?;
            sandbox.describe_tools().await.map(Arc::new).map_err(|error| match error {
                DescribeError::Runtime(error) => error.into(),
                // The files are the owner's, and so is what is wrong with them.
                error => Problem::new(Code::Sandbox, error.to_string()),
            })
        };
        offered.tools.get_or_try_init(read).await.cloned()
    }
}
