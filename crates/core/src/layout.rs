//! Where things are in a guest.
//!
//! Engines create these places, configs must not use them, and programs in a guest are told about
//! them. All code takes them from here. A test of the house looks for copies.

use std::path::Path;

/// Where scripts run and write their files.
pub const WORKSPACE: &str = "/workspace";
/// Places in memory that every script can write to. The rest of the root is read-only.
pub const SCRATCH: [&str; 3] = [WORKSPACE, "/tmp", "/dev/shm"];
/// Where tools are.
pub const TOOLS: &str = "/tools";
/// Where installed dependencies are.
pub const LAYER: &str = "/opt/pydeps";
/// Where the interpreter is, if it is not the system's. A guest does not learn where it is on the
/// host.
pub const PYTHON: &str = "/opt/python";
/// Belljar's own files in a guest.
pub const BELLJAR: &str = "/run/belljar";
/// The supervisor's files in a container.
pub const SUPERVISOR: &str = "/opt/belljar";
/// Where things are mounted first that are granted inside the workspace. A cell's own workspace
/// does not exist yet then.
pub const GRANTS: &str = "/run/belljar/grants";
/// Where the directory with the kept workspaces is mounted first, where no cell has an id of its
/// own. No cell sees it.
pub const STORE: &str = "/run/belljar/store";
/// Where a container finds the socket of its proxy.
pub const EGRESS: &str = "/run/belljar-egress";
/// Certificates that programs in a guest trust, if the usual ones are not enough.
pub const AUTHORITIES: &str = "/run/belljar/authorities.pem";
/// Replacements for the parts of `/proc` that describe the whole machine.
pub const PROC: &str = "/run/belljar/proc";

/// The program that runs scripts: the file that is started. It is in [`BELLJAR`] or [`SUPERVISOR`].
pub const HARNESS: &str = "harness.py";
/// The package with the harness's code. It is beside [`HARNESS`].
pub const HARNESS_PACKAGE: &str = "belljar_harness";
/// Settings that the harness reads before it loads anything. The file is beside [`HARNESS`].
pub const TEMPLATE_SETTINGS: &str = "template.json";

/// The descriptor of a guest's private channel. It is above the numbers that programs expect to be
/// free.
pub const CHANNEL: u16 = 900;

/// Guest paths that Belljar fills itself, on any engine. Nothing may be granted at, inside or above
/// one, except [inside the workspace](is_in_workspace).
pub const RESERVED: [&str; 21] = [
    BELLJAR,
    EGRESS,
    LAYER,
    PYTHON,
    SUPERVISOR,
    TOOLS,
    WORKSPACE,
    "/bin",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/sbin",
    "/sys",
    "/tmp",
    "/usr",
    // Container engines put these into every container.
    "/.dockerenv",
    "/run/.containerenv",
];

/// Paths that are links in many images, and where they lead: a second name for the same place.
///
/// Nothing may be granted through one. Links from `/bin` to `/sbin` and all in `/proc` are in
/// [`RESERVED`] already. A container whose image has other links reports them itself.
pub const LINKS: [(&str, &str); 2] = [("/var/run", "/run"), ("/var/lock", "/run/lock")];

/// The link that a path goes through, and the path with the link resolved.
pub fn through_link(path: &str) -> Option<(&'static str, String)> {
    LINKS.iter().find_map(|(link, target)| {
        let below = Path::new(path).strip_prefix(link).ok()?;
        Some((*link, Path::new(target).join(below).to_string_lossy().trim_end_matches('/').to_owned()))
    })
}

/// Whether a path lies inside the workspace. Something may be granted there.
pub fn is_in_workspace(path: &str) -> bool {
    Path::new(path) != Path::new(WORKSPACE) && Path::new(path).starts_with(WORKSPACE)
}

/// Whether one path is the other or lies inside it, component by component.
pub fn overlap(one: &str, other: &str) -> bool {
    Path::new(one).starts_with(other) || Path::new(other).starts_with(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grant there would hide Belljar's own files.
    #[test]
    fn every_place_is_reserved() {
        for place in SCRATCH.into_iter().chain([
            AUTHORITIES,
            GRANTS,
            STORE,
            PROC,
            EGRESS,
            LAYER,
            PYTHON,
            SUPERVISOR,
            TOOLS,
        ]) {
            assert!(RESERVED.iter().any(|reserved| Path::new(place).starts_with(reserved)), "{place}");
        }
    }

    #[test]
    fn what_belljar_needs_in_a_guest_is_in_one_place() {
        for place in [AUTHORITIES, PROC] {
            assert!(Path::new(place).starts_with(BELLJAR), "{place}");
        }
    }
}
