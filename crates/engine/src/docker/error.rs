//! What can go wrong between this program and a container daemon.

use std::path::PathBuf;

use crate::Fault;
use crate::error::says_disk_is_full;

/// A failure of the Docker engine. Each message says what to do, if anything can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DockerError {
    /// `DOCKER_HOST`, or the address given instead, is not valid.
    #[error("the daemon's address `{text}` cannot be used: {rule}")]
    Address {
        /// The address.
        text: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A file for encrypted connections is missing or broken.
    #[error(
        "{} cannot be used for the daemon's connection: {reason}. Set DOCKER_CERT_PATH to a directory with ca.pem, cert.pem and key.pem",
        .path.display()
    )]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No daemon answers.
    #[error("no container daemon answers at {address}: {reason}. {remedy}")]
    Unreachable {
        /// The address.
        address: String,
        /// Why.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The daemon refused a request.
    #[error("the daemon could not {action}: {message}{}", remedy(.message))]
    Api {
        /// What was asked.
        action: String,
        /// Its answer.
        message: String,
    },
    /// The base image is not on the daemon, and could not be pulled.
    #[error(
        "the base image `{image}` is not on the daemon and could not be pulled: {reason}. Pull or build it, or set base_image in the config"
    )]
    BaseImage {
        /// The image.
        image: String,
        /// Why.
        reason: String,
    },
    /// An image could not be built.
    #[error("image {image} could not be built: {step} failed: {reason}{}", last_lines(.log))]
    Build {
        /// The image.
        image: String,
        /// The instruction that failed.
        step: String,
        /// The daemon's message.
        reason: String,
        /// The last lines of its output.
        log: Vec<String>,
    },
    /// A container did not become ready.
    #[error("container {container} of image {image} is not ready: {reason}{}", last_lines(.log))]
    NotReady {
        /// Its short id.
        container: String,
        /// Its image.
        image: String,
        /// Why.
        reason: String,
        /// What it wrote to stderr.
        log: Vec<String>,
    },
    /// A file resource is not where the daemon looks for it.
    #[error(
        "file resource {container_path}: the daemon does not find {} on its own host: {message}. {}",
        .mounted.display(), moved(.host_path, .mounted)
    )]
    Resource {
        /// As configured.
        host_path: PathBuf,
        /// The path the daemon was asked to mount.
        mounted: PathBuf,
        /// Where it would be mounted.
        container_path: String,
        /// The daemon's message.
        message: String,
    },
    /// The daemon mounted something else than the file that was checked.
    #[error(
        "file resource {container_path}: the daemon has mounted something else than {host_path}: somebody has put another \
         file or a link in its place meanwhile. Grant a path that only you can change"
    )]
    OtherResource {
        /// As configured.
        host_path: PathBuf,
        /// Where it is mounted.
        container_path: String,
    },
    /// A link in the image leads a file resource to another place.
    #[error(
        "container_path {container_path} goes through a link in the image and leads to {leads_to}, where it could hide something: \
         choose a path without links"
    )]
    LinkInImage {
        /// As configured.
        container_path: String,
        /// Where it would be mounted.
        leads_to: PathBuf,
    },
    /// The daemon maps ids, and the owner of a kept workspace is none of those that it maps.
    #[error(
        "the workspace belongs to user {user}, who is nobody in the containers of this daemon: it maps ids. Use the native engine, \
         a rootless daemon of that user's, or run as root with a workspace that was made so"
    )]
    Unmapped {
        /// Whose it is.
        user: u32,
    },
    /// There is no program that could be the proxy.
    #[error(
        "the egress proxy has no program to run in its container: {reason}. Name one that links Belljar with the docker engine, \
         such as the `belljar` command, by Docker::proxy_program or BELLJAR_PROXY_PROGRAM"
    )]
    ProxyProgram {
        /// What is wrong with the one there is.
        reason: String,
    },
    /// The proxy beside the containers failed.
    #[error("the egress proxy of sandbox `{name}` cannot serve: {reason}{}", last_lines(.log))]
    Sidecar {
        /// The sandbox.
        name: String,
        /// Why.
        reason: String,
        /// What it wrote to stderr.
        log: Vec<String>,
    },
}

