//! How our containers are set up: what they may use, see and do, whatever their image says.

use std::collections::HashMap;

use belljar_core::config::SandboxConfig;
use belljar_core::layout;
use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig, Mount,
    MountBindOptions, MountBindOptionsPropagationEnum, MountType, ResourcesUlimits,
};

use super::DockerError;
use super::grants::Grants;

const MIB: i64 = 1 << 20;
/// Memory the supervisor holds before a script arrives. On the native engine the zygote holds it,
/// and no cell is charged for it either. So it is added to the limit, and subtracted from the
/// reported peak.
pub(super) const SUPERVISOR_BYTES: i64 = 12 * MIB;
/// The period over which processor use is counted. The daemon's simpler setting refuses more cores
/// than the machine has.
const CPU_PERIOD_MICROS: i64 = 100_000;
/// The host name of every cell, on every engine.
const HOST_NAME: &str = "belljar";
/// The user and the group of a guest.
const USER: &str = "1000:1000";
/// The same, as a number.
pub(super) const GUEST_ID: u32 = 1000;

/// Where terminals are.
const TERMINALS: &str = "/dev/pts";

/// Paths that are empty to a guest. Some are those Docker hides by default. Others count what the
/// whole machine does. The rest does not exist in a native cell: terminals, queues, and all of
/// `/sys` but the control groups, where the supervisor reads what was used.
const MASKED: [&str; 56] = [
    "/dev/mqueue",
    TERMINALS,
    "/proc/acpi",
    "/proc/asound",
    "/proc/buddyinfo",
    "/proc/cgroups",
    "/proc/cmdline",
    "/proc/diskstats",
    "/proc/driver",
    "/proc/dynamic_debug",
    "/proc/fs",
    "/proc/interrupts",
    "/proc/irq",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/locks",
    "/proc/mdstat",
    "/proc/pagetypeinfo",
    "/proc/pressure",
    "/proc/sched_debug",
    "/proc/schedstat",
    "/proc/scsi",
    "/proc/softirqs",
    "/proc/sys/debug",
    "/proc/sys/dev",
    "/proc/sys/fs",
    "/proc/sys/kernel/pty",
    "/proc/sys/sunrpc",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/version_signature",
    "/proc/vmstat",
    "/proc/zoneinfo",
    "/sys/block",
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/devices",
    "/sys/firmware",
    "/sys/fs/bpf",
    "/sys/fs/btrfs",
    "/sys/fs/erofs",
    "/sys/fs/ext4",
    "/sys/fs/f2fs",
    "/sys/fs/fuse",
    "/sys/fs/pstore",
    "/sys/fs/selinux",
    "/sys/fs/smackfs",
    "/sys/fs/tmpfs",
    "/sys/fs/xfs",
    "/sys/hypervisor",
    "/sys/kernel",
    "/sys/module",
    "/sys/power",
];
/// Paths a guest cannot change even where permissions would allow it: Docker's own list, and the
/// devices. Whoever may write to a device may also set its times, and the next guest would see
/// them. Writing to a device itself does not change its file.
const READ_ONLY: [&str; 4] = ["/dev", "/proc/bus", "/proc/sys", "/proc/sysrq-trigger"];

