//! Opens the host files that a config grants, and makes sure they are what the config's author
//! meant.
//!
//! A script that may write to a granted directory can put a symbolic link in the place of something
//! else. Whoever follows that link later ends up wherever the script likes. So:
//!
//! * A grant inside a directory that scripts may write to is refused, because a script could
//!   replace it. The names of the two do not matter: `inside` compares files and places in file
//!   systems, not names alone.
//! * A link on the way to a grant is followed only if no guest can have made it
//!   ([`named_path`](crate::named_path)).
//! * What was found is opened once, without following anything. Whoever mounts it compares the
//!   mount with it.

mod inside;

use std::fs::Metadata;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use belljar_core::config::FileResource;
use belljar_jail::FileIdentity;
use rustix::fs::OFlags;

use self::inside::Surroundings;
use crate::EngineError;
use crate::named_path::{self, Unresolved};

/// One granted file or directory, held open. Whatever happens to its name, this is what was meant.
#[derive(Debug)]
pub(crate) struct Grant {
    /// Its path, with no link in it.
    pub(crate) path: PathBuf,
    pub(crate) metadata: Metadata,
    /// Tells it from every other file for as long as it is open.
    pub(crate) identity: FileIdentity,
    /// The directories it is inside.
    around: Surroundings,
    #[cfg_attr(not(feature = "native"), expect(dead_code, reason = "it only keeps the file open"))]
    handle: OwnedFd,
}

/// Opens every resource of a config, in order.
#[cfg(feature = "native")]
pub(crate) fn open_all(resources: &[FileResource]) -> Result<Vec<Grant>, EngineError> {
    let grants = resources.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let named: Vec<_> = resources
        .iter()
        .zip(&grants)
        .map(|(resource, grant)| Named { resource, path: &grant.path, seen: Some(grant) })
        .collect();
    refuse_replaceable(&named)?;
    Ok(grants)
}

/// A resource, and what is known about it.
pub(crate) struct Named<'a> {
    pub(crate) resource: &'a FileResource,
    /// The path that will be mounted.
    pub(crate) path: &'a Path,
    /// The file as seen from here, if it can be seen.
    pub(crate) seen: Option<&'a Grant>,
}

impl Named<'_> {
    fn is_inside(&self, outer: &Self) -> bool {
        let by_name = self.path != outer.path && self.path.starts_with(outer.path);
        let in_fact = self.seen.zip(outer.seen).is_some_and(|(inner, outer)| inner.is_inside(outer));
        by_name || in_fact
    }
}

impl Grant {
    /// Held open, as a location only.
    #[cfg(feature = "native")]
    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    fn is_inside(&self, outer: &Self) -> bool {
        self.identity != outer.identity && self.around.are_inside(outer.identity, &outer.around)
    }
}

/// Refuses a grant that lies inside another one that scripts may write to.
pub(crate) fn refuse_replaceable(grants: &[Named<'_>]) -> Result<(), EngineError> {
    for outer in grants.iter().filter(|named| !named.resource.read_only) {
        if let Some(inner) = grants.iter().find(|inner| inner.is_inside(outer)) {
            return Err(EngineError::ReplaceableResource {
                inner: inner.resource.host_path.clone(),
                outer: outer.resource.host_path.clone(),
            });
        }
    }
    Ok(())
}

/// Opens one resource.
pub(crate) fn open(resource: &FileResource) -> Result<Grant, EngineError> {
    let missing = |source| EngineError::Resource {
        host_path: resource.host_path.clone(),
        container_path: resource.container_path.clone(),
        source,
    };
    let path = match named_path::resolve(&resource.host_path) {
        Ok(path) => path,
        Err(Unresolved::Io(error)) => return Err(missing(error)),
        Err(Unresolved::Link(link)) => {
            return Err(EngineError::LinkInResource { host_path: resource.host_path.clone(), link });
        }
    };
    let handle = named_path::open(&path, OFlags::PATH).map_err(&missing)?;
    let file = std::fs::File::from(handle);
    let metadata = file.metadata().map_err(&missing)?;
    let identity = FileIdentity::of(&file).map_err(&missing)?;
    let around = Surroundings::of(&file, &path).map_err(missing)?;
    Ok(Grant { path, metadata, identity, around, handle: file.into() })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn resource(path: &Path, read_only: bool) -> FileResource {
        FileResource { read_only, ..FileResource::new(path, "/data/x") }
    }

    /// A directory that users other than root may write to, whoever runs the tests.
    fn anybodys() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        directory
    }

    #[test]
    fn a_grant_is_what_its_path_names() {
        let home = anybodys();
        fs::create_dir_all(home.path().join("a/b")).unwrap();
        let path = home.path().join("a/b");
        let grants = open_all(&[resource(&path, true)]).unwrap();
        assert_eq!(grants[0].path, path.canonicalize().unwrap());
        let found = fs::metadata(&path).unwrap();
        assert_eq!(grants[0].identity, FileIdentity { device: found.dev(), inode: found.ino() });
    }

    #[test]
    fn a_link_that_a_guest_can_have_made_is_not_followed() {
        let home = anybodys();
        fs::create_dir(home.path().join("secret")).unwrap();
        symlink("secret", home.path().join("docs")).unwrap();
        for path in ["docs", "docs/."] {
            let error = open_all(&[resource(&home.path().join(path), true)]).unwrap_err();
            let said = error.to_string();
            assert!(matches!(error, EngineError::LinkInResource { .. }), "{said}");
            assert!(said.contains("docs") && said.contains("secret"), "{said}");
        }
        symlink("/etc", home.path().join("etc")).unwrap();
        assert!(open_all(&[resource(&home.path().join("etc/passwd"), true)]).is_err());
    }

    /// As root, this is what a script can leave in a directory of root's that it may write to.
    #[test]
    fn links_elsewhere_are_not_followed_whoever_owns_them() {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("/etc", home.path().join("etc")).unwrap();
        let error = open_all(&[resource(&home.path().join("etc/passwd"), true)]).unwrap_err();
        assert!(matches!(error, EngineError::LinkInResource { .. }), "{error}");
    }

    #[test]
    fn what_a_script_could_replace_is_not_granted() {
        let home = anybodys();
        fs::create_dir_all(home.path().join("data/sub")).unwrap();
        fs::create_dir_all(home.path().join("database")).unwrap();
        let at = |path: &str, read_only| resource(&home.path().join(path), read_only);
        for grants in [
            [at("data", false), at("data/sub", true)],
            [at("data/sub", true), at("data", false)],
            [at("data/sub", false), at("data", false)],
        ] {
            let error = open_all(&grants).unwrap_err();
            assert!(matches!(error, EngineError::ReplaceableResource { .. }), "{error}");
        }
        for grants in [
            [at("data", true), at("data/sub", false)],
            [at("data", false), at("data", true)],
            [at("data", false), at("database", true)],
        ] {
            assert!(open_all(&grants).is_ok());
        }
    }
}
