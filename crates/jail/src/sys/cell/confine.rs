//! Turns a fresh clone of the zygote into a process that can do no harm.
//!
//! PID 1 does all of this before PID 2 exists, so both are confined. If a step fails, the cell ends
//! and the name of the step goes to the status socket.
//!
//! PID 1 never runs Python. It exists because a guest that *is* PID 1 could not be killed by its
//! own signals, and nobody would reap its orphans. `clone` makes the two processes. This file says
//! what is done to them, in order.

use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::Path;

use super::clone::clone_into_cell;
use super::kept_name::KeptName;
use super::kernel::{self, Forked};
use super::plan::{CellPlan, LENT, MAKE_DIRECTORY, MAKE_FILE, PlannedMount};

/// The number of the private channel in a cell. The guest's status socket has the next number,
/// until nothing can fail any more. Both are high, because programs expect low numbers to be free,
/// but within the limit on descriptors.
pub(crate) fn channel_number(usual: u32) -> RawFd {
    /// How many numbers, from the channel's own, are needed while descriptors are arranged.
    const BEHIND: u64 = 4;
    let most = kernel::soft_limit(kernel::RLIMIT_NOFILE).saturating_sub(BEHIND);
    RawFd::try_from(most.min(u64::from(usual))).unwrap_or(RawFd::MAX)
}

/// The exit code of a process that could not be set up. The reason is on its status socket.
const SETUP_FAILED: i32 = 125;

/// Tells the host that the cell's network namespace was used. `init` sends the same.
const SOCKETS_WERE_MADE: &[u8] = b"N";

/// What the host sends for one cell. The zygote owns the descriptors and closes its copies.
pub(crate) struct CellParts<'a> {
    /// The id to act under while cloning, in the zygote's user namespace. `None` if that namespace
    /// has only one id, the guest's.
    pub(crate) host_id: Option<u32>,
    pub(crate) channel: RawFd,
    /// The channel's number in the cell.
    pub(crate) channel_number: RawFd,
    pub(crate) stdout: RawFd,
    pub(crate) stderr: RawFd,
    pub(crate) status: RawFd,
    /// The kept workspace that it gets.
    pub(crate) workspace: Option<KeptName>,
    /// Mounts that are this cell's own: its workspace, if that is one of them, and the others in
    /// the order of the plan.
    pub(crate) lent: &'a [RawFd],
    /// The program that PID 1 becomes. It is the same for all cells.
    pub(crate) init: RawFd,
    /// `tasks` or `cgroup.procs` files, through which the cell joins its groups.
    pub(crate) cgroups: &'a [RawFd],
}

/// A result that names the step that failed.
type Step<T = ()> = Result<T, (String, io::Error)>;

trait Named<T> {
    fn step(self, name: impl FnOnce() -> String) -> Step<T>;
}

impl<T> Named<T> for io::Result<T> {
    fn step(self, name: impl FnOnce() -> String) -> Step<T> {
        self.map_err(|error| (name(), error))
    }
}

/// The namespaces a cell gets when it is cloned. The zygote has made its network namespace before.
/// Its cgroup namespace comes once it is in its own groups.
pub(super) const NAMESPACES: u64 = kernel::CLONE_NEWUSER
    | kernel::CLONE_NEWPID
    | kernel::CLONE_NEWNS
    | kernel::CLONE_NEWIPC
    | kernel::CLONE_NEWUTS;

/// Clones this process into a cell. Returns in the zygote, and in the cell's PID 2 once it is
/// confined.
pub(crate) fn make_cell(plan: &CellPlan, parts: &CellParts<'_>) -> io::Result<Forked> {
    // Without help, the child may map exactly one id into its new user namespace: the one it was
    // cloned under.
    if let Some(id) = parts.host_id {
        kernel::set_ids(id, None)?;
    }
    let made = clone_into_cell(plan, parts);
    if !matches!(made, Ok(Forked::Child)) {
        if parts.host_id.is_some() {
            kernel::restore_ids(0)?;
            // The kernel clears this setting whenever ids change.
            kernel::die_with_parent()?;
        }
        // PID 1 had to make itself readable, and its memory was ours.
        kernel::set_dumpable(false)?;
    }
    made
}

