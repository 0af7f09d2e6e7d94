//! A bucket of S3, or of a server that speaks its protocol.
//!
//! What the options leave open is taken from the usual `AWS_…` variables. TLS is rustls with ring,
//! and trusts what the machine trusts.

use std::net::IpAddr;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{HttpClient, HttpConnector};
use object_store::path::Path;
use object_store::{ClientConfigKey, ClientOptions, RetryConfig};
use url::Url;

use super::StoreOptions;
use super::place::Place;

/// How long a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How long nothing may come.
const SILENCE: Duration = Duration::from_secs(30);

/// The place that `s3://bucket/prefix` names.
pub(super) fn place(url: &Url, options: StoreOptions) -> Result<Place, String> {
    let bucket = url.host_str().filter(|host| !host.is_empty()).ok_or("name a bucket: s3://bucket/prefix")?;
    let prefix = Path::from_url_path(url.path()).map_err(|error| format!("this is no prefix: {error}"))?;

    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    let StoreOptions { endpoint, region, access_key_id, secret_access_key, session_token } = options;
    let given = [
        // The one that counts most, so that no variable is stronger than an option.
        (AmazonS3ConfigKey::S3Endpoint, endpoint),
        (AmazonS3ConfigKey::Region, region),
        (AmazonS3ConfigKey::AccessKeyId, access_key_id),
        (AmazonS3ConfigKey::SecretAccessKey, secret_access_key.map(|key| key.expose().to_owned())),
        (AmazonS3ConfigKey::Token, session_token.map(|token| token.expose().to_owned())),
    ];
    for (key, value) in given {
        if let Some(value) = value {
            builder = builder.with_config(key, value);
        }
    }

    let known = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
    let endpoint = known.iter().find_map(|key| builder.get_config_value(key));
    let endpoint = endpoint.map(|endpoint| Url::parse(&endpoint)).transpose();
    let endpoint = endpoint.map_err(|error| format!("the endpoint is no URL: {error}"))?;
    let is_local = endpoint.as_ref().is_some_and(is_loopback);
    // Amazon's own, if none is named.
    let scheme = endpoint.as_ref().map_or("https", Url::scheme);
    let allow_http = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
    let is_allowed = builder.get_config_value(&allow_http).is_some_and(|value| value == "true");
    match scheme {
        "https" => {}
        "http" if is_local || is_allowed => builder = builder.with_allow_http(true),
        "http" => {
            return Err("over http others can read along: use an endpoint with https, or one on this \
                        machine, or set AWS_ALLOW_HTTP=true"
                .to_owned());
        }
        _ => return Err("the endpoint must start with https://".to_owned()),
    }
    let retry = RetryConfig { max_retries: 6, retry_timeout: Duration::from_secs(60), ..Default::default() };
    let connector = Connector { client: client(scheme, is_local)? };
    let store = builder.with_retry(retry).with_http_connector(connector).build();
    let store = store.map_err(|error| error.to_string())?;
    let name = format!("s3://{bucket}/{prefix}");
    Ok(Place::bucket(name.trim_end_matches('/').to_owned(), store, prefix))
}

fn is_loopback(endpoint: &Url) -> bool {
    match endpoint.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
            address.is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

/// A client without a limit for a whole request: a large artifact takes as long as it takes.
fn client(scheme: &str, is_local: bool) -> Result<reqwest::Client, String> {
    let tls = belljar_tls::client_config(scheme).map_err(|error| error.to_string())?;
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .http1_only()
        .connect_timeout(CONNECT_WITHIN)
        .read_timeout(SILENCE)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("belljar/", env!("CARGO_PKG_VERSION")));
    if is_local {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| error.without_url().to_string())
}

/// Gives every request to the one client.
#[derive(Debug)]
struct Connector {
    client: reqwest::Client,
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.client.clone()))
    }
}
