//! `belljar serve`: the library for those who do not write Rust.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use belljar::engine::{Docker, Local, Native, ProtectionState};
use belljar::{Runtime, Secrets, ToolRegistry};
use belljar_server::{
    Retention, Scope, ServeError, Server, ServerOptions, TlsFiles, Token, TokenLimits, TokenStore,
    keep_metrics,
};

use crate::args::{EngineName, OfferArgs, SandboxArgs, ServeArgs};
use crate::data;
use crate::error::CliError;
use crate::exit::End;
use crate::interrupt::{Interrupt, Interrupts};
use crate::mcp::Servers;
use crate::printer::{Output, Printer};
use crate::settings::Settings;
use crate::terminal_text::quoted;

pub(super) async fn serve(options: ServeArgs, verbose: bool) -> Result<End, CliError> {
    let printer = Printer::new(Output::Human);
    let mut opened = Opened::new(&options.offer, options.warm, &printer, verbose).await?;
    let server = &mut opened.options;
    server.address = options.listen;
    server.needs_token = !options.no_token;
    server.host_names = options.host_name.clone();
    server.tls = options
        .tls_cert
        .clone()
        .zip(options.tls_key.clone())
        .map(|(certificate, key)| TlsFiles { certificate, key });
    server.retention = Retention {
        age: Duration::from_secs(u64::from(options.keep_days) * 24 * 60 * 60),
        bytes: options.keep_size.saturating_mul(1 << 20),
    };
    limits(server, &options)?;
    let token_file = if options.no_token { None } else { first_token(&server.state)? };
    let runtime = opened.runtime().await?;
    let metrics = keep_metrics().context("figures cannot be kept")?;
    let bound = Server::bind(runtime.clone(), opened.options, Some(metrics)).await.map_err(not_started)?;
    bound.warm().await?;
    // Before anybody knows that it is there, and may end it.
    let interrupts = Interrupts::listen()?;
    tell(&printer, &bound, &options, token_file.as_deref())?;
    protections(&printer, &runtime)?;
    until_told_to_stop(Arc::new(bound), interrupts, &printer).await;
    opened.servers.close().await;
    Ok(End::Done)
}

/// What clients are to have, opened: over HTTP and over MCP alike.
pub(super) struct Opened {
    pub(super) servers: Servers,
    pub(super) options: ServerOptions,
    engine: EngineName,
    secrets: Secrets,
    docker: Docker,
}

impl Opened {
    pub(super) async fn new(
        offer: &OfferArgs,
        warm: u32,
        printer: &Printer,
        verbose: bool,
    ) -> Result<Self, CliError> {
        let mut options = ServerOptions::new(data::state(offer.state.state.as_ref())?);
        options.limits.session_idle = time("--session-idle", offer.session_idle)?;
        let mut servers = Servers::default();
        let tools = servers.connect(&offer.mcp, printer, verbose).await?;
        let default = Settings::resolve(&offer.sandbox, offer.engine.name)?;
        let mut opened = Self {
            servers,
            options,
            engine: offer.engine.name,
            secrets: Secrets::new(),
            docker: default.docker(),
        };
        let mut of_default = tools;
        for path in &offer.sandbox.tool {
            of_default = of_default.guest(path).map_err(anyhow::Error::from)?;
        }
        opened.offer("default", default, of_default, (warm, printer))?;
        for (name, path) in files(offer.sandboxes.as_deref())? {
            let own = SandboxArgs { sandbox: Some(path), ..SandboxArgs::default() };
            let settings = Settings::resolve(&own, opened.engine)?;
            opened.offer(&name, settings, ToolRegistry::new(), (warm, printer))?;
        }
        Ok(opened)
    }

    /// Offers one more sandbox.
    fn offer(
        &mut self,
        name: &str,
        settings: Settings,
        tools: ToolRegistry,
        (warm, printer): (u32, &Printer),
    ) -> Result<(), CliError> {
        for warning in &settings.warnings {
            printer.warning(&quoted(warning))?;
        }
        let mut config = settings.blueprint.config;
        config.pool_size = warm as usize;
        self.secrets = std::mem::take(&mut self.secrets).and(settings.secrets);
        self.options.sandboxes.insert(name.to_owned(), tools.for_config(config));
        Ok(())
    }

    /// What makes cells for clients, as many as there may be runs and sessions.
    pub(super) async fn runtime(&self) -> Result<Runtime, CliError> {
        let limits = &self.options.limits;
        let builder = Runtime::builder().secrets(self.secrets.clone());
        let builder = builder.max_overflow(limits.concurrency + limits.sessions);
        let builder = match self.engine {
            EngineName::Native => builder.engine(Native::new()),
            EngineName::Docker => builder.engine(self.docker.clone()),
            EngineName::Local => builder.engine(Local::new()),
        };
        Ok(builder.build().await?)
    }
}