/// What to do about a limit that the daemon's machine cannot give. Only the message tells.
fn remedy(message: &str) -> &'static str {
    if message.contains("setting rlimit") || message.contains("RLIMIT_NOFILE") {
        ". Lower resource_limits.open_files, or raise the daemon's own hard limit on open files (LimitNOFILE of its unit)"
    } else if message.contains("pids.max") {
        ". Lower resource_limits.pids_limit"
    } else {
        ""
    }
}

fn last_lines(log: &[String]) -> String {
    match log {
        [] => String::new(),
        lines => format!("\n  | {}", lines.join("\n  | ")),
    }
}

fn moved(host_path: &std::path::Path, mounted: &std::path::Path) -> String {
    if host_path == mounted {
        "If this program itself runs in a container, say what the path is called on the daemon's host: host_path_map or docker_host_path"
            .to_owned()
    } else {
        format!("It stands for {} here; check host_path_map and docker_host_path", host_path.display())
    }
}

impl DockerError {
    /// Whose fault it is. It is the caller's where another config or another address would help.
    pub fn fault(&self) -> Fault {
        match self {
            // The daemon reports a full disk only in its message.
            Self::BaseImage { reason, .. } if says_disk_is_full(reason) => Fault::Backend,
            Self::Build { reason, log, .. }
                if log.iter().chain([reason]).any(|line| says_disk_is_full(line)) =>
            {
                Fault::Backend
            }
            Self::Resource { message, .. } if says_disk_is_full(message) => Fault::Backend,
            Self::Address { .. }
            | Self::Certificate { .. }
            | Self::BaseImage { .. }
            | Self::Build { .. }
            | Self::Resource { .. }
            | Self::OtherResource { .. }
            | Self::LinkInImage { .. }
            | Self::Unmapped { .. }
            | Self::ProxyProgram { .. } => Fault::Caller,
            Self::Unreachable { .. } | Self::Api { .. } | Self::NotReady { .. } | Self::Sidecar { .. } => {
                Fault::Backend
            }
        }
    }

    pub(super) fn api(action: impl Into<String>) -> impl FnOnce(bollard::errors::Error) -> Self {
        let action = action.into();
        move |error| Self::Api { action, message: message_of(&error) }
    }
}

/// The daemon's own message, if there is one.
pub(super) fn message_of(error: &bollard::errors::Error) -> String {
    use bollard::errors::Error;
    match error {
        Error::DockerResponseServerError { message, .. } => message.trim().to_owned(),
        Error::DockerStreamError { error } => error.trim().to_owned(),
        Error::RequestTimeoutError => "it did not answer in time".to_owned(),
        Error::HyperResponseError { err } => format!("the connection broke: {err}"),
        other => other.to_string(),
    }
}

pub(super) fn is_missing(error: &bollard::errors::Error) -> bool {
    matches!(error, bollard::errors::Error::DockerResponseServerError { status_code: 404, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_the_daemons_machine_cannot_give_is_named() {
        let said = |message: &str| {
            DockerError::Api { action: "start container 1".into(), message: message.into() }.to_string()
        };
        let rlimits = "runc create failed: error setting rlimits for ready process: error setting rlimit type 7: \
                       operation not permitted";
        assert!(said(rlimits).contains("Lower resource_limits.open_files"), "{}", said(rlimits));
        let pids =
            "failed to write \"4194306\": write /sys/fs/cgroup/pids/docker/1/pids.max: invalid argument";
        assert!(said(pids).ends_with("Lower resource_limits.pids_limit"), "{}", said(pids));
        assert_eq!(said("no such image"), "the daemon could not start container 1: no such image");
    }

    #[test]
    fn an_image_that_finds_the_daemons_disk_full_is_not_the_callers_fault() {
        let build = |reason: &str, line: &str| DockerError::Build {
            image: "i".into(),
            step: "RUN pip".into(),
            reason: reason.into(),
            log: vec![line.into(), "more".into()],
        };
        assert_eq!(build("exit code 1", "ERROR: No matching distribution found").fault(), Fault::Caller);
        let installer =
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device";
        assert_eq!(build("exit code 1", installer).fault(), Fault::Backend);
        let daemon = "write /var/lib/docker/tmp/x: no space left on device";
        assert_eq!(build(daemon, "").fault(), Fault::Backend);
        let pull = |reason: &str| DockerError::BaseImage { image: "i".into(), reason: reason.into() };
        assert_eq!(pull(daemon).fault(), Fault::Backend);
        assert_eq!(pull("pull access denied").fault(), Fault::Caller);
    }
}