/// Settings of the container's own network.
fn sysctls() -> HashMap<String, String> {
    // The smallest, first and largest number of bytes that a connection buffers each way. With
    // control groups of version 1, no runtime limits the memory of sockets. So each socket holds
    // little, and the supervisor bounds their number.
    const BUFFERS: &str = "4096 65536 131072";
    [
        // If a daemon has no IPv6, the loopback would have none either.
        ("net.ipv6.conf.all.disable_ipv6", "0"),
        ("net.ipv4.tcp_rmem", BUFFERS),
        ("net.ipv4.tcp_wmem", BUFFERS),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// One container, before it is made.
pub(super) struct ContainerPlan<'a> {
    pub(super) config: &'a SandboxConfig,
    pub(super) image: &'a str,
    pub(super) env: &'a [String],
    pub(super) labels: HashMap<String, String>,
    pub(super) grants: &'a Grants,
    /// The volume with the proxy's socket.
    pub(super) egress: Option<&'a str>,
    /// Whether it needs a place for a certificate authority to trust.
    pub(super) trusts: bool,
    pub(super) is_podman: bool,
    /// Who owns the kept workspace that it gets instead of an empty place in memory.
    pub(super) kept_by: Option<(u32, u32)>,
    /// Whether programs can have terminals.
    pub(super) has_terminals: bool,
}

impl ContainerPlan<'_> {
    pub(super) fn body(&self) -> ContainerCreateBody {
        ContainerCreateBody {
            image: Some(self.image.to_owned()),
            hostname: Some(HOST_NAME.into()),
            user: Some(self.kept_by.map_or_else(|| USER.into(), |(user, group)| format!("{user}:{group}"))),
            env: Some(self.env.to_vec()),
            labels: Some(self.labels.clone()),
            working_dir: Some(layout::WORKSPACE.into()),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            open_stdin: Some(true),
            // The container's stdin ends with our connection, and the container ends with its
            // stdin. So nothing outlives a host that was killed.
            stdin_once: Some(true),
            tty: Some(false),
            host_config: Some(self.host_config()),
            ..Default::default()
        }
    }

    fn host_config(&self) -> HostConfig {
        let limits = &self.config.resource_limits;
        let bytes = |mebibytes: u64| i64::try_from(mebibytes).unwrap_or(i64::MAX / MIB).saturating_mul(MIB);
        let ulimit = |name: &str, most: i64| ResourcesUlimits {
            name: Some(name.to_owned()),
            soft: Some(most),
            hard: Some(most),
        };
        // Room for the supervisor's own descriptors. It gives guests what the config says. Its hard
        // limit is higher than the guests' limit, because the kernel compares a sender's limit with
        // the descriptors in transit of all its user's processes.
        const ABOVE_GUESTS: i64 = 3072;
        let files = i64::from(limits.open_files).max(1024);
        // Rootless Podman cannot raise the limit at all.
        let most_files = if self.is_podman { files } else { files + ABOVE_GUESTS };
        let files = ResourcesUlimits { hard: Some(most_files), ..ulimit("nofile", files) };
        // The core limit is one byte. With zero, a handler that cores are piped to would still run.
        let mut ulimits = vec![ulimit("core", 1), ulimit("msgqueue", 0), files];
        if self.is_podman {
            // Without this, Podman sets the largest limit there is, which not every host allows.
            // The real limit is the cgroup's.
            ulimits.push(ulimit("nproc", 8192));
        }
        HostConfig {
            readonly_rootfs: Some(true),
            cap_drop: Some(vec!["ALL".into()]),
            // The daemon's own seccomp profile stays on. The supervisor adds ours to it.
            security_opt: Some(vec!["no-new-privileges".into()]),
            privileged: Some(false),
            network_mode: Some("none".into()),
            ipc_mode: Some("private".into()),
            cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
            memory: Some(bytes(limits.memory_mb) + SUPERVISOR_BYTES),
            memory_swap: Some(bytes(limits.memory_and_swap_mb()) + SUPERVISOR_BYTES),
            cpu_period: Some(CPU_PERIOD_MICROS),
            cpu_quota: Some((limits.cpu_quota * CPU_PERIOD_MICROS as f64).round().max(1_000.0) as i64),
            // Two more: the supervisor, and the thread with which it answers the host. No kernel
            // takes more than the last number.
            pids_limit: Some((i64::from(limits.pids_limit) + 2).min(4_194_304)),
            ulimits: Some(ulimits),
            masked_paths: Some(self.masked()),
            readonly_paths: Some(READ_ONLY.map(str::to_owned).to_vec()),
            // There is no name server. A guest must not learn which one the daemon's host uses.
            dns: Some(vec!["127.0.0.1".into()]),
            dns_search: Some(vec![".".into()]),
            // Without a network, the daemon does not add this line itself.
            extra_hosts: Some(vec![format!("{HOST_NAME}:127.0.0.1")]),
            sysctls: Some(sysctls()),
            tmpfs: Some(self.scratch()),
            mounts: Some(self.mounts()),
            init: Some(false),
            // What scripts print is for the caller, and not for a file on the daemon's disk.
            log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: None }),
            auto_remove: Some(true),
            ..Default::default()
        }
    }

    fn scratch(&self) -> HashMap<String, String> {
        let megabytes = self.config.scratch_size_mb;
        // Room for many small files, without letting them take much unaccounted memory.
        let inodes = match self.is_podman {
            // Podman refuses this option. Inodes then count only as memory.
            true => String::new(),
            false => format!(",nr_inodes={}", (megabytes * 256).clamp(4096, 1 << 20)),
        };
        let room = format!("rw,exec,nosuid,nodev,size={megabytes}m{inodes},mode=1777");
        // The daemon's own /dev/shm would have no limit on inodes.
        let mut scratch: HashMap<_, _> = layout::SCRATCH.map(|place| (place.to_owned(), room.clone())).into();
        if self.kept_by.is_some() {
            scratch.remove(layout::WORKSPACE);
        }
        if self.trusts {
            scratch.insert(layout::BELLJAR.into(), "rw,noexec,nosuid,nodev,size=4m,mode=1777".into());
        }
        scratch
    }

    fn masked(&self) -> Vec<String> {
        let is_masked = |path: &&str| !(self.has_terminals && *path == TERMINALS);
        MASKED.into_iter().filter(is_masked).map(str::to_owned).collect()
    }

    fn mounts(&self) -> Vec<Mount> {
        let resources = self.grants.sources().map(|(resource, source)| Mount {
            typ: Some(MountType::BIND),
            source: Some(source.display().to_string()),
            target: Some(resource.container_path.clone()),
            read_only: Some(resource.read_only),
            bind_options: Some(MountBindOptions {
                propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
                create_mountpoint: Some(false),
                ..Default::default()
            }),
            ..Default::default()
        });
        let egress = self.egress.map(|volume| Mount {
            typ: Some(MountType::VOLUME),
            source: Some(volume.to_owned()),
            target: Some(layout::EGRESS.into()),
            read_only: Some(true),
            ..Default::default()
        });
        resources.chain(egress).collect()
    }

    /// Explains a daemon's refusal to make or start the container, if it is about a granted file.
    pub(super) fn explain(&self, error: DockerError) -> DockerError {
        let DockerError::Api { message, .. } = &error else { return error };
        let about_a_mount = message.contains("bind source path does not exist")
            || message.contains("invalid mount config")
            || message.contains("no such file or directory");
        let meant = self
            .grants
            .sources()
            .find(|(_, source)| about_a_mount && message.contains(&*source.to_string_lossy()));
        match meant {
            Some((resource, source)) => DockerError::Resource {
                host_path: resource.host_path.clone(),
                mounted: source.to_owned(),
                container_path: resource.container_path.clone(),
                message: message.clone(),
            },
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::config::HostPathMap;
    use belljar_core::layout::{RESERVED, overlap};

    use super::super::ids::Ids;
    use super::*;

    /// A grant could hide what is mounted into a container. So all of it must be in reserved
    /// places.
    #[test]
    fn everything_that_is_mounted_is_in_a_reserved_place() {
        let config = SandboxConfig::default();
        let grants = Grants::open(&config.resources, &HostPathMap::default(), Some(Ids::Same)).unwrap();
        let plan = ContainerPlan {
            config: &config,
            image: "image",
            env: &[],
            labels: HashMap::new(),
            grants: &grants,
            egress: Some("volume"),
            trusts: true,
            is_podman: false,
            kept_by: None,
            has_terminals: false,
        };
        let mounts = plan.mounts().into_iter().filter_map(|mount| mount.target);
        let covered = MASKED.iter().chain(&READ_ONLY).map(|path| (*path).to_owned());
        let image = [layout::SUPERVISOR, layout::LAYER, layout::TOOLS].map(str::to_owned);
        for path in plan.scratch().into_keys().chain(mounts).chain(covered).chain(image) {
            assert!(RESERVED.iter().any(|place| overlap(&path, place)), "{path} could be granted");
        }
    }
}