pub(super) fn not_started(error: ServeError) -> CliError {
    CliError::Input(error.into())
}

/// Serves until SIGTERM or Ctrl-C. SIGHUP reads the certificate again.
async fn until_told_to_stop(server: Arc<Server>, mut interrupts: Interrupts, printer: &Printer) {
    let stop = async {
        while interrupts.next().await == Interrupt::HangUp {
            // Whoever reads it may have gone.
            let _ = match server.reload_tls() {
                Ok(true) => printer.note("the certificate was read again"),
                Ok(false) => printer.note("there is no certificate to read again: see --tls-cert"),
                Err(error) => printer.warning(&format!("the old certificate stays: {error}")),
            };
        }
        let _ = printer.note("the server ends as soon as what runs has ended");
    };
    server.run(stop).await;
}

/// The sandbox files in a directory, by their names.
fn files(directory: Option<&Path>) -> Result<Vec<(String, PathBuf)>, CliError> {
    let Some(directory) = directory else { return Ok(Vec::new()) };
    let place = || format!("--sandboxes {}", directory.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).with_context(place)? {
        let path = entry.with_context(place)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_stem().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| anyhow!("{} has no name that is text", path.display()))?;
            found.push((name.to_owned(), path));
        }
    }
    found.sort();
    Ok(found)
}

fn limits(server: &mut ServerOptions, options: &ServeArgs) -> Result<(), CliError> {
    let limits = &mut server.limits;
    if let Some(most) = options.concurrency {
        limits.concurrency = most as usize;
    }
    limits.queue = options.queue as usize;
    limits.request_bytes = usize::try_from(options.max_request.saturating_mul(1 << 20)).unwrap_or(usize::MAX);
    limits.drain = time("--drain", options.drain)?;
    Ok(())
}

fn time(option: &str, seconds: f64) -> Result<Duration, CliError> {
    let time = Duration::try_from_secs_f64(seconds);
    Ok(time.map_err(|_| anyhow!("{option}: must be a time, such as 30s or 15m"))?)
}

/// Makes a token for whoever started the server, if nobody has one. Returns the file that has it.
fn first_token(state: &Path) -> Result<Option<PathBuf>, CliError> {
    let (store, file) = (TokenStore::in_directory(state), state.join("token"));
    if store.all().map_err(anyhow::Error::from)?.is_empty() {
        let (token, text) = Token::make("first", Scope::Admin, TokenLimits::default(), None);
        store.add(token).map_err(anyhow::Error::from)?;
        belljar_server::write_private(&file, format!("{text}\n").as_bytes())
            .with_context(|| file.display().to_string())?;
    }
    Ok(file.exists().then_some(file))
}

/// Says where it is, how to be let in, and one thing to try.
fn tell(
    printer: &Printer,
    server: &Server,
    options: &ServeArgs,
    token_file: Option<&Path>,
) -> Result<(), CliError> {
    let scheme = if options.tls_cert.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", server.address());
    printer.text(&format!("belljar serves at {url}\n"))?;
    let bearer = match token_file {
        _ if options.no_token => String::new(),
        Some(file) => {
            let file = file.display();
            printer.text(&format!("token in {file}\n"))?;
            format!(" -H \"Authorization: Bearer $(cat {file})\"")
        }
        None => {
            printer.text("tokens are those of `belljar token ls`\n")?;
            " -H \"Authorization: Bearer $TOKEN\"".to_owned()
        }
    };
    let example = r#"{"script": "emit_result(6 * 7)"}"#;
    let json = "-H 'Content-Type: application/json'";
    printer.text(&format!("try: curl -s {url}/v1/runs{bearer} {json} -d '{example}'\n"))?;
    Ok(())
}

/// Says which protections are in force.
fn protections(printer: &Printer, runtime: &Runtime) -> Result<(), CliError> {
    let all = &runtime.capabilities().protections;
    let is_active = |state: &ProtectionState| matches!(state, ProtectionState::Active { .. });
    let active = all.iter().filter(|it| is_active(&it.state)).count();
    let names = all.iter().filter(|it| !is_active(&it.state)).map(|it| it.name).collect::<Vec<_>>();
    let engine = runtime.engine_name();
    printer.text(&format!("protections: {active} of {} are active ({engine})\n", all.len()))?;
    if !names.is_empty() {
        let names = names.join(", ");
        printer.warning(&format!("not in force here: {names}. `belljar doctor` says what to do"))?;
    }
    Ok(())
}
