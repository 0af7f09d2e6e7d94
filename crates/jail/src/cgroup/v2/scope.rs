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
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    hold: Mutex<Hold>,
}

/// What keeps a scope.
#[derive(Debug)]
enum Hold {
    /// A helper that does nothing else. While it is there, systemd has not begun to end the scope.
    Anchor(Anchor),
    /// Nothing, as nobody needs it any more. It ends with the last helper in it.
    LetGo,
    /// Nothing, as somebody else has ended the anchor: systemd, together with all others.
    Ended,
}

impl Hold {
    /// Whether the scope is kept now.
    fn is_firm(&mut self) -> bool {
        match self {
            Self::Anchor(anchor) if anchor.answers() => true,
            Self::Anchor(_) => {
                *self = Self::Ended;
                false
            }
            Self::LetGo | Self::Ended => false,
        }
    }
}

/// What came of putting a helper into a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is there. Whoever ends the scope ends it too.
    Admitted,
    /// It may be there, but the scope is about to end, or has ended.
    ScopeIsGone,
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
        let scope = Self { unit, group, manager: manager.clone(), hold: Mutex::new(Hold::Anchor(anchor)) };
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

    fn hold(&self) -> MutexGuard<'_, Hold> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of it. It ends with the last helper in it.
    pub(super) fn let_go(&self) {
        let mut hold = self.hold();
        if hold.is_firm() {
            *hold = Hold::LetGo;
        }
    }

    /// Whether it is about to end, or systemd has ended it.
    pub(super) fn is_gone(&self) -> bool {
        !self.hold().is_firm()
    }

    /// Puts a helper into it, before it makes a jail.
    ///
    /// Systemd may begin to end the scope at any time. It then signals whom it finds there, waits
    /// until the group is empty, and removes it. Whoever comes in between would be overlooked, and
    /// run on in a group that systemd has given up. So the anchor is asked afterwards, too.
    pub(super) fn admit(&self, process: u32) -> Result<Admission, String> {
        let mut hold = self.hold();
        if !hold.is_firm() {
            return Ok(Admission::ScopeIsGone);
        }
        let moved = self.move_in(process);
        match hold.is_firm() {
            true => moved.map(|()| Admission::Admitted),
            false => Ok(Admission::ScopeIsGone),
        }
    }

    fn move_in(&self, process: u32) -> Result<(), String> {
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
    /// Systemd removes the group with the scope. But it tries only once, and something may have
    /// been made below the group just then.
    fn drop(&mut self) {
        self.let_go();
        let was_ended = matches!(*self.hold(), Hold::Ended);
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
impl Scope {
    /// One that nobody has made, in any directory.
    pub(super) fn held_at(group: &Path) -> Self {
        let hold = Mutex::new(Hold::Anchor(Anchor::start().expect("a helper can be started")));
        let manager = Manager::at_nowhere(false);
        Self { unit: "belljar-cells-1-0.scope".into(), group: Group::at(group), manager, hold }
    }

    /// Sends its anchor the signal with which systemd ends it.
    pub(super) fn begin_to_end(&self) {
        let Hold::Anchor(anchor) = &*self.hold() else { panic!("it has none: {self:?}") };
        let process = rustix::process::Pid::from_raw(anchor.id().cast_signed()).expect("it is not 0");
        rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("it is a child");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_are_put_into_a_scope_only_as_long_as_it_is_held() {
        let directory = tempfile::tempdir().unwrap();
        let processes = directory.path().join(JAILS).join("cgroup.procs");
        fs::create_dir(directory.path().join(JAILS)).unwrap();
        let without_hold: [fn(&Scope); 2] = [Scope::let_go, Scope::begin_to_end];
        for lose_hold in without_hold {
            fs::write(&processes, "").unwrap();
            let scope = Scope::held_at(directory.path());
            assert_eq!(scope.admit(812), Ok(Admission::Admitted));
            assert_eq!(fs::read_to_string(&processes).unwrap(), "812");
            fs::write(&processes, "").unwrap();
            lose_hold(&scope);
            assert_eq!(scope.admit(813), Ok(Admission::ScopeIsGone));
            assert_eq!(fs::read_to_string(&processes).unwrap(), "");
        }
    }

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
