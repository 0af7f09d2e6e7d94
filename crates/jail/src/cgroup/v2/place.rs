//! Where the groups of cells come from. This is the one place that decides it.
//!
//! 1. The group that this process is in, or the one above, if it was delegated (`leaf`). What an
//!    operator allows a service counts for its cells, too.
//! 2. A scope that systemd makes (`scope`). This process stays where it is.
//! 3. For root without systemd: below the group that this process is in, wherever that is.
//!
//! Nothing is tried by writing into a group that belongs to somebody else. A user may own groups
//! that are their manager's (`app.slice`), and root may write anywhere.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use belljar_core::remedies::{self, Remedy};
use rustix::process::geteuid;

use super::super::{GroupOptions, HostDirectory, Missing, Surroundings};
use super::group_files::{Group, own_group};
use super::leaf::{Delegated, LEAF};
use super::scope::Scope;
use crate::systemd::Manager;

/// A place in which groups for cells can be made.
#[derive(Debug)]
pub(super) enum Place {
    /// A group that was delegated, or that is ours because nobody else manages groups here.
    Delegated(Delegated),
    /// A scope of our own.
    Scope(Scope),
    /// The root of the tree, in which this process is.
    Root(Group),
}

impl Place {
    /// The group below which the host's directory is.
    pub(super) fn group(&self) -> &Group {
        match self {
            Self::Delegated(delegated) => &delegated.group,
            Self::Scope(scope) => &scope.group,
            Self::Root(group) => group,
        }
    }
}

/// Finds a place and makes the host's directory there.
pub(super) fn find(around: &Surroundings, options: GroupOptions) -> Result<(Place, HostDirectory), Missing> {
    let is_root_user = geteuid().is_root();
    let Some(own) = current(&around.mount, &around.membership, || around.membership_now()) else {
        let reason = "what is mounted on /sys/fs/cgroup does not show the group of this process".into();
        return Err(Missing { reason, remedy: &remedies::CONTAINER_GROUPS });
    };
    if own.is_read_only() {
        let remedy =
            if around.in_container { &remedies::CONTAINER_GROUPS } else { &remedies::WRITABLE_GROUPS };
        return Err(Missing { reason: "control groups are read-only here".into(), remedy });
    }
    let mut reasons = Vec::new();
    if own.is_root() && is_root_user {
        match own.hand_on().and_then(|()| HostDirectory::claim(&own.path)) {
            Ok(directory) => return Ok((Place::Root(own), directory)),
            Err(error) => reasons.push(said(&own.path, &error)),
        }
    }
    let is_unmanaged = is_root_user && around.manager.is_none();
    let mut remedy = None;
    match delegated(&own, around).or_else(|| (is_unmanaged && !own.is_root()).then(|| own.clone())) {
        // Unless this process is in a leaf already, it has to be moved.
        Some(group) if !options.move_processes && group == own => {
            reasons.push(format!("processes must not be moved out of {}", own.path.display()));
            remedy = Some(&remedies::MOVE_PROCESSES);
        }
        Some(group) => match Delegated::claim(group.clone()) {
            Ok((delegated, directory)) => return Ok((Place::Delegated(delegated), directory)),
            Err(error) => reasons.push(said(&group.path, &error)),
        },
        None => {}
    }
    if let Some(manager) = &around.manager {
        match Scope::claim(manager, &around.mount, &own) {
            Ok((scope, directory)) => return Ok((Place::Scope(scope), directory)),
            Err(reason) => reasons.push(reason),
        }
    }
    let remedy = remedy.unwrap_or_else(|| remedy_for(around, &own, is_root_user));
    if reasons.is_empty() {
        reasons.push(format!("{} was not delegated to this user", own.path.display()));
    }
    Err(Missing { reason: reasons.join("; "), remedy })
}

