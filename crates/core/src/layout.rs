//! Where things are in a guest. Engines lay them out, configs must keep away from them, and both know them from here.

use std::path::Path;

/// Where scripts run and write.
pub const WORKSPACE: &str = "/workspace";
/// Where tools are kept.
pub const TOOLS: &str = "/tools";
/// Where installed dependencies are.
pub const LAYER: &str = "/opt/pydeps";
/// Where an interpreter is that is not the system's; its place on the host is nobody's business inside.
pub const PYTHON: &str = "/opt/python";
/// What Belljar itself needs in a guest.
pub const BELLJAR: &str = "/run/belljar";
/// What its supervisor needs in a container.
pub const SUPERVISOR: &str = "/opt/belljar";
/// Where a container finds the socket of its proxy.
pub const EGRESS: &str = "/run/belljar-way-out";

/// Guest places that Belljar fills itself, on any engine. Nothing may be granted at, inside or above one.
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
    // What container engines put into every container.
    "/.dockerenv",
    "/run/.containerenv",
];

/// Places that are links in many images, and where they lead: the same place under a second name. Nothing may be granted through one. Those
/// from `/bin` to `/sbin` and all in `/proc` are in [`RESERVED`] already. A container whose image has other links says so itself.
pub const LINKS: [(&str, &str); 2] = [("/var/run", "/run"), ("/var/lock", "/run/lock")];

/// The link that a path goes through, and the path without it.
pub fn through_link(path: &str) -> Option<(&'static str, String)> {
    LINKS.iter().find_map(|(link, target)| {
        let below = Path::new(path).strip_prefix(link).ok()?;
        Some((*link, Path::new(target).join(below).to_string_lossy().trim_end_matches('/').to_owned()))
    })
}

/// Whether one path is the other or lies inside it, component by component.
pub fn overlap(one: &str, other: &str) -> bool {
    Path::new(one).starts_with(other) || Path::new(other).starts_with(one)
}
