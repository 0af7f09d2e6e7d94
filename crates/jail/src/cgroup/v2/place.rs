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
    let Some(own) = own_group(&around.mount, &around.membership) else {
        let reason = "the group of this process is not below what is mounted on /sys/fs/cgroup".into();
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
    // Before version 254 managers of users leave no mark, and before 251 only root can see it.
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
