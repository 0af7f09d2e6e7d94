//! Finds and removes what programs that are gone have left on a daemon.
//!
//! ```text
//!  find ─► Orphans ─► remove: each once more left to the daemon, which refuses what is in use
//! ```
//!
//! There should be little. Containers end with the connection of their maker, and remove
//! themselves. What stays is containers that never started or are paused, and the volumes of
//! proxies. Only on the same host is it certain that a maker is gone. Elsewhere, a thing is an
//! orphan when it does not run and is not new.
//!
//! Between finding and removing, a person may be asked. So only what still is an orphan goes: force
//! is used for nothing but running containers of a maker that has ended.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::{ContainerSummary, ContainerSummaryStateEnum, ImageSummary};
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, ListVolumesOptionsBuilder,
    RemoveContainerOptionsBuilder, RemoveImageOptions, RemoveVolumeOptions,
};

use super::daemon::Daemon;
use super::error::is_missing;
use super::labels::{self, ProcessIdentity};
use super::{DockerError, OUR_IMAGES};

/// Longer than anything takes from being made to being used.
const NEW: Duration = Duration::from_secs(600);

/// What can be removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Orphans {
    /// Containers, by id.
    pub containers: Vec<OrphanContainer>,
    /// Volumes, by name.
    pub volumes: Vec<String>,
    /// Images, by name.
    pub images: Vec<String>,
    /// Containers of ours that are still in use.
    pub in_use: usize,
}

/// A container that nobody uses any more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrphanContainer {
    /// Its id.
    pub id: String,
    /// Whether it still runs, though its maker has ended.
    pub runs: bool,
}

impl OrphanContainer {
    /// The id as Docker's own client shows it.
    pub fn short_id(&self) -> &str {
        self.id.get(..12).unwrap_or(&self.id)
    }
}

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

/// Finds what can be removed. With `images`, also images of ours that no container uses.
pub(super) async fn find(
    daemon: &Daemon,
    certainty: Certainty,
    images: bool,
) -> Result<Orphans, DockerError> {
    let mut found = Orphans::default();
    for container in containers(daemon, &ours()).await? {
        match (&container.id, is_orphan(&container, certainty)) {
            (Some(id), true) => {
                found.containers.push(OrphanContainer { id: id.clone(), runs: runs(&container) });
            }
            _ => found.in_use += 1,
        }
    }
    found.volumes = volumes(daemon, certainty).await?;
    if images {
        found.images = unused_images(daemon).await?;
    }
    Ok(found)
}

/// Removes what was found, unless somebody has begun to use it.
pub(super) async fn remove(daemon: &Daemon, found: &Orphans) -> Result<Pruned, DockerError> {
    let mut pruned = Pruned { in_use: found.in_use, ..Pruned::default() };
    for container in &found.containers {
        let options = RemoveContainerOptionsBuilder::default().force(container.runs).v(true).build();
        match daemon.api.remove_container(&container.id, Some(options)).await {
            Ok(()) => pruned.containers.push(container.short_id().to_owned()),
            Err(error) if is_missing(&error) || error.to_string().contains("already in progress") => {}
            Err(error) if is_in_use(&error) => pruned.in_use += 1,
            Err(error) => {
                return Err(DockerError::api(format!("remove container {}", container.id))(error));
            }
        }
    }
    for volume in &found.volumes {
        match daemon.api.remove_volume(volume, None::<RemoveVolumeOptions>).await {
            Ok(()) => pruned.volumes.push(volume.clone()),
            Err(error) if is_missing(&error) => {}
            // Somebody has just begun to use it.
            Err(error) => tracing::debug!(volume, %error, "a volume is left"),
        }
    }
    for image in &found.images {
        // Without force, so the daemon refuses to remove images that a container uses.
        match daemon.api.remove_image(image, None::<RemoveImageOptions>, None).await {
            Ok(_) => pruned.images.push(image.clone()),
            Err(error) => tracing::debug!(image, %error, "an image is left"),
        }
    }
    Ok(pruned)
}

/// Whether the daemon refuses because somebody uses it.
fn is_in_use(error: &bollard::errors::Error) -> bool {
    const CONFLICT: u16 = 409;
    matches!(error, bollard::errors::Error::DockerResponseServerError { status_code: CONFLICT, .. })
}

