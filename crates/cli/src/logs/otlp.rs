//! Spans, exported over OTLP/HTTP as the variables of OpenTelemetry say.
//!
//! Whatever the collector does, nothing that runs waits for it. Spans wait in a bounded queue, and
//! a thread of its own sends them, with an event loop of its own. Those that do not fit are lost.
//! Only spans of Belljar's are exported, and nothing that is logged in them.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response, ResponseBodyTooLarge};
use opentelemetry_otlp::{SpanExporter as OtlpExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing::{Level, Metadata};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::{Layer, Registry};

use super::{asked_for, endpoint};
use crate::env;
use crate::error::CliError;

/// How long the end of the command waits for what is left.
const LAST_SPANS: Duration = Duration::from_secs(3);
/// How long one request to the collector may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer of the collector's.
const LONGEST_ANSWER: usize = 1 << 20;

/// Exports spans until it is told to end.
pub(super) struct Exporter {
    provider: SdkTracerProvider,
}

impl Exporter {
    pub(super) fn start() -> Result<Self, CliError> {
        let address = endpoint().unwrap_or_default();
        let wrong = || format!("spans cannot be exported as {}* says", env::OTEL_EXPORTER_OTLP_ENDPOINT);
        let client = Client::new(&address).with_context(wrong)?;
        let exporter = OtlpExporter::builder().with_http().with_http_client(client).build();
        let exporter =
            Watched { exporter: exporter.with_context(wrong)?, has_failed: AtomicBool::new(false) };
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let mut resource = Resource::builder().with_attribute(version);
        if asked_for(env::OTEL_SERVICE_NAME).is_none() {
            resource = resource.with_service_name("belljar");
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_batch_exporter(exporter)
            .build();
        Ok(Self { provider })
    }

    pub(super) fn layer(&self) -> impl Layer<Registry> + Send + Sync + use<> {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("belljar"))
            .with_context_activation(false)
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(is_exported).with_max_level_hint(Level::DEBUG))
    }

    pub(super) fn end(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(LAST_SPANS) {
            tracing::warn!(%error, "the last spans could not be exported");
        }
    }
}

/// Entries of the log may quote anything, so none of them is.
fn is_exported(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target().starts_with("belljar") && *metadata.level() <= Level::DEBUG
}

/// Says once that spans are lost, and once that they are not any more.
#[derive(Debug)]
struct Watched {
    exporter: OtlpExporter,
    has_failed: AtomicBool,
}

impl SpanExporter for Watched {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let outcome = self.exporter.export(batch).await;
        let had_failed = self.has_failed.swap(outcome.is_err(), Ordering::Relaxed);
        match &outcome {
            Err(error) if !had_failed => {
                tracing::warn!(%error, "spans cannot be exported; this is said once, until it works again");
            }
            Ok(()) if had_failed => tracing::warn!("spans are exported again"),
            _ => {}
        }
        outcome
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// The HTTP client, for the one thread that exports.
#[derive(Debug)]
struct Client {
    http: reqwest::Client,
    tokio: tokio::runtime::Runtime,
}

impl Client {
    fn new(address: &str) -> Result<Self, anyhow::Error> {
        let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https") {
            return Err(anyhow!("the address must begin with http:// or https://"));
        }
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(belljar_tls::client_config(&scheme)?)
            .timeout(PATIENCE)
            // A redirect would take keys in headers to somebody else.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("belljar/", env!("CARGO_PKG_VERSION")))
            .build()?;
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { http, tokio })
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let mut answer = self.http.execute(request.try_into()?).await?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            if body.len() + chunk.len() > LONGEST_ANSWER {
                return Err(ResponseBodyTooLarge::new().into());
            }
            body.extend_from_slice(&chunk);
        }
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(response)
    }
}

type Sending<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl HttpClient for Client {
    fn send_bytes<'me, 'sending>(&'me self, request: Request<Bytes>) -> Sending<'sending>
    where
        'me: 'sending,
        Self: 'sending,
    {
        // The thread that exports is in no event loop, and has nothing else to do.
        Box::pin(async move { self.tokio.block_on(self.send(request)) })
    }
}
