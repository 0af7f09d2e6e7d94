//! Host files that a sandbox may see.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ConfigError;
use crate::layout::{RESERVED, WORKSPACE, is_in_workspace, overlap, through_link};

/// One host file or directory that a sandbox sees. It is read-only by default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileResource {
    /// Its path for the process that runs Belljar.
    #[serde(alias = "host-path")]
    pub host_path: PathBuf,
    /// Its path for the script: absolute, usually below `/data`.
    #[serde(alias = "container-path")]
    pub container_path: String,
    /// Whether the script may only read it.
    #[serde(alias = "read-only", default = "read_only")]
    pub read_only: bool,
    /// Its path for the docker daemon. It differs from `host_path` if Belljar itself runs in a
    /// container. If the engine's path map covers `host_path`, the map wins.
    #[serde(alias = "docker-host-path", default, skip_serializing_if = "Option::is_none")]
    pub docker_host_path: Option<PathBuf>,
}

fn read_only() -> bool {
    true
}

impl FileResource {
    /// A read-only resource.
    pub fn new(host_path: impl Into<PathBuf>, container_path: impl Into<String>) -> Self {
        Self {
            host_path: host_path.into(),
            container_path: container_path.into(),
            read_only: true,
            docker_host_path: None,
        }
    }

    /// A resource that scripts may write to.
    pub fn read_write(host_path: impl Into<PathBuf>, container_path: impl Into<String>) -> Self {
        Self { read_only: false, ..Self::new(host_path, container_path) }
    }

    /// The path to mount: what `map` makes of `host_path`, else the explicit `docker_host_path`,
    /// else `host_path` itself.
    ///
    /// The map comes first, because the person who runs this process sets it and knows where it
    /// runs. A config may have been written for another place.
    pub fn mount_source(&self, map: &HostPathMap) -> PathBuf {
        let mapped = map.translate(&self.host_path);
        mapped.or_else(|| self.docker_host_path.clone()).unwrap_or_else(|| self.host_path.clone())
    }

    /// The warning for the caller if `map` and `docker_host_path` differ.
    pub fn mount_warning(&self, map: &HostPathMap) -> Option<String> {
        let (mapped, explicit) = (map.translate(&self.host_path)?, self.docker_host_path.as_ref()?);
        (mapped != *explicit).then(|| {
            format!(
                "{} is mounted from {}, as host_path_map has it; its docker_host_path, {}, is not used",
                self.container_path,
                mapped.display(),
                explicit.display()
            )
        })
    }

    /// Refuses paths that could mean more than they say.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_source("host_path", &self.host_path)?;
        if let Some(path) = &self.docker_host_path {
            check_source("docker_host_path", path)?;
        }
        check_target(&self.container_path)
            .map_err(|rule| ConfigError::invalid("container_path", &self.container_path, rule))
    }

    /// Checks each resource. Checks that no two of them share a place in the guest.
    pub(super) fn validate_all(resources: &[Self]) -> Result<(), ConfigError> {
        for (index, resource) in resources.iter().enumerate() {
            let field = format!("resources[{index}]");
            resource.validate().map_err(|error| error.within(&field))?;
            let path = &resource.container_path;
            let clash = resources[..index].iter().position(|other| overlap(path, &other.container_path));
            if let Some(earlier) = clash {
                let other = &resources[earlier].container_path;
                let rule =
                    format!("must not be at, inside or above {other:?}, which is resources[{earlier}]");
                return Err(ConfigError::invalid("container_path", path, rule).within(&field));
            }
        }
        Ok(())
    }
}

fn check_source(field: &str, path: &Path) -> Result<(), ConfigError> {
    let invalid = |rule: &str| Err(ConfigError::invalid(field, path, rule));
    let Some(text) = path.to_str() else {
        return invalid("must be UTF-8, because a config is text");
    };
    if text.contains(['\0', '\n']) {
        return invalid("must not hold a NUL or a line break");
    }
    if !path.is_absolute() {
        return invalid("must be absolute, because a config may be read from any directory");
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return invalid(
            "must not have a `..` component, because it would be taken before links are followed",
        );
    }
    Ok(())
}

