//! Facts about this machine that explain why something was refused.

use std::fs;
use std::path::Path;

use belljar_core::remedies;

use crate::shortage;

/// Whether this is inside of Docker, Podman, Kubernetes or similar.
pub(crate) fn is_container() -> bool {
    ["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"]
        .iter()
        .any(|path| Path::new(path).exists())
}

/// What is known about the machine and this process's place in it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Circumstances {
    /// Ubuntu 23.10 and later: AppArmor gives user namespaces only to programs with a profile, and
    /// this one has none.
    apparmor_restricts: bool,
    /// This program has an AppArmor profile that forbids what it does not allow.
    apparmor_confines: bool,
    /// The switch of Debian and others.
    clone_is_off: bool,
    /// The kernel's own limit is zero.
    none_allowed: bool,
    /// Docker, Podman, Kubernetes or similar.
    in_container: bool,
    /// A service of systemd's. What a unit may forbid is long.
    in_service: bool,
}

impl Circumstances {
    pub(crate) fn here() -> Self {
        let holds = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
        let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        // The profile, and its mode in brackets: `belljar (unconfined)`.
        let profile = fs::read_to_string("/proc/self/attr/apparmor/current").unwrap_or_default();
        let has_profile = profile.trim_end().ends_with(')');
        Self {
            apparmor_restricts: !has_profile
                && holds("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            apparmor_confines: profile.trim_end().ends_with("(enforce)"),
            clone_is_off: holds("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            none_allowed: holds("/proc/sys/user/max_user_namespaces", "0"),
            in_container: is_container(),
            in_service: group.lines().any(is_in_service),
        }
    }

    /// The usual cause of a refusal, and what to do about it.
    pub(crate) fn remedy(self, errno: Option<i32>) -> &'static str {
        const EPERM: i32 = 1;
        const EACCES: i32 = 13;
        /// The limit is reached. The kernel says the same if it is zero.
        const ENOSPC: i32 = 28;
        /// What `RestrictAddressFamilies=` answers.
        const EAFNOSUPPORT: i32 = 97;
        if let Some(remedy) = errno.and_then(shortage) {
            return remedy;
        }
        let remedy = match (self, errno) {
            (Self { apparmor_restricts: true, .. }, _) => &remedies::APPARMOR,
            (Self { clone_is_off: true, .. }, _) => &remedies::USERNS_CLONE,
            (Self { none_allowed: true, .. }, _) | (_, Some(ENOSPC)) => &remedies::MAX_USER_NAMESPACES,
            (Self { apparmor_confines: true, in_container: false, .. }, Some(EACCES)) => {
                &remedies::APPARMOR_PROFILE
            }
            (_, Some(EPERM | EACCES)) => return self.remedy_for_filter(),
            (Self { in_service: true, .. }, Some(EAFNOSUPPORT)) => return self.remedy_for_filter(),
            _ => &remedies::KERNEL,
        };
        remedy.text
    }

    /// What to do about somebody who filters system calls, or covers files.
    pub(crate) fn remedy_for_filter(self) -> &'static str {
        match self {
            Self { in_service: true, in_container: false, .. } => remedies::UNIT_PROFILE.text,
            _ => remedies::CONTAINER_PROFILE.text,
        }
    }
}

/// Whether a line of `/proc/self/cgroup` is that of a process in a service. Its innermost unit
/// counts: a user's manager is a service too, with everything of theirs in it. A service may have
/// groups below its own, such as the leaf that we move to.
fn is_in_service(line: &str) -> bool {
    let unit = line.rsplit('/').find(|part| [".service", ".scope"].iter().any(|kind| part.ends_with(kind)));
    unit.is_some_and(|unit| unit.ends_with(".service"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_in_the_service_that_is_its_innermost_unit() {
        let users = "0::/user.slice/user-1000.slice/user@1000.service";
        for (line, expected) in [
            ("0::/system.slice/a.service".to_owned(), true),
            ("0::/system.slice/a.service/belljar-host".to_owned(), true),
            ("1:name=systemd:/system.slice/a.service".to_owned(), true),
            (format!("{users}/app.slice/a.service/belljar-host"), true),
            (format!("{users}/app.slice/a.scope"), false),
            (format!("{users}/init.scope"), false),
            ("0::/user.slice/user-1000.slice/session-2.scope".to_owned(), false),
            ("0::/".to_owned(), false),
        ] {
            assert_eq!(is_in_service(&line), expected, "{line}");
        }
    }

    #[test]
    fn each_known_cause_has_its_remedy() {
        const EPERM: Option<i32> = Some(1);
        let here = Circumstances::default();
        for (circumstances, errno, named) in [
            (Circumstances { apparmor_restricts: true, ..here }, EPERM, remedies::APPARMOR.text),
            (Circumstances { clone_is_off: true, ..here }, EPERM, remedies::USERNS_CLONE.text),
            (Circumstances { none_allowed: true, ..here }, Some(28), remedies::MAX_USER_NAMESPACES.text),
            (Circumstances { apparmor_confines: true, ..here }, Some(13), remedies::APPARMOR_PROFILE.text),
            (
                Circumstances { apparmor_confines: true, in_service: true, ..here },
                EPERM,
                remedies::UNIT_PROFILE.text,
            ),
            (here, Some(28), remedies::MAX_USER_NAMESPACES.text),
            (Circumstances { in_container: true, ..here }, EPERM, remedies::CONTAINER_PROFILE.text),
            (Circumstances { in_service: true, ..here }, EPERM, remedies::UNIT_PROFILE.text),
            (Circumstances { in_service: true, ..here }, Some(97), remedies::UNIT_PROFILE.text),
            (here, EPERM, remedies::CONTAINER_PROFILE.text),
            (Circumstances { in_container: true, ..here }, Some(11), "ulimit -u"),
            (here, Some(12), "no memory left"),
            (here, Some(24), "ulimit -n"),
            (here, Some(22), remedies::KERNEL.text),
        ] {
            let remedy = circumstances.remedy(errno);
            assert!(remedy.contains(named), "{circumstances:?}: {remedy}");
        }
    }
}