/// Everything that happens in a new cell until its guest can run Python again. Returns in PID 2
/// only.
pub(super) fn become_pid_1(plan: &CellPlan, parts: &CellParts<'_>) {
    let outer_id = parts.host_id.unwrap_or(plan.guest_id);
    let confined = join_cgroups(parts)
        .and_then(|()| confine(plan, parts, outer_id))
        .and_then(|locks| Ok((locks, install_filter(plan, parts)?)))
        .and_then(|(locks, listener)| fork_guest(plan, parts, [listener, locks]));
    if let Err((step, error)) = confined {
        report(parts.status, format!("F{step}: {error}").as_bytes());
        kernel::exit_now(SETUP_FAILED)
    }
}

/// Comes first, so that the cell sees its own control groups as the root, and not by their names on
/// the host.
fn join_cgroups(parts: &CellParts<'_>) -> Step {
    for &cgroup in parts.cgroups {
        write_all(cgroup, b"0").step(|| "join the cell's cgroup".into())?;
    }
    kernel::unshare_namespaces(kernel::CLONE_NEWCGROUP).step(|| "create a cgroup namespace".into())
}

/// Returns a descriptor of the kernel's list of locks. PID 1 counts locks with it.
fn confine(plan: &CellPlan, parts: &CellParts<'_>, outer_id: u32) -> Step<Option<RawFd>> {
    // If the machine runs out of memory, a cell is killed before its zygote, and the zygote before
    // the host.
    const FIRST_TO_GO: &str = "1000";
    // Ids have changed since the last `execve`, so /proc/self belongs to root until this call.
    kernel::set_dumpable(true).step(|| "become readable to ourselves".into())?;
    for (file, text) in [
        ("oom_score_adj", FIRST_TO_GO.to_owned()),
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{} {outer_id} 1", plan.guest_id)),
        ("gid_map", format!("{} {outer_id} 1", plan.guest_id)),
    ] {
        std::fs::write(format!("/proc/self/{file}"), text).step(|| format!("write {file}"))?;
    }
    // The saved ids are still the zygote's.
    kernel::set_ids(plan.guest_id, Some(plan.guest_id)).step(|| "forget the zygote's ids".into())?;
    // Process group and session are the zygote's too. A signal or a priority for "my group" would
    // reach the zygote and every other cell.
    kernel::new_session().step(|| "begin a session".into())?;
    let mut locks = None;
    let mut lent = parts.lent.iter().copied();
    for (number, mount) in plan.mounts.iter().enumerate() {
        if let Some(workspace) = parts.workspace.filter(|_| number == WORKSPACE) {
            let tree = parts.host_id.and_then(|_| lent.next());
            mount_kept(plan, &workspace, tree, &mount.target)
                .step(|| format!("mount the workspace {workspace:?}"))?;
            continue;
        }
        let options = make_place(mount).step(|| format!("make {}", mount.target))?;
        if mount.kind == LENT {
            let tree = lent.next().unwrap_or(-1);
            match kernel::attach_tree(tree, &mount.target) {
                // The host has removed or replaced what was lent. What the zygote has there is the
                // same, and stays.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                attached => attached.step(|| format!("mount {}", mount.target))?,
            }
            continue;
        }
        kernel::mount_at(&mount.kind, &mount.target, &mount.kind, mount.flags, options)
            .step(|| format!("mount {} on {}", mount.kind, mount.target))?;
        if mount.kind == "proc" {
            // Open it before it is covered, because the file shows locks of the whole machine. Not
            // owned, like the listener below.
            locks = File::open("/proc/locks").ok().map(IntoRawFd::into_raw_fd);
        }
    }
    if !plan.store.is_empty() {
        let flags = kernel::MS_RDONLY | kernel::MS_NOSUID | kernel::MS_NODEV | kernel::MS_NOEXEC;
        kernel::mount_at("tmpfs", &plan.store, "tmpfs", flags, "size=0,nr_inodes=1,mode=0555")
            .step(|| "hide the other workspaces".into())?;
    }
    send_scratch_handles(plan, parts.status)?;
    kernel::keep_only_capabilities(&[]).step(|| "drop capabilities".into())?;
    kernel::forbid_new_privileges().step(|| "set no_new_privs".into())?;
    if plan.landlock > 0 {
        enter_landlock(plan)?;
    }
    Ok(locks)
}

/// The number of the workspace among the mounts of a plan.
const WORKSPACE: usize = 0;

/// Mounts a kept workspace: the tree that the host lends or, where cells have the ids of their
/// zygote, what has that name in the store.
fn mount_kept(plan: &CellPlan, name: &KeptName, tree: Option<RawFd>, target: &str) -> io::Result<()> {
    match tree {
        Some(tree) => kernel::attach_tree(tree, target),
        None => {
            let source = format!("{}/{}", plan.store, name.as_str());
            kernel::mount_at(&source, target, "", kernel::MS_BIND, "")
        }
    }
}