/// The group that this process is in. Whoever claims or leaves a delegated group moves all of its
/// processes, this one too, perhaps between two looks.
fn current(mount: &Path, membership: &str, now: impl Fn() -> String) -> Option<Group> {
    /// Nobody moves a process so often.
    const LOOKS: usize = 10;
    let mut membership = membership.to_owned();
    for _ in 0..LOOKS {
        let found = own_group(mount, &membership);
        let later = now();
        if found.is_some() || later == membership {
            return found;
        }
        membership = later;
    }
    None
}

/// The group at or above our own that was delegated. The one above is taken only if systemd says
/// so, or if we are in a leaf that a host of ours has made in it.
fn delegated(own: &Group, around: &Surroundings) -> Option<Group> {
    let above = own.path.parent().filter(|_| own.path != around.mount).map(Group::at);
    let is_leaf = own.path.file_name().is_some_and(|name| name == LEAF);
    if let Some(above) = above.filter(|above| is_leaf || is_delegated(above, around)) {
        return Some(above);
    }
    // What a container sees as the root of the tree is the group that was made for it.
    let is_containers = own.path == around.mount && !own.is_root();
    (is_containers || is_delegated(own, around)).then(|| own.clone())
}

/// Whether systemd says that it has delegated a group. Who owns it says nothing: a user's manager
/// makes its own groups in the user's name, too.
fn is_delegated(group: &Group, around: &Surroundings) -> bool {
    if group.is_marked_delegated() {
        return true;
    }
    // Not every version leaves a mark that this user can see: the managers of users in systemd 252
    // leave none.
    let (Some(manager), Ok(place)) = (&around.manager, group.path.strip_prefix(&around.mount)) else {
        return false;
    };
    let of_user = place.iter().any(is_user_manager);
    let Some(unit) = place.file_name().and_then(|name| name.to_str()) else { return false };
    let group = format!("/{}", place.display());
    match of_user == manager.is_of_user() {
        true => manager.delegates(unit, &group),
        false => !of_user && Manager::of_the_system().delegates(unit, &group),
    }
}

/// Whether this is the name of the unit that the manager of a user is.
pub(super) fn is_user_manager(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("user@") && name.ends_with(".service"))
}

/// What to do so that there is a place.
fn remedy_for(around: &Surroundings, own: &Group, is_root_user: bool) -> &'static Remedy {
    // In a service that runs as somebody else (cron, `su` in a service) its unit cannot help:
    // systemd delegates a group to the user of the unit.
    let is_own_service = own.path.starts_with(around.mount.join("system.slice")) && own.is_all_ours();
    match &around.manager {
        _ if around.in_container => &remedies::CONTAINER_GROUPS,
        None => &remedies::RUN_AS_ROOT,
        Some(_) if is_root_user || is_own_service => &remedies::DELEGATE,
        Some(_) => &remedies::LINGER,
    }
}

