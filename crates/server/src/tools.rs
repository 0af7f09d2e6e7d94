//! `/v1/tools`: what a model should know of the tools that scripts of a sandbox can call.

use std::sync::Arc;

use axum::extract::{Extension, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use belljar::tools::{DescribeError, ToolSet};
use serde::Deserialize;
use serde_json::json;

use crate::guard::Client;
use crate::problem::{Code, Problem};
use crate::runs::{DEFAULT, invalid};
use crate::state::App;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/v1/tools", get(tools))
}

#[derive(Deserialize)]
struct Asked {
    sandbox: Option<String>,
    form: Option<String>,
}

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
    Ok(Json(json!({
        "sandbox": name,
        "form": form,
        "tools": forms(&set),
        "prompt": set.prompt(),
        "stubs": set.stubs(),
    }))
    .into_response())
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