fn check_target(path: &str) -> Result<(), String> {
    let Some(below) = path.strip_prefix('/') else {
        return Err("must be absolute, such as \"/data/docs\"".to_owned());
    };
    if path.chars().any(char::is_control) {
        return Err("must not hold a NUL, a line break or another control character".to_owned());
    }
    if path.len() > 4095 {
        return Err("must be at most 4095 bytes long, because the kernel takes no more".to_owned());
    }
    if below.is_empty() {
        return Err("must not be the root of the guest".to_owned());
    }
    if let Some(part) = below.split('/').find(|part| matches!(*part, "" | "." | "..")) {
        return Err(format!("must be in its plain form, without the component {part:?}"));
    }
    if let Some((link, meant)) = through_link(path) {
        return Err(format!("must not go through {link:?}, which is a link in many images: say {meant:?}"));
    }
    match RESERVED.iter().find(|place| overlap(path, place) && !is_in_workspace(path)) {
        // Inside, it is fine.
        Some(place) if *place == WORKSPACE => Err(format!(
            "must not be at or above {place:?}, which the sandbox fills itself: say \"{place}/name\""
        )),
        Some(place) => {
            Err(format!("must not be at, inside or above {place:?}, which the sandbox fills itself"))
        }
        None => Ok(()),
    }
}

/// Maps paths of Belljar's process to paths of the docker daemon, prefix by prefix.
///
/// It is needed when Belljar runs in a container and uses the daemon outside: `/app/data` here may
/// be `/srv/prod/data` there. The longest matching prefix wins. Prefixes end at component
/// boundaries: `/data` says nothing about `/database`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostPathMap(BTreeMap<PathBuf, PathBuf>);

impl HostPathMap {
    /// A map that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that `prefix` here is `target` there. It replaces an earlier target of the same prefix.
    pub fn insert(&mut self, prefix: impl Into<PathBuf>, target: impl Into<PathBuf>) {
        self.0.insert(prefix.into(), target.into());
    }

    /// The path on the other side. `None` if no prefix covers it.
    pub fn translate(&self, path: &Path) -> Option<PathBuf> {
        path.ancestors().find_map(|prefix| {
            let target = self.0.get(prefix)?;
            let rest = path.strip_prefix(prefix).ok()?;
            Some(target.components().chain(rest.components()).collect())
        })
    }
}