fn said(group: &Path, error: &io::Error) -> String {
    format!("{}: {error}", group.display())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use rustix::fs::{XattrFlags, setxattr};

    use super::*;
    use crate::cgroup::{Cgroups, Controller, GroupSource};

    /// A tree of plain files, with this process in `a.service`, below what may be delegated.
    struct Machine {
        root: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            for group in ["", "system.slice", "system.slice/a.service", "system.slice/a.service/inner"] {
                let group = root.path().join(group);
                fs::create_dir_all(&group).unwrap();
                for (file, text) in [
                    ("cgroup.controllers", "cpu memory pids\n"),
                    ("cgroup.subtree_control", "cpu memory pids\n"),
                    ("cgroup.procs", ""),
                    ("cgroup.type", "domain\n"),
                ] {
                    fs::write(group.join(file), text).unwrap();
                }
            }
            fs::remove_file(root.path().join("cgroup.type")).unwrap();
            Self { root }
        }

        fn group(&self, name: &str) -> PathBuf {
            self.root.path().join("system.slice").join(name)
        }

        /// Leaves the mark of systemd. Returns false where the file system has no such marks.
        fn delegate(&self, name: &str) -> bool {
            let marked = setxattr(self.group(name), "user.delegate", b"1", XattrFlags::empty());
            if marked.is_err() {
                println!("groups: skipped (no extended attributes in {})", self.root.path().display());
            }
            marked.is_ok()
        }

        /// What is found from a place, with a systemd that does not answer.
        fn look(&self, own: &str, options: GroupOptions) -> Cgroups {
            let around = Surroundings {
                mount: self.root.path().into(),
                membership: format!("0::/system.slice/{own}\n"),
                manager: Some(Manager::at_nowhere(false)),
                in_container: false,
            };
            Cgroups::detect(&around, options)
        }
    }

    #[test]
    fn a_delegated_group_is_taken_and_left_as_it_was() {
        let machine = Machine::new();
        if !machine.delegate("a.service") {
            return;
        }
        let (group, named) = (machine.group("a.service"), PathBuf::from("/system.slice/a.service"));
        for own in ["a.service", "a.service/inner"] {
            let cgroups = machine.look(own, GroupOptions::default());
            assert_eq!(cgroups.source(), GroupSource::Delegated { group: named.clone() });
            assert_eq!(Group::at(&group).children().len(), 2, "there is a directory for the host's cells");
            drop(cgroups);
            assert_eq!(Group::at(&group).children(), [group.join("inner")]);
        }
    }

    #[test]
    fn a_program_that_forbids_it_is_not_moved() {
        let machine = Machine::new();
        if !machine.delegate("a.service") {
            return;
        }
        let stay = GroupOptions { move_processes: false };
        let cgroups = machine.look("a.service", stay);
        assert_eq!(cgroups.source(), GroupSource::None);
        let missing = cgroups.why_missing(Controller::Memory).unwrap();
        assert_eq!(missing.remedy, &remedies::MOVE_PROCESSES);
        assert!(!machine.group("a.service").join(LEAF).exists());
        // Below the delegated group there is nothing to move.
        let group = "/system.slice/a.service".into();
        assert_eq!(machine.look("a.service/inner", stay).source(), GroupSource::Delegated { group });
    }

    #[test]
    fn a_group_above_is_taken_by_its_mark_or_by_our_leaf_and_by_nothing_else() {
        let machine = Machine::new();
        assert_eq!(machine.look("a.service/inner", GroupOptions::default()).source(), GroupSource::None);
        assert_eq!(machine.look("a.service", GroupOptions::default()).source(), GroupSource::None);
        let leaf = machine.group("a.service").join(LEAF);
        fs::create_dir(&leaf).unwrap();
        fs::write(leaf.join("cgroup.procs"), "").unwrap();
        fs::write(leaf.join("cgroup.type"), "domain\n").unwrap();
        let found = machine.look(&format!("a.service/{LEAF}"), GroupOptions::default());
        assert_eq!(found.source(), GroupSource::Delegated { group: "/system.slice/a.service".into() });
    }

    #[test]
    fn what_is_to_do_depends_on_who_asks_from_where() {
        let machine = Machine::new();
        let cgroups = machine.look("a.service", GroupOptions::default());
        let missing = cgroups.why_missing(Controller::Memory).unwrap();
        assert_eq!(missing.remedy, &remedies::DELEGATE);
        assert!(missing.reason.contains("is not there"), "{missing:?}");
    }

    #[test]
    fn a_process_that_is_moved_between_two_looks_is_found_where_it_is() {
        let machine = Machine::new();
        let (gone, here) = ("0::/system.slice/a.service/gone\n", "0::/system.slice/a.service\n");
        let found = current(machine.root.path(), gone, || here.to_owned());
        assert_eq!(found.map(|group| group.path), Some(machine.group("a.service")));
        assert!(current(machine.root.path(), gone, || gone.to_owned()).is_none());
    }
}
