//! What is logged, in which form, and where spans go.
//!
//! ```text
//!  tracing ──► BELLJAR_LOG ──► text, or JSON lines ──► stderr
//!     └──────► spans of ours ──► OTLP over HTTP, if it is asked for ──► a collector
//! ```
//!
//! * `json` writes an entry as a line of JSON, with the id of its trace.
//! * `otlp` exports spans (feature `otlp`), for `belljar serve` and `belljar mcp`.

mod json;
#[cfg(feature = "otlp")]
mod otlp;

use anyhow::{Context, anyhow};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use self::json::JsonLines;
use crate::args::Command;
use crate::env;
use crate::error::CliError;
use crate::printer::LogWriter;

/// What has to be done when the command ends.
#[must_use]
pub(crate) struct Logs {
    #[cfg(feature = "otlp")]
    exporter: Option<otlp::Exporter>,
}

impl Logs {
    /// Logs what `BELLJAR_LOG` asks for or, where that is not set, `RUST_LOG`. Exports spans where
    /// the variables of OpenTelemetry ask for it.
    pub(crate) fn begin(command: &Command) -> Result<Self, CliError> {
        let serves = matches!(command, Command::Serve(_) | Command::Mcp(_));
        let mut layers: Vec<Box<dyn Layer<Registry> + Send + Sync>> = Vec::new();
        if let Some(filter) = filter()? {
            layers.push(match is_json()? {
                true => JsonLines.with_filter(filter).boxed(),
                // There are no colours: an entry quotes text from others, and characters in it that
                // are not printable are made visible.
                false => fmt::layer().with_ansi(false).with_writer(|| LogWriter).with_filter(filter).boxed(),
            });
        }
        #[cfg(feature = "otlp")]
        let exporter = if serves && wants_spans() { Some(otlp::Exporter::start()?) } else { None };
        #[cfg(feature = "otlp")]
        layers.extend(exporter.as_ref().map(|exporter| exporter.layer().boxed()));
        #[cfg(not(feature = "otlp"))]
        if serves && wants_spans() {
            use crate::printer::{Output, Printer};
            let name = env::OTEL_EXPORTER_OTLP_ENDPOINT;
            let told = format!("{name} is set, but this belljar was built without the feature `otlp`");
            Printer::new(Output::Human).warning(&told)?;
        }
        if !layers.is_empty() {
            let subscriber = Registry::default().with(layers);
            tracing::subscriber::set_global_default(subscriber).context("the log cannot be begun")?;
        }
        Ok(Self {
            #[cfg(feature = "otlp")]
            exporter,
        })
    }

    /// Exports what is left, within a bounded time.
    pub(crate) fn end(self) {
        #[cfg(feature = "otlp")]
        if let Some(exporter) = self.exporter {
            exporter.end();
        }
    }
}

/// A variable that is set, and not empty.
fn asked_for(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn filter() -> Result<Option<EnvFilter>, CliError> {
    match (asked_for(env::LOG), asked_for(env::RUST_LOG)) {
        (Some(ours), _) => Ok(Some(EnvFilter::builder().parse(&ours).with_context(|| {
            format!("{}={ours} is not a log filter. Write `debug`, or `belljar_engine=trace`", env::LOG)
        })?)),
        // Other programs may understand what we do not.
        (None, Some(everybodys)) => Ok(Some(EnvFilter::builder().parse_lossy(everybodys))),
        (None, None) => Ok(None),
    }
}

fn is_json() -> Result<bool, CliError> {
    match asked_for(env::LOG_FORMAT).as_deref() {
        None | Some("text") => Ok(false),
        Some("json") => Ok(true),
        Some(other) => {
            Err(anyhow!("{}={other} is no format. Write `text` or `json`", env::LOG_FORMAT).into())
        }
    }
}

fn wants_spans() -> bool {
    endpoint().is_some()
}

/// Where spans go.
fn endpoint() -> Option<String> {
    asked_for(env::OTEL_EXPORTER_OTLP_TRACES_ENDPOINT).or_else(|| asked_for(env::OTEL_EXPORTER_OTLP_ENDPOINT))
}
