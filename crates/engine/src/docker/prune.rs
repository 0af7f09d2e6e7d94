//! Removes what programs that are gone have left on a daemon.
//!
//! There should be little. Containers end with the connection of their maker, and remove
//! themselves. What stays is containers that never started or are paused, and the volumes of
//! proxies. Only on the same host is it certain that a maker is gone. Elsewhere, a thing is an
//! orphan when it does not run and is not new.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::{ContainerSummary, ContainerSummaryStateEnum};
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, ListVolumesOptionsBuilder,
    RemoveContainerOptionsBuilder, RemoveImageOptions, RemoveVolumeOptions,
};

use super::DockerError;
use super::daemon::Daemon;
use super::error::is_missing;
use super::labels::{self, ProcessIdentity};

/// Longer than anything takes from being made to being used.
const NEW: Duration = Duration::from_secs(600);

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Containers, by short id.
    pub containers: Vec<String>,
    /// Volumes, by name.
    pub volumes: Vec<String>,
    /// Images, by name.
    pub images: Vec<String>,
    /// Containers that are still in use.
    pub in_use: usize,
}

/// How certain it must be that a maker is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    /// Only what was made by a process of this host that is known to have ended.
    Certain,
    /// Also what nobody can still be using.
    Reasonable,
}

pub(super) async fn prune(
    daemon: &Daemon,
    certainty: Certainty,
    images: bool,
) -> Result<Pruned, DockerError> {
    let mut pruned = Pruned::default();
    containers(daemon, certainty, &mut pruned).await?;
    volumes(daemon, certainty, &mut pruned).await?;
    if images {
        unused_images(daemon, &mut pruned).await?;
    }
    Ok(pruned)
}

fn ours() -> HashMap<&'static str, Vec<&'static str>> {
    HashMap::from([("label", vec![labels::CONTROLLER])])
}

async fn containers(daemon: &Daemon, certainty: Certainty, pruned: &mut Pruned) -> Result<(), DockerError> {
    let options = ListContainersOptionsBuilder::default().all(true).filters(&ours()).build();
    let found =
        daemon.api.list_containers(Some(options)).await.map_err(DockerError::api("list containers"))?;
    for container in found {
        let Some(id) = &container.id else { continue };
        if !is_orphan(&container, certainty) {
            pruned.in_use += 1;
            continue;
        }
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        match daemon.api.remove_container(id, Some(options)).await {
            Ok(()) => pruned.containers.push(id.chars().take(12).collect()),
            Err(error) if is_missing(&error) || error.to_string().contains("already in progress") => {}
            Err(error) => return Err(DockerError::api(format!("remove container {id}"))(error)),
        }
    }
    Ok(())
}

fn is_orphan(container: &ContainerSummary, certainty: Certainty) -> bool {
    let labels = container.labels.as_ref();
    let process = labels.and_then(|labels| labels.get(labels::PROCESS)).map(String::as_str);
    if process.and_then(ProcessIdentity::parse).is_some_and(|process| process.is_surely_gone()) {
        return true;
    }
    let runs = matches!(
        container.state,
        Some(
            ContainerSummaryStateEnum::RUNNING
                | ContainerSummaryStateEnum::PAUSED
                | ContainerSummaryStateEnum::RESTARTING
        )
    );
    certainty == Certainty::Reasonable && !runs && is_old(container.created)
}

fn is_old(created: Option<i64>) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let then = Duration::from_secs(created.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0));
    now.saturating_sub(then) > NEW
}

async fn volumes(daemon: &Daemon, certainty: Certainty, pruned: &mut Pruned) -> Result<(), DockerError> {
    let mut filters = ours();
    filters.insert("dangling", vec!["true"]);
    let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
    let found = daemon.api.list_volumes(Some(options)).await.map_err(DockerError::api("list volumes"))?;
    for volume in found.volumes.unwrap_or_default() {
        let process = volume.labels.get(labels::PROCESS).map(String::as_str);
        let gone = process.and_then(ProcessIdentity::parse).is_some_and(|process| process.is_surely_gone());
        let made = volume.labels.get(labels::MADE).and_then(|seconds| seconds.parse().ok());
        // A live proxy holds its volume. So a volume that nobody holds is at most between two
        // proxies.
        if !gone && (certainty == Certainty::Certain || !is_old(made)) {
            continue;
        }
        match daemon.api.remove_volume(&volume.name, None::<RemoveVolumeOptions>).await {
            Ok(()) => pruned.volumes.push(volume.name),
            Err(error) if is_missing(&error) => {}
            // Somebody has just begun to use it.
            Err(error) => tracing::debug!(volume = volume.name, %error, "a volume is left"),
        }
    }
    Ok(())
}

async fn unused_images(daemon: &Daemon, pruned: &mut Pruned) -> Result<(), DockerError> {
    let filters = HashMap::from([("label", vec![labels::CHECKSUM])]);
    let options = ListImagesOptionsBuilder::default().filters(&filters).build();
    let found = daemon.api.list_images(Some(options)).await.map_err(DockerError::api("list images"))?;
    for image in found {
        let name = image.repo_tags.first().cloned().unwrap_or(image.id);
        // Without force, so the daemon refuses to remove images that a container uses.
        match daemon.api.remove_image(&name, None::<RemoveImageOptions>, None).await {
            Ok(_) => pruned.images.push(name),
            Err(error) => tracing::debug!(image = name, %error, "an image is left"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_of_a_process_that_is_over_is_an_orphan_and_one_of_a_living_is_not() {
        let here = ProcessIdentity::of_this_process().to_string();
        let over = here.rsplit_once('/').unwrap().0.to_owned() + "/1";
        let elsewhere = format!("another{here}");
        let container = |process: &str, state, created| ContainerSummary {
            labels: Some(HashMap::from([(labels::PROCESS.to_owned(), process.to_owned())])),
            state: Some(state),
            created: Some(created),
            ..ContainerSummary::default()
        };
        let (running, exited) = (ContainerSummaryStateEnum::RUNNING, ContainerSummaryStateEnum::EXITED);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed();
        for (process, state, created, certain, reasonable) in [
            (&here, running, 0, false, false),
            (&over, running, now, true, true),
            (&elsewhere, running, 0, false, false),
            (&elsewhere, exited, 0, false, true),
            (&elsewhere, exited, now, false, false),
            (&here, exited, now, false, false),
        ] {
            let container = container(process, state, created);
            assert_eq!(is_orphan(&container, Certainty::Certain), certain, "{container:?}");
            assert_eq!(is_orphan(&container, Certainty::Reasonable), reasonable, "{container:?}");
        }
    }
}
