//! The labels on everything we make on a daemon, so that it can be found again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// `image`, `cell` or `proxy`.
pub(super) const ROLE: &str = "dev.belljar.role";
/// The sandbox's name.
pub(super) const CONFIG: &str = "dev.belljar.config";
/// The checksum of an image's contents.
pub(super) const CHECKSUM: &str = "dev.belljar.checksum";
/// The program it belongs to. What belongs to others is left alone.
pub(super) const CONTROLLER: &str = "dev.belljar.controller";
/// The process of that program: boot, namespace, number, start time.
pub(super) const PROCESS: &str = "dev.belljar.process";

/// When it was made, in seconds since 1970. Daemons tell this of volumes only as a date.
pub(super) const MADE: &str = "dev.belljar.made";

/// Identifies this program among all that use a daemon.
#[derive(Debug, Clone)]
pub(super) struct Controller {
    pub(super) id: Arc<str>,
    process: Arc<str>,
}

impl Controller {
    pub(super) fn new() -> Self {
        Self {
            id: belljar_core::random_hex().into(),
            process: ProcessIdentity::of_this_process().to_string().into(),
        }
    }

    pub(super) fn labels(&self, role: &str, config: &str) -> HashMap<String, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().to_string();
        [(ROLE, role), (CONFIG, config), (CONTROLLER, &self.id), (PROCESS, &self.process), (MADE, &now)]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

/// Identifies a process among all that ever ran: its boot, its pid namespace, its number and its
/// start time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessIdentity {
    boot: String,
    namespace: String,
    pid: u32,
    started: String,
}

impl std::fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}/{}", self.boot, self.namespace, self.pid, self.started)
    }
}

impl ProcessIdentity {
    pub(super) fn of_this_process() -> Self {
        let pid = std::process::id();
        Self { boot: boot(), namespace: namespace(), pid, started: started(pid).unwrap_or_default() }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (boot, namespace, pid, started) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            boot: boot.to_owned(),
            namespace: namespace.to_owned(),
            pid: pid.parse().ok()?,
            started: started.to_owned(),
        })
    }

    /// Whether it is certain from here that the process is gone.
    pub(super) fn is_surely_gone(&self) -> bool {
        let here = self.boot == boot() && self.namespace == namespace() && !self.namespace.is_empty();
        here && started(self.pid).is_none_or(|started| started != self.started)
    }
}

/// Identifies this machine since it was last started.
pub(super) fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn namespace() -> String {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

fn started(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_lives_is_not_gone_and_one_that_is_over_is() {
        let here = ProcessIdentity::of_this_process();
        let read = ProcessIdentity::parse(&here.to_string()).unwrap();
        assert_eq!(read, here);
        assert!(!here.is_surely_gone());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let theirs =
            ProcessIdentity { pid: child.id(), started: started(child.id()).unwrap(), ..here.clone() };
        child.wait().unwrap();
        assert!(theirs.is_surely_gone());
        assert!(
            ProcessIdentity { started: "1".into(), ..here.clone() }.is_surely_gone(),
            "the number was used again"
        );
        assert!(!ProcessIdentity { boot: "elsewhere".into(), ..theirs }.is_surely_gone(), "who can tell");
        assert_eq!(ProcessIdentity::parse("x"), None);
    }
}