fn ours() -> HashMap<&'static str, Vec<&'static str>> {
    HashMap::from([("label", vec![labels::CONTROLLER])])
}

async fn containers(
    daemon: &Daemon,
    filters: &HashMap<&'static str, Vec<&'static str>>,
) -> Result<Vec<ContainerSummary>, DockerError> {
    let options = ListContainersOptionsBuilder::default().all(true).filters(filters).build();
    daemon.api.list_containers(Some(options)).await.map_err(DockerError::api("list containers"))
}

fn is_orphan(container: &ContainerSummary, certainty: Certainty) -> bool {
    let labels = container.labels.as_ref();
    let process = labels.and_then(|labels| labels.get(labels::PROCESS)).map(String::as_str);
    if process.and_then(ProcessIdentity::parse).is_some_and(|process| process.is_surely_gone()) {
        return true;
    }
    certainty == Certainty::Reasonable && !runs(container) && is_old(container.created)
}

fn runs(container: &ContainerSummary) -> bool {
    matches!(
        container.state,
        Some(
            ContainerSummaryStateEnum::RUNNING
                | ContainerSummaryStateEnum::PAUSED
                | ContainerSummaryStateEnum::RESTARTING
        )
    )
}

fn is_old(created: Option<i64>) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let then = Duration::from_secs(created.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0));
    now.saturating_sub(then) > NEW
}

async fn volumes(daemon: &Daemon, certainty: Certainty) -> Result<Vec<String>, DockerError> {
    let mut filters = ours();
    filters.insert("dangling", vec!["true"]);
    let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
    let found = daemon.api.list_volumes(Some(options)).await.map_err(DockerError::api("list volumes"))?;
    let mut orphans = Vec::new();
    for volume in found.volumes.unwrap_or_default() {
        let process = volume.labels.get(labels::PROCESS).map(String::as_str);
        let gone = process.and_then(ProcessIdentity::parse).is_some_and(|process| process.is_surely_gone());
        let made = volume.labels.get(labels::MADE).and_then(|seconds| seconds.parse().ok());
        // A live proxy holds its volume. So a volume that nobody holds is at most between two
        // proxies.
        if gone || (certainty == Certainty::Reasonable && is_old(made)) {
            orphans.push(volume.name);
        }
    }
    Ok(orphans)
}

async fn unused_images(daemon: &Daemon) -> Result<Vec<String>, DockerError> {
    let everybodys = containers(daemon, &HashMap::new()).await?;
    let used: HashSet<String> = everybodys.into_iter().filter_map(|container| container.image_id).collect();
    let filters = HashMap::from([("label", vec![labels::CHECKSUM])]);
    let options = ListImagesOptionsBuilder::default().filters(&filters).build();
    let found = daemon.api.list_images(Some(options)).await.map_err(DockerError::api("list images"))?;
    Ok(found.iter().filter(|image| !used.contains(&image.id)).flat_map(names_to_remove).collect())
}

/// The names of an image that are ours to remove: none if the image is new, because a program that
/// has just built it is about to use it, and none that somebody else gave it.
fn names_to_remove(image: &ImageSummary) -> Vec<String> {
    if !is_old(Some(image.created)) {
        return Vec::new();
    }
    if image.repo_tags.is_empty() {
        return vec![image.id.clone()];
    }
    image.repo_tags.iter().filter(|tag| tag.starts_with(OUR_IMAGES)).cloned().collect()
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

    #[test]
    fn an_image_that_is_new_or_has_somebody_elses_name_stays() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed();
        let image = |tags: &[&str], created| ImageSummary {
            id: "sha256:1".into(),
            repo_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            created,
            ..ImageSummary::default()
        };
        for (tags, created, expected) in [
            (&["belljar/default:1"][..], 0, &["belljar/default:1"][..]),
            (&["belljar/default:1"], now, &[]),
            (&["shop/worker:3", "belljar/default:1"], 0, &["belljar/default:1"]),
            (&["shop/worker:3"], 0, &[]),
            (&["belljarred/x:1"], 0, &[]),
            (&[], 0, &["sha256:1"]),
        ] {
            assert_eq!(names_to_remove(&image(tags, created)), expected, "{tags:?}");
        }
    }
}
