//! What Podman says of itself in its own API, and not in Docker's.

use bollard::errors::Error;
use http_body_util::BodyExt as _;
use hyper::Request;
use serde::Deserialize;

use super::address::Address;
use super::daemon::ask;

/// Spoken by every Podman from 4 on.
const INFO: &str = "/v4.0.0/libpod/info";

/// Podman's account of its machine, as far as it matters here.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Podman {
    host: Host,
}

#[derive(Debug, Default, Deserialize)]
struct Host {
    #[serde(default, rename = "cgroupControllers")]
    controllers: Vec<String>,
    security: Security,
}

#[derive(Debug, Default, Deserialize)]
struct Security {
    rootless: bool,
}

impl Podman {
    /// Asks. Nothing, if it does not tell: an older one does not.
    pub(super) async fn ask(address: &Address) -> Option<Self> {
        let answer = async {
            let body = bollard::body_full(hyper::body::Bytes::new());
            let request = Request::get(INFO).body(body).map_err(std::io::Error::other)?;
            let answer = ask(address, request).await?;
            Ok::<_, Error>(answer.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes())
        };
        let told =
            answer.await.inspect_err(|error| tracing::debug!(%error, "Podman does not tell about itself"));
        Self::read(&told.ok()?)
    }

    fn read(answer: &[u8]) -> Option<Self> {
        serde_json::from_slice(answer).ok()
    }

    /// Whether it is an ordinary user's.
    pub(super) fn is_rootless(&self) -> bool {
        self.host.security.rootless
    }

    /// Whether it can have groups with this controller. In Docker's API it tells of its own group
    /// instead, in which systemd turns a controller on when somebody asks for it.
    pub(super) fn has_controller(&self, name: &str) -> bool {
        self.host.controllers.iter().any(|controller| controller == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_podman_says_is_read() {
        let told = br#"{"host": {"arch": "amd64", "cgroupControllers": ["cpu", "pids"],
            "security": {"rootless": true, "seccompEnabled": true}}, "version": {"APIVersion": "4.3.1"}}"#;
        let podman = Podman::read(told).unwrap();
        assert!(podman.is_rootless());
        assert_eq!((podman.has_controller("cpu"), podman.has_controller("memory")), (true, false));
        assert!(Podman::read(b"{\"cause\": \"unknown\", \"response\": 404}").is_none());
    }
}
