//! The workspace of a kernel, and the gateway that runs in it.

use std::time::Duration;

use belljar_jupyter::{GATEWAY_PROGRAM, Gateway, JupyterError, Transport, gateway_token};

use super::{JupyterOptions, of_jupyter};
use crate::env::ProvidedEnv;
use crate::layout::INLINE_SOURCES;
use crate::{
    Context, InteractiveProgramSpec, ProgramSession, PutFile, RunProgramSpec, Workspace, WorkspaceEngine,
    WorkspaceError, WorkspacePolicy, Workspaces,
};

const PROGRAM: &str = ".jupyter/gateway.py";
/// In the workspace's own directory. A program could put a link in the place of any other.
const SOCKET: &str = ".gateway.sock";
/// How often a gateway is asked whether it is ready. Nothing tells.
const ASKED_EVERY: Duration = Duration::from_millis(20);
/// How long a gateway may take to end by itself, and then to be killed.
const END_WITHIN: Duration = Duration::from_secs(15);
const GRACE: Duration = Duration::from_secs(1);

/// A workspace with a gateway. Dropping it ends both.
pub(super) struct Home(Option<Parts>);

struct Parts {
    workspaces: Workspaces,
    workspace: Workspace,
    session: Option<Box<dyn ProgramSession>>,
}

impl Home {
    /// Makes a workspace, and starts a gateway in it.
    pub(super) async fn open(
        ctx: &Context,
        workspaces: &Workspaces,
        options: &JupyterOptions,
    ) -> Result<(Self, Gateway), WorkspaceError> {
        let policy = WorkspacePolicy { persist: false, ..options.policy };
        let id = format!("jupyter-{}", belljar_core::random_hex());
        let workspace = workspaces.manager().create_workspace(ctx, &id, policy).await?;
        // From here on, whatever fails is tidied up.
        let mut home =
            Self(Some(Parts { workspaces: workspaces.clone(), workspace: workspace.clone(), session: None }));
        let program = vec![PutFile::new(PROGRAM, GATEWAY_PROGRAM)];
        workspaces.fs().put_files(ctx, &workspace, program).await?;
        let runner = workspaces.runner().interactive().ok_or_else(|| WorkspaceError::Unsupported {
            what: "a program that is talked to",
            engine: workspaces.describe().isolation,
        })?;
        let session = runner.start_program(ctx, &workspace, program_spec(ctx, options)).await?;
        let session = &*home.parts().session.insert(session);
        let token = ctx.run(ready(&**session, options.start_timeout)).await?;
        let token = token.map_err(of_jupyter("start a gateway"))?;
        let socket = std::path::Path::new(&workspace.path).join(SOCKET);
        let connected = ctx.run(Gateway::connect(Transport::unix(socket), token)).await?;
        Ok((home, connected.map_err(of_jupyter("reach the gateway"))?))
    }

    fn parts(&mut self) -> &mut Parts {
        self.0.as_mut().expect("only its end takes them")
    }

    fn shared(&self) -> &Parts {
        self.0.as_ref().expect("only its end takes them")
    }

    pub(super) fn workspaces(&self) -> &Workspaces {
        &self.shared().workspaces
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.shared().workspace
    }

    /// Ends the gateway and removes the workspace.
    pub(super) async fn close(mut self) {
        if let Some(parts) = self.0.take() {
            parts.end().await;
        }
    }
}

fn program_spec(ctx: &Context, options: &JupyterOptions) -> InteractiveProgramSpec {
    let mut program = RunProgramSpec::new("python3", [PROGRAM, SOCKET, "--workspace", INLINE_SOURCES]);
    program.env = options.env.clone();
    program.timeout = Some(options.lifetime);
    InteractiveProgramSpec {
        program: ProvidedEnv::added_to(ctx, program),
        idle_timeout: Some(options.lifetime),
        ..InteractiveProgramSpec::default()
    }
}

/// Waits until a gateway says that it is ready. Its token.
async fn ready(session: &dyn ProgramSession, within: Duration) -> Result<String, JupyterError> {
    let waiting = async {
        loop {
            let has_ended = session.state().is_exited();
            let printed = session.log_bytes(None, None).data;
            let token = gateway_token(&printed);
            let is_word = token.is_ok() || printed.starts_with(b"{") && printed.ends_with(b"\n");
            if has_ended || is_word {
                return token;
            }
            tokio::time::sleep(ASKED_EVERY).await;
        }
    };
    let in_time = tokio::time::timeout(within, waiting).await;
    in_time.unwrap_or_else(|_| Err(JupyterError::Silent { what: "its start".to_owned(), within }))
}

impl Parts {
    async fn end(self) {
        let Self { workspaces, workspace, session } = self;
        if let Some(session) = session {
            // The end of its input is how the program learns that nobody wants it any more.
            let _ = session.send_eof().await;
            let _ = tokio::time::timeout(END_WITHIN, session.wait()).await;
            let _ = session.kill(GRACE).await;
        }
        if let Err(error) = workspaces.manager().cleanup(&Context::new(), &workspace).await {
            tracing::warn!(%error, path = workspace.path, "the workspace of a kernel is left over");
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let Some(parts) = self.0.take() else { return };
        // A thread of its own: there may be no tokio runtime here, or not for long enough.
        let ending = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(parts.end()),
            // Its program ends with it.
            Err(_) => drop(parts),
        };
        if let Err(error) = std::thread::Builder::new().name("belljar-jupyter".to_owned()).spawn(ending) {
            tracing::warn!(%error, "the workspace of a kernel is left over");
        }
    }
}
