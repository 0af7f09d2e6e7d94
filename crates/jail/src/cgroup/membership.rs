//! Which group a process is in, and whether a directory really is that group.
//!
//! `/proc/self/cgroup` names a group as this process's namespace sees it. What is mounted on
//! `/sys/fs/cgroup` may show the tree as somebody else sees it, such as the host of a container.
//! Then the same name is another group, and limits of the container would not hold below that.

use std::fs;
use std::path::Path;

use rustix::fs::statfs;

const CGROUP: u64 = 0x27_e0eb;
const CGROUP2: u64 = 0x6367_7270;

/// The group that a process is in, in the one tree of version 2.
pub(super) fn membership_of(process: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    in_version_2(&text).map(str::to_owned)
}

/// The same, out of the text of `/proc/self/cgroup`.
pub(super) fn in_version_2(membership: &str) -> Option<&str> {
    membership.lines().find_map(|line| line.strip_prefix("0::"))
}

/// Whether the kernel lists this process there. What is no group at all is not doubted.
pub(super) fn is_ours(group: &Path) -> bool {
    let kind = statfs(group).map_or(0, |found| found.f_type.cast_unsigned());
    if kind != CGROUP && kind != CGROUP2 {
        return true;
    }
    let own = std::process::id().to_string();
    fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|listed| listed.lines().any(|pid| pid == own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_list_us_are_ours() {
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap();
        let ours = membership.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, place) = (parts.next()?, parts.next()?);
            let mounted = Path::new("/sys/fs/cgroup").join(controllers);
            let group = mounted.join(place.trim_start_matches('/'));
            group.join("cgroup.procs").exists().then_some(group)
        });
        let Some(ours) = ours else {
            println!("groups: skipped (no control groups are mounted)");
            return;
        };
        assert!(is_ours(&ours), "{} lists this process", ours.display());
        let below = fs::read_dir(&ours).unwrap().flatten().map(|entry| entry.path());
        for other in below.filter(|path| path.join("cgroup.procs").exists()) {
            assert!(!is_ours(&other), "{} does not", other.display());
        }
        assert!(is_ours(Path::new("/")), "no group");
    }
}
