//! The daemon: asked through `bollard`, over our own connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bollard::errors::Error;
use bollard::{API_DEFAULT_VERSION, BollardRequest, Docker};
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper_util::rt::TokioIo;

use super::DockerError;
use super::address::Address;
use super::error::message_of;
use super::ids::Ids;
use super::podman::Podman;

/// How long the daemon may take to answer at all, the first time.
const FIRST_ANSWER: Duration = Duration::from_secs(20);
/// How long one call may take. Builds and waits are streams, which this does not bound.
const CALL_SECONDS: u64 = 120;

/// A daemon that answers, in a version both sides speak.
#[derive(Clone)]
pub(super) struct Daemon {
    pub(super) api: Docker,
    pub(super) address: Arc<Address>,
    pub(super) facts: Arc<Facts>,
}

/// What it says about itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// `Docker 20.10.24`, `Podman 4.3.1`.
    pub(super) product: String,
    /// The negotiated version of the API.
    pub(super) api_version: String,
    pub(super) architecture: String,
    pub(super) cgroup_version: String,
    pub(super) storage_driver: String,
    /// Whose files are whose in its containers.
    pub(super) ids: Ids,
    /// Whether it filters system calls by a profile of its own.
    pub(super) has_seccomp: bool,
    pub(super) limits_memory: bool,
    pub(super) limits_cpu: bool,
    pub(super) limits_pids: bool,
}

impl Facts {
    /// Podman's version of Docker's API differs in places.
    pub(super) fn is_podman(&self) -> bool {
        self.product.starts_with("Podman")
    }
}

impl Daemon {
    /// Whose files of this machine are whose in its containers; if its socket is a file here, so
    /// that paths are probably the same there.
    pub(super) fn ids_here(&self) -> Option<Ids> {
        matches!(*self.address, Address::Unix(_)).then_some(self.facts.ids)
    }

    /// Connects and agrees on a version.
    pub(super) async fn connect(address: Address) -> Result<Self, DockerError> {
        let answering = async {
            // First by hand, because the kernel's reason says more than an HTTP client's account of
            // it.
            let wire = address.dial().await.map_err(|error| unreachable(&address, &error))?;
            drop(wire);
            let api = client(address.clone())?;
            let api = api.negotiate_version().await.map_err(|error| speechless(&address, &error))?;
            let facts = ask_facts(&api, &address).await.map_err(DockerError::api("tell about itself"))?;
            Ok(Self { api, address: Arc::new(address.clone()), facts: Arc::new(facts) })
        };
        tokio::time::timeout(FIRST_ANSWER, answering).await.unwrap_or_else(|_| {
            Err(DockerError::Unreachable {
                address: address.to_string(),
                reason: format!("it did not answer within {} s", FIRST_ANSWER.as_secs()),
                remedy: "Look at the daemon's log".to_owned(),
            })
        })
    }
}

fn client(address: Address) -> Result<Docker, DockerError> {
    let shown = address.to_string();
    let address = Arc::new(address);
    let transport = move |request: BollardRequest| {
        let address = Arc::clone(&address);
        async move { ask(&address, request).await }
    };
    // Only the path of this address is used. The transport opens the connection itself.
    Docker::connect_with_custom_transport(transport, Some("http://docker"), CALL_SECONDS, API_DEFAULT_VERSION)
        .map_err(|error| DockerError::Unreachable {
            address: shown,
            reason: message_of(&error),
            remedy: String::new(),
        })
}

/// Sends one request on a connection of its own. Calls are rare (a container is made or removed),
/// so no connection is kept open.
pub(super) async fn ask(
    address: &Address,
    request: BollardRequest,
) -> Result<hyper::Response<Incoming>, Error> {
    let wire = address.dial().await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(wire)).await?;
    tokio::spawn(async move {
        let _ = connection.await;
    });
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = path.parse().map_err(|error| Error::from(io::Error::other(error)))?;
    head.headers.insert(HOST, HeaderValue::from_static("docker"));
    Ok(sender.send_request(Request::from_parts(head, body)).await?)
}

async fn ask_facts(api: &Docker, address: &Address) -> Result<Facts, Error> {
    let version = api.version().await?;
    let info = api.info().await?;
    let components = version.components.unwrap_or_default();
    let is_podman = components.iter().any(|component| component.name.contains("Podman"));
    let podman = if is_podman { Podman::ask(address).await } else { None };
    let product = if is_podman { "Podman" } else { "Docker" };
    let security = info.security_options.unwrap_or_default();
    let says = |word: &str| security.iter().any(|option| option.contains(word));
    let ids = if podman.as_ref().is_some_and(Podman::is_rootless) || says("rootless") {
        Ids::Owners { user: address.owner() }
    } else if says("userns") {
        Ids::shifted(&info.docker_root_dir.unwrap_or_default())
    } else {
        Ids::Same
    };
    let limits = |name: &str, told: Option<bool>| {
        podman.as_ref().map_or(told.unwrap_or(false), |podman| podman.has_controller(name))
    };
    Ok(Facts {
        product: format!("{product} {}", version.version.unwrap_or_default()),
        api_version: api.client_version().to_string(),
        architecture: version.arch.unwrap_or_default(),
        cgroup_version: info.cgroup_version.map(|version| version.to_string()).unwrap_or_default(),
        storage_driver: info.driver.unwrap_or_default(),
        ids,
        has_seccomp: says("seccomp"),
        limits_memory: limits("memory", info.memory_limit),
        limits_cpu: limits("cpu", info.cpu_cfs_quota),
        limits_pids: limits("pids", info.pids_limit),
    })
}

fn unreachable(address: &Address, error: &io::Error) -> DockerError {
    let remedy = match (address, error.kind()) {
        (Address::Unix(path), io::ErrorKind::NotFound) => format!(
            "Start it (systemctl start docker, or scripts/docker-up as root); if it listens elsewhere, set DOCKER_HOST; if this program \
             runs in a container, give it the socket: docker run -v {0}:{0} …",
            path.display()
        ),
        (Address::Unix(path), io::ErrorKind::PermissionDenied) => format!(
            "Add this user to the socket's group (sudo usermod -aG docker $USER, then log in again), or run as root; \
             in a container, add --group-add $(stat -c %g {})",
            path.display()
        ),
        (Address::Unix(_), io::ErrorKind::ConnectionRefused) => {
            "The socket is there but nobody listens: start the daemon again (systemctl restart docker)"
                .to_owned()
        }
        (Address::Tcp { tls: Some(_), .. }, _) => {
            "Check DOCKER_HOST, and that DOCKER_CERT_PATH has the ca.pem, cert.pem and key.pem of this daemon"
                .to_owned()
        }
        _ => "Check DOCKER_HOST, and that the daemon listens there".to_owned(),
    };
    DockerError::Unreachable { address: address.to_string(), reason: error.to_string(), remedy }
}

fn speechless(address: &Address, error: &Error) -> DockerError {
    let remedy = match address {
        Address::Tcp { tls: None, .. } => {
            "If the daemon wants encryption, set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH"
        }
        Address::Tcp { tls: Some(_), .. } => {
            "If the daemon wants to know who we are, DOCKER_CERT_PATH must have cert.pem and key.pem too"
        }
        _ => "Docker 20.10 and later and Podman's Docker-compatible socket will do",
    };
    DockerError::Unreachable {
        address: address.to_string(),
        reason: format!("what listens there does not speak Docker's API: {}", message_of(error)),
        remedy: remedy.to_owned(),
    }
}