/// Installs the last lock. Returns the descriptor on which PID 1 is asked about sockets. The kernel
/// has none if a parent already has such a filter. Then the host is told at once that there may be
/// sockets.
fn install_filter(plan: &CellPlan, parts: &CellParts<'_>) -> Step<Option<RawFd>> {
    match kernel::install_notifying_filter(&plan.cell_filter) {
        // Not owned: this memory becomes two processes, and only one of them keeps the descriptor.
        Ok(listener) => Ok(Some(listener.into_raw_fd())),
        Err(_) => {
            kernel::install_filter(&plan.unwatched_filter).step(|| "install the seccomp filter".into())?;
            report(parts.status, SOCKETS_WERE_MADE);
            Ok(None)
        }
    }
}

/// Makes the place of a mount, if that is inside another mount of the cell. Returns the options
/// that are left.
fn make_place(mount: &PlannedMount) -> io::Result<&str> {
    let place = Path::new(&mount.target);
    match mount.options.as_str() {
        MAKE_DIRECTORY => std::fs::create_dir_all(place)?,
        MAKE_FILE => {
            std::fs::create_dir_all(place.parent().unwrap_or(place))?;
            File::create_new(place).map(drop)?;
        }
        options => return Ok(options),
    }
    Ok("")
}

/// Gives the host a handle on each scratch space. When a script fails, the kernel's figure on
/// whether one was full decides the verdict.
fn send_scratch_handles(plan: &CellPlan, status: RawFd) -> Step {
    let scratch = || plan.mounts.iter().filter(|mount| mount.kind == "tmpfs");
    let mut handles: [Option<OwnedFd>; 4] = [const { None }; 4];
    for (handle, mount) in handles.iter_mut().zip(scratch()) {
        let opened =
            kernel::open_path(&mount.target).map_err(|error| (format!("open {}", mount.target), error))?;
        *handle = Some(opened);
    }
    let mut numbers = [-1; 4];
    let count = scratch().count().min(numbers.len());
    for (number, handle) in numbers.iter_mut().zip(handles.iter().flatten()) {
        *number = handle.as_raw_fd();
    }
    kernel::send_with_descriptors(status, b"D", &numbers[..count]).step(|| "show the scratch spaces".into())
}

/// Allows reading and running everything the mounts show, and writing only where the plan says.
fn enter_landlock(plan: &CellPlan) -> Step {
    const READ: u64 = 1 | 1 << 2 | 1 << 3; // execute, read_file, read_dir
    const WRITE_FILE: u64 = 1 << 1;
    const IOCTL_DEV: u64 = 1 << 15;
    const TRUNCATE: u64 = 1 << 14;
    // What can be allowed of a file by itself: the rest is about directories.
    const OF_FILES: u64 = READ & !(1 << 3) | WRITE_FILE | TRUNCATE | IOCTL_DEV;
    const SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS: u64 = 1 | 2;
    let handled: u64 = match plan.landlock {
        0 | 1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    };
    let scoped = if plan.landlock >= 6 { SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS } else { 0 };
    let ruleset = kernel::landlock_ruleset(handled, scoped)
        .map_err(|error| ("make a Landlock ruleset".into(), error))?;
    let rules = [("/", READ), ("/dev", READ | WRITE_FILE | IOCTL_DEV)].into_iter().chain(
        plan.writable.iter().map(|path| {
            let is_directory = Path::new(path).is_dir();
            (path.as_str(), if is_directory { u64::MAX } else { OF_FILES })
        }),
    );
    for (path, allowed) in rules {
        kernel::open_path(path)
            .and_then(|place| {
                kernel::landlock_allow(ruleset.as_raw_fd(), place.as_raw_fd(), allowed & handled)
            })
            .step(|| format!("allow {path} in Landlock"))?;
    }
    kernel::landlock_enter(ruleset.as_raw_fd()).step(|| "enter Landlock".into())
}