impl<P: Into<PathBuf>, T: Into<PathBuf>> FromIterator<(P, T)> for HostPathMap {
    fn from_iter<I: IntoIterator<Item = (P, T)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(prefix, target)| (prefix.into(), target.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_prefix_wins_then_the_explicit_path_then_the_path_itself() {
        let map: HostPathMap = [("/app", "/short"), ("/app/data/", "/long/")].into_iter().collect();
        let mut resource = FileResource::new("/app/data/docs", "/data/docs");
        assert_eq!(resource.mount_source(&HostPathMap::new()), Path::new("/app/data/docs"));
        assert_eq!(resource.mount_source(&map), Path::new("/long/docs"));
        resource.docker_host_path = Some("/srv/docs".into());
        assert_eq!(resource.mount_source(&map), Path::new("/long/docs"));
        let elsewhere: HostPathMap = [("/other", "/there")].into_iter().collect();
        assert_eq!(resource.mount_source(&elsewhere), Path::new("/srv/docs"));
    }

    #[test]
    fn two_answers_that_differ_are_worth_a_warning() {
        let map: HostPathMap = [("/app", "/srv")].into_iter().collect();
        let mut resource = FileResource::new("/app/docs", "/data/docs");
        assert_eq!(resource.mount_warning(&map), None);
        resource.docker_host_path = Some("/srv/docs/".into());
        assert_eq!(resource.mount_warning(&map), None, "the same path, spelled otherwise");
        resource.docker_host_path = Some("/mnt/docs".into());
        assert_eq!(resource.mount_warning(&HostPathMap::new()), None);
        let warning = resource.mount_warning(&map).unwrap();
        assert!(
            warning.contains("/data/docs is mounted from /srv/docs, as host_path_map has it"),
            "{warning}"
        );
        assert!(warning.contains("docker_host_path, /mnt/docs, is not used"), "{warning}");
    }

    #[test]
    fn a_prefix_covers_itself_and_ends_at_a_component() {
        let map: HostPathMap = [("/data", "/srv")].into_iter().collect();
        assert_eq!(map.translate(Path::new("/data")).unwrap().to_str(), Some("/srv"));
        assert_eq!(map.translate(Path::new("/data/x/")).unwrap().to_str(), Some("/srv/x"));
        assert_eq!(map.translate(Path::new("/database")), None);
        assert_eq!(map.translate(Path::new("/dat")), None);
        let all: HostPathMap = [("/", "/host")].into_iter().collect();
        assert_eq!(all.translate(Path::new("/x/y")).unwrap().to_str(), Some("/host/x/y"));
    }

    #[test]
    fn each_bad_path_is_refused_by_field_value_and_rule() {
        let table = [
            ("data", "/data", "host_path = \"data\" is invalid: must be absolute"),
            ("/a/../b", "/data", "host_path = \"/a/../b\" is invalid: must not have a `..`"),
            ("/a\0", "/data", "host_path = \"/a\\0\" is invalid: must not hold a NUL"),
            ("/a", "data", "container_path = \"data\" is invalid: must be absolute"),
            ("/a", "", "container_path = \"\" is invalid: must be absolute"),
            ("/a", "/", "container_path = \"/\" is invalid: must not be the root"),
            ("/a", "/x/../etc", "container_path = \"/x/../etc\" is invalid: must be in its plain form"),
            ("/a", "/x/./y", "container_path = \"/x/./y\" is invalid: must be in its plain form"),
            ("/a", "/x/", "container_path = \"/x/\" is invalid: must be in its plain form"),
            ("/a", "//x", "container_path = \"//x\" is invalid: must be in its plain form"),
            ("/a", "/x\ny", "container_path = \"/x\\ny\" is invalid: must not hold a NUL, a line break"),
        ];
        for (host, guest, expected) in table {
            let text = FileResource::new(host, guest).validate().unwrap_err().to_string();
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn reserved_places_are_refused_at_inside_and_above() {
        for guest in
            RESERVED.into_iter().chain(["/proc/self", "/usr/share/data", "/opt", "/run", "/opt/python/x"])
        {
            let text = FileResource::new("/a", guest).validate().unwrap_err().to_string();
            assert!(text.contains("which the sandbox fills itself"), "{guest}: {text}");
        }
        for guest in [
            "/data",
            "/etcetera",
            "/opt/models",
            "/run/other",
            "/workspaces",
            "/home/me",
            "/workspace/in/data",
        ] {
            assert_eq!(FileResource::new("/a", guest).validate(), Ok(()), "{guest}");
        }
    }

    /// A container engine would mount over `/run/belljar` under its second name.
    #[test]
    fn reserved_places_are_refused_under_their_second_names() {
        for (guest, meant) in [
            ("/var/run", "say \"/run\""),
            ("/var/run/belljar", "say \"/run/belljar\""),
            ("/var/run/belljar-egress/x", "say \"/run/belljar-egress/x\""),
            ("/var/lock/x", "say \"/run/lock/x\""),
        ] {
            let text = FileResource::new("/a", guest).validate().unwrap_err().to_string();
            assert!(text.contains("is a link") && text.ends_with(meant), "{guest}: {text}");
        }
        for guest in ["/bin/x", "/lib64/x", "/proc/self/root/run/belljar", "/dev/fd/x"] {
            assert!(FileResource::new("/a", guest).validate().is_err(), "{guest}");
        }
        for guest in ["/var", "/var/runner", "/var/lib/x"] {
            assert_eq!(FileResource::new("/a", guest).validate(), Ok(()), "{guest}");
        }
    }

    #[test]
    fn two_resources_in_one_place_are_refused_with_both_named() {
        for (one, other) in [("/data/a", "/data/a"), ("/data", "/data/a"), ("/data/a", "/data")] {
            let pair = [FileResource::new("/x", one), FileResource::new("/y", other)];
            assert_eq!(
                FileResource::validate_all(&pair).unwrap_err().to_string(),
                format!(
                    "resources[1].container_path = {other:?} is invalid: \
                     must not be at, inside or above {one:?}, which is resources[0]"
                )
            );
        }
        let pair = [FileResource::new("/x", "/data"), FileResource::new("/y", "/database")];
        assert_eq!(FileResource::validate_all(&pair), Ok(()));
    }

    fn slashed(parts: &[String]) -> String {
        parts.iter().map(|part| format!("/{part}")).collect()
    }

    proptest! {
        #[test]
        fn a_prefix_never_covers_a_longer_name(
            prefix in vec("[ab]{1,2}", 1..4),
            more in "[abc.-]{1,3}",
            rest in vec("[ab]", 0..3),
        ) {
            let prefix = slashed(&prefix);
            let map: HostPathMap = [(&prefix, "/x")].into_iter().collect();
            let longer = format!("{prefix}{more}{}", slashed(&rest));
            prop_assert_eq!(map.translate(Path::new(&longer)), None);
            let below = format!("{prefix}{}", slashed(&rest));
            prop_assert_eq!(map.translate(Path::new(&below)), Some(PathBuf::from(format!("/x{}", slashed(&rest)))));
        }

        #[test]
        fn the_longest_prefix_wins(prefixes in vec(vec("[ab]{1,2}", 0..4), 0..6), path in vec("[ab]{1,2}", 0..6)) {
            let name = |parts: &[String]| if parts.is_empty() { "/".to_owned() } else { slashed(parts) };
            let map: HostPathMap = prefixes.iter().map(|parts| (name(parts), format!("/t{}", parts.len()))).collect();
            let longest = prefixes.iter().filter(|parts| path.starts_with(parts)).map(Vec::len).max();
            let expected = longest.map(|len| PathBuf::from(format!("/t{len}{}", slashed(&path[len..]))));
            prop_assert_eq!(map.translate(Path::new(&name(&path))), expected);
        }
    }
}
