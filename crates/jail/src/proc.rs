//! Decides what a cell sees in `/proc`.
//!
//! Every cell has its own `/proc`, but only the processes and the network in it are the cell's. The
//! rest describes the whole machine.
//!
//! - Files that are known to be the same for everybody, or of no use to an attacker, are shown.
//! - Four places that programs cannot do without have a stand-in.
//! - Everything else is covered, including whatever a later kernel adds.
//!
//! Stand-ins and covers are built once, in the zygote's root. A cell mounts them over its own
//! `/proc`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::spec::{Expected, RootEntry};
use crate::sys::cell::PlannedMount;
use crate::sys::kernel;

/// The cover for a directory, beside the stand-ins. The cover for a file is the null device.
const EMPTY: &str = "empty";

/// Shown as the kernel has it: links into the process's own directory, the kernel and its build,
/// the machine's hardware, memory and load, and System V objects, for which a cell has its own
/// namespace.
const SHOWN: [&str; 31] = [
    "acpi",
    "bus",
    "config.gz",
    "consoles",
    "cpuinfo",
    "crypto",
    "devices",
    "dma",
    "driver",
    "execdomains",
    "fb",
    "filesystems",
    "iomem",
    "ioports",
    "kallsyms",
    "key-users",
    "keys",
    "loadavg",
    "meminfo",
    "misc",
    "modules",
    "mounts",
    "net",
    "partitions",
    "self",
    "swaps",
    "sysvipc",
    "thread-self",
    "tty",
    "uptime",
    "version",
];

/// Settings that programs read. The stand-in for `/proc/sys` shows this machine's values.
const SETTINGS: [&str; 20] = [
    "fs/file-max",
    "fs/nr_open",
    "fs/pipe-max-size",
    "kernel/cap_last_cap",
    "kernel/msgmax",
    "kernel/msgmnb",
    "kernel/msgmni",
    "kernel/ngroups_max",
    "kernel/osrelease",
    "kernel/ostype",
    "kernel/overflowgid",
    "kernel/overflowuid",
    "kernel/pid_max",
    "kernel/random/boot_id",
    "kernel/shmall",
    "kernel/shmmax",
    "kernel/shmmni",
    "kernel/version",
    "vm/max_map_count",
    "vm/overcommit_memory",
];

/// Settings with the values every new network namespace starts with.
const NETWORK_SETTINGS: [(&str, &str); 2] =
    [("net/core/somaxconn", "4096\n"), ("net/ipv4/ip_local_port_range", "32768\t60999\n")];

/// A fresh random number at every read, so this one must be the kernel's own file.
const RANDOM_UUID: &str = "kernel/random/uuid";

/// The entries at `place` in the guest's root that `mounts` mounts.
pub fn stand_ins(place: &str, hostname: &str) -> Vec<RootEntry> {
    let place = Path::new(place);
    let read = |path: &str| fs::read_to_string(path).ok();
    let file = |name: &str, contents: String| RootEntry::File { path: place.join(name), contents };
    let mut entries = vec![
        RootEntry::Directory { path: place.join(EMPTY) },
        file("stat", stat(&read("/proc/stat").unwrap_or_default())),
        // How much was swapped in and out since boot. Programs ask for nothing else here.
        file("vmstat", "pswpin 0\npswpout 0\n".to_owned()),
        file("sys/kernel/hostname", format!("{hostname}\n")),
    ];
    let settings = SETTINGS
        .iter()
        .filter_map(|name| Some((*name, read(&format!("/proc/sys/{name}"))?)))
        .chain(NETWORK_SETTINGS.map(|(name, value)| (name, value.to_owned())));
    entries.extend(settings.map(|(name, value)| file(&format!("sys/{name}"), value)));
    let uuid = Path::new("/proc/sys").join(RANDOM_UUID);
    if uuid.exists() {
        let target = place.join("sys").join(RANDOM_UUID);
        entries.push(RootEntry::Bind { source: uuid, target, writable: false, expected: Expected::Anything });
    }
    entries
}

/// What a cell mounts over its own `/proc`, with the stand-ins at `place`.
pub(crate) fn mounts(place: &str) -> Vec<PlannedMount> {
    let empty = format!("{place}/{EMPTY}");
    let mut planned: Vec<PlannedMount> = covered()
        .into_iter()
        .map(|(path, is_directory)| cover(if is_directory { &empty } else { "/dev/null" }, path))
        .collect();
    for name in ["stat", "vmstat", "sys"] {
        planned.push(cover(&format!("{place}/{name}"), format!("/proc/{name}").into()));
    }
    planned
}

fn cover(with: &str, path: PathBuf) -> PlannedMount {
    PlannedMount {
        kind: with.to_owned(),
        target: path.to_string_lossy().into_owned(),
        flags: kernel::MS_BIND | kernel::MS_REC,
        options: String::new(),
    }
}

/// Everything in this kernel's `/proc` that anybody may read and that is neither shown nor has a
/// stand-in. Also says whether it is a directory.
fn covered() -> Vec<(PathBuf, bool)> {
    const STOOD_IN_FOR: [&str; 3] = ["stat", "sys", "vmstat"];
    const READABLE: u32 = 0o004;
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut covered: Vec<(PathBuf, bool)> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
            !is_process && !SHOWN.contains(&&*name) && !STOOD_IN_FOR.contains(&&*name)
        })
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            let can_be_read = metadata.mode() & READABLE != 0 && !metadata.file_type().is_symlink();
            can_be_read.then(|| (entry.path(), metadata.is_dir()))
        })
        .collect();
    covered.sort();
    covered
}

/// A `/proc/stat` with this machine's processors and boot time, in which nothing has happened
/// since.
fn stat(of_the_machine: &str) -> String {
    const NEVER: &str = " 0 0 0 0 0 0 0 0 0 0\n";
    let mut text = format!("cpu {NEVER}");
    let mut started = "0";
    for line in of_the_machine.lines() {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        match name.strip_prefix("cpu") {
            Some(number) if number.parse::<u32>().is_ok() => text.push_str(&format!("{name}{NEVER}")),
            _ if name == "btime" => started = rest.trim(),
            _ => {}
        }
    }
    text + &format!(
        "intr 0\nctxt 0\nbtime {started}\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_shown_and_what_they_did_is_not() {
        let machine = "cpu  10 20 30 40 50 60 70 80 90 1\ncpu0 1 2 3 4 5 6 7 8 9 1\ncpu12 9 9 9 9 9 9 9 9 9 9\n\
                       intr 12345 6 7\nctxt 987\nbtime 1700000000\nprocesses 555\nsoftirq 1 2 3\n";
        assert_eq!(
            stat(machine),
            "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu12 0 0 0 0 0 0 0 0 0 0\n\
             intr 0\nctxt 0\nbtime 1700000000\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n"
        );
    }

    #[test]
    fn counts_of_the_whole_machine_are_covered() {
        let covered = covered();
        let names: Vec<_> = covered.iter().map(|(path, _)| path.to_string_lossy().into_owned()).collect();
        for name in ["cmdline", "interrupts", "softirqs", "diskstats", "zoneinfo"] {
            let path = format!("/proc/{name}");
            assert!(names.contains(&path) || !Path::new(&path).exists(), "{path} is not among {names:?}");
        }
        for name in ["cpuinfo", "meminfo", "self", "1"] {
            assert!(!names.contains(&format!("/proc/{name}")), "{name}");
        }
    }
}
