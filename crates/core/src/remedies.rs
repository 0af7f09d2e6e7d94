//! What to do about a machine that does not let us enforce something.
//!
//! `belljar doctor` prints these. `scripts/vm/guest/remedies.py` makes each fault on a stock
//! machine, does what the text says, and looks whether that led to the state it promises. It takes
//! what is between backticks literally.

/// What to do about one thing.
#[derive(Debug, PartialEq, Eq)]
pub struct Remedy {
    /// Its name in tests and in the manual.
    pub name: &'static str,
    /// When it is printed.
    pub when: &'static str,
    /// What to do. Words in capitals are to be filled in.
    pub text: &'static str,
}

/// A service or session whose group was not delegated to it.
pub const DELEGATE: Remedy = Remedy {
    name: "delegate",
    when: "Root, or the user of a service of the system's: its unit was not delegated, and no scope can be had.",
    text: "put `Delegate=yes` into the [Service] part of its unit (`systemctl edit UNIT`), and restart it",
};

/// A user without a manager to ask.
pub const LINGER: Remedy = Remedy {
    name: "linger",
    when: "No systemd of this user's is there to ask for a group: nobody logged in.",
    text: "have root run `loginctl enable-linger USER`, which starts this user's systemd now and at each boot",
};

/// A tree that can only be read.
pub const WRITABLE_GROUPS: Remedy = Remedy {
    name: "writable_groups",
    when: "Control groups are mounted read-only for this service.",
    text: "remove `ProtectControlGroups=`, and any `ReadOnlyPaths=` that covers /sys/fs/cgroup, from its unit, \
           and restart it",
};

/// A user's manager that was not given all controllers.
pub const USER_CONTROLLERS: Remedy = Remedy {
    name: "user_controllers",
    when: "Systemd of the machine does not hand a controller on to those of users, as older versions do not.",
    text: "have root write the lines `[Service]` and `Delegate=cpu memory pids` to \
           /etc/systemd/system/user@.service.d/belljar.conf, then run `systemctl daemon-reload` and \
           `systemctl restart user@UID.service`",
};

/// A kernel that was booted without a controller.
pub const BOOT_CONTROLLER: Remedy = Remedy {
    name: "boot_controller",
    when: "The kernel was booted without a controller.",
    text: "remove `cgroup_disable=` from the kernel's command line (or add `cgroup_enable=memory`, as on a \
           Raspberry Pi), and boot again",
};

/// A container that may not change its groups.
pub const CONTAINER_GROUPS: Remedy = Remedy {
    name: "container_groups",
    when: "This is a container, in which control groups are read-only or not to be seen.",
    text: "run it as root with a writable tree (Docker, Podman: --cgroupns=host \
           -v /sys/fs/cgroup:/sys/fs/cgroup:rw --security-opt label=disable, or --privileged), or run outside of it",
};

/// An ordinary user where nobody hands groups out.
pub const RUN_AS_ROOT: Remedy = Remedy {
    name: "run_as_root",
    when: "An ordinary user, and no systemd that could be asked for a group.",
    text: "run as root: without systemd, nobody hands groups out to other users",
};

/// An embedding program that forbids what is needed.
pub const MOVE_PROCESSES: Remedy = Remedy {
    name: "move_processes",
    when: "The program has said that its processes must not be moved, and no scope can be had either.",
    text: "have the program allow it (`Native::move_processes(true)`), or start it in a group below one that is \
           delegated (`DelegateSubgroup=` of systemd 254)",
};

/// Ubuntu's restriction.
pub const APPARMOR: Remedy = Remedy {
    name: "apparmor",
    when: "`kernel.apparmor_restrict_unprivileged_userns` is 1, and this program has no profile: only those with \
           one get user namespaces (Ubuntu 23.10 and later).",
    text: "AppArmor restricts user namespaces: install the profile deploy/apparmor/belljar (the Debian package \
           does), or have root run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
};

/// A profile of AppArmor's that is in the way.
pub const APPARMOR_PROFILE: Remedy = Remedy {
    name: "apparmor_profile",
    when: "An AppArmor profile confines this program, and no container's.",
    text: "an AppArmor profile confines this program (`aa-status` says which): have root unload it, with \
           `apparmor_parser --remove FILE` for the file it is in, and start the program again",
};

/// Debian's switch.
pub const USERNS_CLONE: Remedy = Remedy {
    name: "userns_clone",
    when: "`kernel.unprivileged_userns_clone` is 0.",
    text: "user namespaces are switched off: have root run `sysctl -w kernel.unprivileged_userns_clone=1`",
};

/// The kernel's own limit.
pub const MAX_USER_NAMESPACES: Remedy = Remedy {
    name: "max_user_namespaces",
    when: "`user.max_user_namespaces` is 0, or there are as many as it allows.",
    text: "too few user namespaces are allowed: have root run `sysctl -w user.max_user_namespaces=15000`",
};

/// A container whose profile forbids namespaces.
pub const CONTAINER_PROFILE: Remedy = Remedy {
    name: "container_profile",
    when: "This is, or looks like, a container whose seccomp profile, AppArmor profile or masked /proc is in the \
           way.",
    text: "a container's seccomp profile, AppArmor profile or masked /proc is in the way: run it with \
           --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
           --security-opt systempaths=unconfined (Podman: --security-opt unmask=ALL in place of the last), or \
           run outside of it",
};

/// A service that forbids namespaces to itself.
pub const UNIT_PROFILE: Remedy = Remedy {
    name: "unit_profile",
    when: "This is a service of systemd's that something is forbidden to.",
    text: "its unit forbids it: remove `RestrictNamespaces=`, `ProtectHostname=`, `ProtectKernelTunables=`, \
           `ProtectKernelLogs=`, `SystemCallFilter=`, `RestrictAddressFamilies=` and `CapabilityBoundingSet=` \
           from it, and restart it",
};

/// A kernel that is too old, or built without something.
pub const KERNEL: Remedy = Remedy {
    name: "kernel",
    when: "The kernel does not know the system call or the flag.",
    text: "use a kernel that has it: 5.10 or later, built with namespaces and seccomp",
};

/// Landlock is there and was not switched on, or is not there.
pub const LANDLOCK: Remedy = Remedy {
    name: "landlock",
    when: "The kernel has no Landlock, or it was not switched on.",
    text: "use Linux 5.13 or later, and add `landlock` to its `lsm=` boot parameter",
};

/// All of them, in the order of the manual.
pub const ALL: [&Remedy; 16] = [
    &DELEGATE,
    &LINGER,
    &WRITABLE_GROUPS,
    &USER_CONTROLLERS,
    &BOOT_CONTROLLER,
    &CONTAINER_GROUPS,
    &RUN_AS_ROOT,
    &MOVE_PROCESSES,
    &APPARMOR,
    &APPARMOR_PROFILE,
    &USERNS_CLONE,
    &MAX_USER_NAMESPACES,
    &CONTAINER_PROFILE,
    &UNIT_PROFILE,
    &KERNEL,
    &LANDLOCK,
];
