//! Images: looked up by name, and built once.

use std::collections::HashMap;

use bollard::body_full;
use bollard::query_parameters::{BuildImageOptionsBuilder, CreateImageOptionsBuilder};
use bytes::Bytes;
use futures_util::StreamExt;

use super::DockerError;
use super::context::{ImagePlan, InstallerFiles, base_image};
use super::daemon::Daemon;
use super::error::{is_missing, message_of};
use super::labels;
use crate::EngineError;
use crate::Progress;
use crate::engine::Blueprint;

/// How many lines of a failed build are shown.
const SHOWN: usize = 20;

/// An image that exists on the daemon.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) tag: String,
    /// Whether it had to be built.
    pub(super) built: bool,
}

/// The image of a blueprint: found, or built on a base that is found or pulled.
pub(super) async fn ensure(
    daemon: &Daemon,
    blueprint: &Blueprint,
    settings: &BuildSettings,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Image, EngineError> {
    let base = base_image(&blueprint.config);
    let base_id = base_id(daemon, &base, progress).await?;
    let plan = ImagePlan::new(blueprint, &base_id, &settings.installer);
    if is_there(daemon, &plan.tag).await? {
        return Ok(Image { tag: plan.tag, built: false });
    }
    build(daemon, &plan, settings, &blueprint.config.name, progress).await?;
    Ok(Image { tag: plan.tag, built: true })
}

/// How images are built.
#[derive(Debug, Clone, Default)]
pub(super) struct BuildSettings {
    pub(super) installer: InstallerFiles,
    /// The network that installers use. The daemon's default network when absent.
    pub(super) network: Option<String>,
}

pub(super) async fn is_there(daemon: &Daemon, tag: &str) -> Result<bool, DockerError> {
    match daemon.api.inspect_image(tag).await {
        Ok(_) => Ok(true),
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(DockerError::api(format!("look for image {tag}"))(error)),
    }
}

/// The daemon's content id of the base image.
async fn base_id(
    daemon: &Daemon,
    base: &str,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<String, DockerError> {
    let failed = |error: bollard::errors::Error| DockerError::BaseImage {
        image: base.to_owned(),
        reason: message_of(&error),
    };
    match daemon.api.inspect_image(base).await {
        Ok(found) => return Ok(found.id.unwrap_or_default()),
        Err(error) if is_missing(&error) => {}
        Err(error) => return Err(DockerError::api(format!("look for image {base}"))(error)),
    }
    progress(Progress::Line(format!("pulling {base}")));
    let options = CreateImageOptionsBuilder::default().from_image(base).build();
    let mut pulling = daemon.api.create_image(Some(options), None, None);
    while let Some(step) = pulling.next().await {
        if let Some(status) = step.map_err(failed)?.status {
            progress(Progress::Line(status));
        }
    }
    drop(pulling);
    let found = daemon.api.inspect_image(base).await.map_err(failed)?;
    Ok(found.id.unwrap_or_default())
}

async fn build(
    daemon: &Daemon,
    plan: &ImagePlan,
    settings: &BuildSettings,
    config: &str,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), EngineError> {
    let context = plan.archive().map_err(EngineError::io("pack an image's files"))?;
    let labels = HashMap::from([
        (labels::ROLE, "image".to_owned()),
        (labels::CONFIG, config.to_owned()),
        (labels::CHECKSUM, plan.checksum.clone()),
    ]);
    let mut options = BuildImageOptionsBuilder::default().t(&plan.tag).rm(true).forcerm(true).labels(&labels);
    if let Some(network) = &settings.network {
        options = options.networkmode(network);
    }
    progress(Progress::Line(format!("building {}", plan.tag)));
    build_from(daemon, &plan.tag, options, context, progress).await?;
    Ok(())
}

/// The text without escape sequences for terminals.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        // A colour sequence goes up to the letter that ends it.
        rest = rest[at + 1..].split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out
}

/// Whether a line is only the daemon's own bookkeeping between the steps.
fn is_bookkeeping(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("---> ")
        || line.starts_with("--> ")
        || line.starts_with("Removing intermediate container")
}

/// Builds an image and reports progress. On failure, the error has the step that failed and its
/// last lines.
pub(super) async fn build_from(
    daemon: &Daemon,
    tag: &str,
    options: BuildImageOptionsBuilder,
    context: Vec<u8>,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), DockerError> {
    let body = body_full(Bytes::from(context));
    let mut steps = daemon.api.build_image(options.build(), None, Some(body));
    let (mut step, mut log) = ("the build".to_owned(), Vec::new());
    while let Some(news) = steps.next().await {
        let failed = |reason: String, log: Vec<String>, step: &str| DockerError::Build {
            image: tag.to_owned(),
            step: step.to_owned(),
            reason,
            log,
        };
        let news = match news {
            Ok(news) => news,
            Err(error) => return Err(failed(message_of(&error), log, &step)),
        };
        let text = news.stream.as_deref().map(without_escapes).unwrap_or_default();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !is_bookkeeping(line)) {
            if line.starts_with("Step ") || line.starts_with("STEP ") {
                line.clone_into(&mut step);
                log.clear();
            } else if log.len() == SHOWN {
                log.remove(0);
            }
            if *line != step {
                log.push(line.to_owned());
            }
            progress(Progress::Line(line.to_owned()));
        }
        if let Some(message) = news.error_detail.and_then(|detail| detail.message) {
            return Err(failed(message, log, &step));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_for_terminals_is_left_out() {
        assert_eq!(without_escapes("\u{1b}[91mERROR: no\n\u{1b}[0mnext"), "ERROR: no\nnext");
        assert_eq!(without_escapes("plain \u{1b}"), "plain ");
        assert!(is_bookkeeping(" ---> Running in 90ca953c2e8c") && !is_bookkeeping("Step 1/2 : FROM x"));
    }
}
