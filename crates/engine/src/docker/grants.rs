//! Compares a container's actual mounts with what was granted.
//!
//! The daemon resolves a granted path itself, following every link, at the moment a container is
//! made. Somebody can swap something between our check and the daemon's. So the path is opened
//! here, held open, and compared by device and inode with what the container reports. That works
//! only if the daemon is on this machine, which the boot id shows. If the daemon is elsewhere,
//! whoever may write there decides what it mounts.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use belljar_core::config::{FileResource, HostPathMap};
use belljar_jail::FileIdentity;

use super::DockerError;
use super::container::GUEST_ID;
use super::ids::Ids;
use super::labels::boot;
use crate::EngineError;
use crate::grants::{self, Grant, Named};
use crate::supervised::Surroundings;

/// What a config grants, in its order.
pub(super) struct Grants {
    planned: Vec<Planned>,
    warnings: Vec<String>,
}

struct Planned {
    resource: FileResource,
    /// The path the daemon is asked to mount.
    source: PathBuf,
    /// The file as seen from here, if it can be seen.
    seen: Option<Grant>,
}

impl Grants {
    /// Looks at every resource. `ids_here` is how the daemon maps ids of this machine, if its
    /// socket is a file here, so that paths are probably the same there.
    pub(super) fn open(
        resources: &[FileResource],
        map: &HostPathMap,
        ids_here: Option<Ids>,
    ) -> Result<Self, EngineError> {
        let mut planned = Vec::new();
        let mut warnings: Vec<_> =
            resources.iter().filter_map(|resource| resource.mount_warning(map)).collect();
        for resource in resources {
            let seen = match ids_here.map(|_| grants::open(resource)) {
                Some(Ok(grant)) => Some(grant),
                // Not here, but perhaps on the daemon's host. If it is not there either, the daemon
                // says so.
                None | Some(Err(EngineError::Resource { .. })) => None,
                Some(Err(error)) => return Err(error),
            };
            warnings.extend(
                seen.as_ref().zip(ids_here).and_then(|(grant, ids)| of_another(resource, grant, ids)),
            );
            let asked = resource.mount_source(map);
            let source = match &seen {
                Some(grant) if asked == resource.host_path => grant.path.clone(),
                _ => asked,
            };
            planned.push(Planned { resource: resource.clone(), source, seen });
        }
        let named: Vec<Named<'_>> = planned
            .iter()
            .map(|planned| Named {
                resource: &planned.resource,
                path: &planned.source,
                seen: planned.seen.as_ref(),
            })
            .collect();
        grants::refuse_replaceable(&named)?;
        Ok(Self { planned, warnings })
    }

    /// What the caller should know about where things are mounted from.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Each resource, and what the daemon is asked to mount for it.
    pub(super) fn sources(&self) -> impl Iterator<Item = (&FileResource, &Path)> {
        self.planned.iter().map(|planned| (&planned.resource, &*planned.source))
    }

    /// Refuses a container in which something else is mounted than what was checked.
    pub(super) fn compare(&self, inside: &Surroundings) -> Result<(), DockerError> {
        for (planned, place) in self.planned.iter().zip(&inside.places) {
            if Path::new(&planned.resource.container_path) != place {
                return Err(DockerError::LinkInImage {
                    container_path: planned.resource.container_path.clone(),
                    leads_to: place.clone(),
                });
            }
        }
        if inside.boot_id != boot() {
            return Ok(());
        }
        for (planned, found) in self.planned.iter().zip(&inside.granted) {
            let expected = planned.seen.as_ref().map(|grant| grant.identity);
            let found = FileIdentity { device: found.0, inode: found.1 };
            if expected.is_some_and(|expected| expected != found) {
                return Err(DockerError::OtherResource {
                    host_path: planned.resource.host_path.clone(),
                    container_path: planned.resource.container_path.clone(),
                });
            }
        }
        Ok(())
    }
}

/// A warning about a place to write to whose owner scripts are not. On a container there are no
/// mounts with other ids.
fn of_another(resource: &FileResource, grant: &Grant, ids: Ids) -> Option<String> {
    let owner = grant.metadata.uid();
    let writer = ids.outside(GUEST_ID);
    let is_theirs = resource.read_only || writer == Some(owner);
    (!is_theirs).then(|| {
        let id =
            writer.map_or_else(|| "an id of the daemon's choice".to_owned(), |id| format!("the id {id}"));
        format!(
            "scripts write to {} with {id}, as containers do, and not with its owner's ({owner}): \
             they can only if its mode lets them, and what they make there belongs to that id",
            resource.host_path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_daemon_mounted_is_compared_with_what_was_meant() {
        let home = tempfile::tempdir().unwrap();
        let resource = FileResource::new(home.path(), "/data/x");
        let grants = Grants::open(&[resource], &HostPathMap::default(), Some(Ids::Same)).unwrap();
        let FileIdentity { device, inode } = grants.planned[0].seen.as_ref().unwrap().identity;
        let meant = (device, inode);
        let inside = |boot_id: String, granted| Surroundings {
            boot_id,
            granted: vec![granted],
            places: vec!["/data/x".into()],
        };
        assert!(grants.compare(&inside(boot(), meant)).is_ok());
        let error = grants.compare(&inside(boot(), (meant.0, meant.1 + 1))).unwrap_err();
        assert!(error.to_string().contains("something else than"), "{error}");
        // On another machine the numbers are not compared.
        assert!(grants.compare(&inside("elsewhere".into(), (1, 2))).is_ok());
        // Links of an image are the same on every machine.
        let led = Surroundings { places: vec!["/run/belljar".into()], ..inside("elsewhere".into(), meant) };
        let error = grants.compare(&led).unwrap_err();
        assert!(error.to_string().contains("leads to /run/belljar"), "{error}");
    }

    #[test]
    fn the_map_is_asked_first_and_a_config_that_says_otherwise_is_told() {
        let map: HostPathMap = [("/belljar/here", "/there")].into_iter().collect();
        let mut resource = FileResource::new("/belljar/here/x", "/data/x");
        resource.docker_host_path = Some("/elsewhere/x".into());
        let grants = Grants::open(&[resource], &map, Some(Ids::Same)).unwrap();
        assert_eq!(grants.sources().next().unwrap().1, Path::new("/there/x"));
        assert!(matches!(grants.warnings(), [one] if one.contains("/elsewhere/x, is not used")));
    }

    #[test]
    fn a_place_of_somebody_elses_to_write_to_is_told_of() {
        let home = tempfile::tempdir().unwrap();
        let warned = |read_only| {
            let resource = FileResource { read_only, ..FileResource::new(home.path(), "/data/x") };
            Grants::open(&[resource], &HostPathMap::default(), Some(Ids::Same)).unwrap().warnings().len()
        };
        let is_theirs = home.path().metadata().unwrap().uid() == GUEST_ID;
        assert_eq!(warned(false), usize::from(!is_theirs));
        assert_eq!(warned(true), 0);
    }

    #[test]
    fn a_path_that_is_not_here_is_left_to_the_daemon() {
        let resource = FileResource::new("/belljar/is/not/here", "/data/x");
        let grants = Grants::open(&[resource], &HostPathMap::default(), Some(Ids::Same)).unwrap();
        assert_eq!(grants.sources().next().unwrap().1, Path::new("/belljar/is/not/here"));
        let inside = Surroundings { boot_id: boot(), granted: vec![(1, 2)], places: vec!["/data/x".into()] };
        assert!(grants.compare(&inside).is_ok());
    }
}