/// Forks PID 2 and returns in it. PID 1 continues as another program.
fn fork_guest(plan: &CellPlan, parts: &CellParts<'_>, for_init: [Option<RawFd>; 2]) -> Step {
    const SIGINT: i32 = 2;
    const SIGCHLD: i32 = 17;
    // The zygote ignores SIGCHLD so that cells leave no zombies. But PID 1 must wait, and Python
    // expects the default.
    kernel::default_signal(SIGCHLD);
    // The host may interrupt the guest as soon as that is ready. Until PID 1 is the program that
    // hands the signal on, it waits; the handler here is the zygote's.
    kernel::set_blocked(SIGINT, true);
    match kernel::fork_here().map_err(|error| ("fork the guest".to_owned(), error))? {
        Forked::Parent { .. } => Err(("become the cell's init".to_owned(), become_init(parts, for_init))),
        Forked::Child => {
            kernel::set_blocked(SIGINT, false);
            arrange_descriptors(parts).step(|| "arrange descriptors".into())?;
            // This comes last, because a low limit on descriptors would not allow the channel's
            // high number.
            let limited = limit(plan);
            if let Err((step, error)) = limited {
                report(parts.channel_number + 1, format!("F{step}: {error}").as_bytes());
                kernel::exit_now(SETUP_FAILED)
            }
            kernel::close_from(parts.channel_number + 1).step(|| "close the status socket".into())
        }
    }
}

fn limit(plan: &CellPlan) -> Step {
    for limit in &plan.rlimits {
        kernel::limit_as_allowed(limit.resource, limit.value, limit.value)
            .step(|| format!("set resource limit {}", limit.resource))?;
    }
    if plan.extra_data > 0 {
        // What the zygote had already loaded does not count against the script.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let born_with = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let kilobytes: Option<u64> = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok());
            kilobytes.unwrap_or(0) * 1024
        };
        for (resource, extra, name) in [
            (kernel::RLIMIT_DATA, plan.extra_data, "VmData"),
            (kernel::RLIMIT_AS, plan.extra_addresses, "VmSize"),
        ] {
            let most = extra.saturating_add(born_with(name));
            kernel::limit_as_allowed(resource, most, most).step(|| format!("limit {name}"))?;
        }
    }
    Ok(())
}

fn arrange_descriptors(parts: &CellParts<'_>) -> io::Result<()> {
    let (channel, last_words) = (parts.channel_number, parts.channel_number + 1);
    let nothing = File::open("/dev/null")?;
    kernel::duplicate_onto(nothing.as_raw_fd(), 0)?;
    kernel::duplicate_onto(parts.stdout, 1)?;
    kernel::duplicate_onto(parts.stderr, 2)?;
    // This takes two steps, because the channel may have any number now, and everything below must
    // be closed.
    let (aside, status) = (
        kernel::duplicate_above(parts.channel, last_words + 1)?,
        kernel::duplicate_above(parts.status, last_words + 1)?,
    );
    kernel::duplicate_onto(aside, channel)?;
    kernel::duplicate_onto(status, last_words)?;
    // `nothing` is closed here too. Its destructor must not close the number again.
    let _closed_below = ManuallyDrop::new(nothing);
    kernel::close_between(3, channel - 1)?;
    kernel::close_from(last_words + 1)?;
    kernel::close_on_exec(channel)
}

/// Leaves the borrowed memory and becomes a small program that reaps and reports. Returns only if
/// that fails.
fn become_init(parts: &CellParts<'_>, listener_and_locks: [Option<RawFd>; 2]) -> io::Error {
    const STATUS: RawFd = 3;
    const LISTENER_AND_LOCKS: [RawFd; 2] = [4, 5];
    // PID 1 must not hold any pipe of the guest open.
    let alone = (|| {
        let above = |fd| kernel::duplicate_above(fd, parts.channel_number);
        let (status, init) = (above(parts.status)?, above(parts.init)?);
        let mut aside = [None; 2];
        for (aside, fd) in aside.iter_mut().zip(listener_and_locks) {
            *aside = fd.map(above).transpose()?;
        }
        kernel::close_between(0, parts.channel_number - 1)?;
        kernel::duplicate_onto(status, STATUS)?;
        for (aside, number) in aside.into_iter().zip(LISTENER_AND_LOCKS) {
            if let Some(aside) = aside {
                kernel::duplicate_onto(aside, number)?;
            }
        }
        Ok(init)
    })();
    match alone {
        Ok(init) => kernel::exec_descriptor(init, c"belljar-init"),
        Err(error) => error,
    }
}

/// Tells the host. If that fails, there is nobody else to tell.
pub(super) fn report(status: RawFd, record: &[u8]) {
    let _ = write_all(status, record);
}

fn write_all(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    kernel::borrow_file(fd).write_all(bytes)
}
