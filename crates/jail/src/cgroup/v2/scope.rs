//! A scope that systemd made for us. Only helpers and cells are in it:
//!
//! ```text
//!  belljar-cells-812-0.scope      Delegate=yes
//!  ├── jails                      the helpers of process 812, and their zygotes
//!  └── belljar-812-0              its cells
//! ```
//!
//! The process itself stays where it is. A helper that does nothing else holds the scope
//! (`launch::Anchor`). When that and all others are gone, systemd removes the scope, also after
//! `kill -9`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::super::HostDirectory;
use super::super::membership::membership_of;
use super::group_files::Group;
use super::place::is_user_manager;
use crate::launch::Anchor;
use crate::systemd::{Manager, ScopeWishes};

/// The group of helpers, below the scope's.
const JAILS: &str = "jails";

/// A scope, as long as this is there.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) unit: String,
    pub(super) group: Group,
    pub(super) manager: Manager,
    /// `None` once nobody needs it any more.
    anchor: Mutex<Option<Anchor>>,
}

impl Scope {
    /// Asks for a scope. `own` is the group that this process is in. Its limits count for cells as
    /// well, as far as that is possible beside it.
    pub(super) fn claim(
        manager: &Manager,
        mount: &Path,
        own: &Group,
    ) -> Result<(Self, HostDirectory), String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let unit = format!("belljar-cells-{}-{number}.scope", std::process::id());
        let anchor = Anchor::start().map_err(|error| error.to_string())?;
        let wishes = ScopeWishes { slice: slice_of(&own.path, manager), limits: limits_of(own) };
        manager.start_scope(&unit, anchor.id(), &wishes).map_err(|error| error.to_string())?;
        let place = membership_of(anchor.id()).ok_or("the helper that was to hold the scope has ended")?;
        let group = Group::at(mount.join(place.trim_start_matches('/')));
        let scope = Self { unit, group, manager: manager.clone(), anchor: Mutex::new(Some(anchor)) };
        let directory =
            scope.furnish().map_err(|error| format!("{}: {error}", scope.group.path.display()))?;
        Ok((scope, directory))
    }

    fn furnish(&self) -> io::Result<HostDirectory> {
        let jails = self.group.child(JAILS);
        fs::create_dir(&jails.path)?;
        jails.admit_all_of(&self.group)?;
        self.group.hand_on()?;
        HostDirectory::claim(&self.group.path)
    }

    /// Lets go of it. It ends with the last helper in it.
    pub(super) fn let_go(&self) {
        drop(self.anchor.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Whether it is about to end, or systemd has ended it.
    pub(super) fn is_gone(&self) -> bool {
        let is_held = self.anchor.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        !is_held || !self.group.child(JAILS).path.is_dir()
    }

    /// Puts a helper into it, before it makes a jail.
    pub(super) fn admit(&self, process: u32) -> Result<(), String> {
        let jails = self.group.child(JAILS);
        match jails.admit(process) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self
                .manager
                .attach(&self.unit, &format!("/{JAILS}"), process)
                .map_err(|error| error.to_string()),
            Err(error) => Err(format!("{}: {error}", jails.path.display())),
        }
    }
}

impl Drop for Scope {
    /// Systemd removes the group with the scope. But if somebody stopped the scope while processes
    /// in it were still on their way out, systemd has given it up.
    fn drop(&mut self) {
        let anchor = self.anchor.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let was_ended = anchor.is_some_and(|mut anchor| anchor.has_ended());
        // The group of a unit that is there is left to systemd, which waits for news of it.
        if was_ended && !self.manager.has(&self.unit) {
            let _ = fs::remove_dir(self.group.child(JAILS).path);
            let _ = fs::remove_dir(&self.group.path);
        }
    }
}

/// The slice that a group is in, so that its limits count for the scope too. A user's manager makes
/// groups below its own unit only.
fn slice_of(own: &Path, manager: &Manager) -> Option<String> {
    let mut parts: Vec<&OsStr> = own.iter().collect();
    if manager.is_of_user() {
        let unit = parts.iter().position(|part| is_user_manager(part))?;
        parts.drain(..=unit);
    }
    parts.into_iter().filter_map(OsStr::to_str).rfind(|part| part.ends_with(".slice")).map(str::to_owned)
}

/// The limits of a group, by the names that systemd has for them.
fn limits_of(group: &Group) -> Vec<(&'static str, u64)> {
    let plain = [
        ("MemoryMax", "memory.max"),
        ("MemoryHigh", "memory.high"),
        ("MemorySwapMax", "memory.swap.max"),
        ("TasksMax", "pids.max"),
    ];
    let mut limits: Vec<_> =
        plain.into_iter().filter_map(|(name, file)| Some((name, group.limit(file)?))).collect();
    limits.extend(group.processor_micros_per_second().map(|micros| ("CPUQuotaPerSecUSec", micros)));
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slice_is_the_innermost_that_the_manager_has() {
        let slice = |own: &str, of_user| slice_of(Path::new(own), &Manager::at_nowhere(of_user));
        let slices = "/sys/fs/cgroup/user.slice/user-1000.slice";
        assert_eq!(slice("/sys/fs/cgroup/system.slice/a.service", false).unwrap(), "system.slice");
        assert_eq!(slice(&format!("{slices}/session-2.scope"), false).unwrap(), "user-1000.slice");
        assert_eq!(slice(&format!("{slices}/session-2.scope"), true), None);
        let own = format!("{slices}/user@1000.service/app.slice/app-x.slice/x.service");
        assert_eq!(slice(&own, true).unwrap(), "app-x.slice");
        assert_eq!(slice("/sys/fs/cgroup/init.scope", false), None);
    }

    #[test]
    fn limits_of_a_unit_are_said_in_the_words_of_systemd() {
        let directory = tempfile::tempdir().unwrap();
        let own = Group::at(directory.path());
        assert_eq!(limits_of(&own), []);
        for (file, text) in [
            ("memory.max", "50331648\n"),
            ("memory.high", "max\n"),
            ("pids.max", "64\n"),
            ("cpu.max", "25000 100000\n"),
        ] {
            fs::write(directory.path().join(file), text).unwrap();
        }
        let expected = [("MemoryMax", 50_331_648), ("TasksMax", 64), ("CPUQuotaPerSecUSec", 250_000)];
        assert_eq!(limits_of(&own), expected);
        fs::write(directory.path().join("cpu.max"), "max 100000\n").unwrap();
        assert_eq!(limits_of(&own).len(), 2);
    }
}
