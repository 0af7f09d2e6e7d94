//! What a cell may not ask of the kernel.
//!
//! A list of refusals rather than of permissions: honest Python code, its C extensions and the programs they start use a wide and
//! growing set of calls, and what makes these safe is the namespaces and ids around them. Refused is what reaches past those: ways to
//! new namespaces and mounts, other processes' memory, kernel facilities that have been a way out before, and the clock.
//!
//! What the zygote itself does not need is refused to the zygote, once, and every cell inherits that. Only the few calls by which cells
//! are made are left to a filter of each cell's own, because the kernel compiles a filter anew each time one is installed.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// The kernel's numbers for the calls named here, from the headers of both architectures.
mod number;

use number as nr;

/// A filter could not be built: only on an architecture Belljar does not know.
#[derive(Debug, thiserror::Error)]
#[error("cannot build the seccomp filter")]
pub struct SeccompError(#[source] Box<dyn std::error::Error + Send + Sync>);

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
const DONE: u32 = 0;

/// Calls by which cells are made, answered with "operation not permitted" in a cell.
const REFUSED_TO_CELLS: &[i64] = &[
    nr::UNSHARE,
    nr::SETNS,
    nr::MOUNT,
    nr::LANDLOCK_CREATE_RULESET,
    nr::LANDLOCK_ADD_RULE,
    nr::LANDLOCK_RESTRICT_SELF,
];

/// Calls answered with "operation not permitted" from the zygote on.
const REFUSED: &[i64] = &[
    // Namespaces, mounts and roots.
    nr::UMOUNT2,
    nr::PIVOT_ROOT,
    nr::CHROOT,
    nr::MOVE_MOUNT,
    nr::OPEN_TREE,
    nr::OPEN_TREE_ATTR,
    nr::FSOPEN,
    nr::FSCONFIG,
    nr::FSMOUNT,
    nr::FSPICK,
    nr::MOUNT_SETATTR,
    nr::SWAPON,
    nr::SWAPOFF,
    nr::QUOTACTL,
    nr::QUOTACTL_FD,
    // Other processes' memory and descriptors.
    nr::PTRACE,
    nr::PROCESS_VM_READV,
    nr::PROCESS_VM_WRITEV,
    nr::PROCESS_MADVISE,
    nr::KCMP,
    nr::PIDFD_GETFD,
    // Kernel facilities with a past.
    nr::BPF,
    nr::PERF_EVENT_OPEN,
    nr::KEYCTL,
    nr::ADD_KEY,
    nr::REQUEST_KEY,
    nr::USERFAULTFD,
    nr::NAME_TO_HANDLE_AT,
    nr::OPEN_BY_HANDLE_AT,
    nr::FANOTIFY_INIT,
    nr::LOOKUP_DCOOKIE,
    nr::SYSLOG,
    nr::ACCT,
    nr::VHANGUP,
    nr::NFSSERVCTL,
    // The machine itself.
    nr::REBOOT,
    nr::KEXEC_LOAD,
    nr::KEXEC_FILE_LOAD,
    nr::INIT_MODULE,
    nr::FINIT_MODULE,
    nr::DELETE_MODULE,
    nr::SETTIMEOFDAY,
    nr::CLOCK_SETTIME,
    nr::CLOCK_ADJTIME,
    nr::ADJTIMEX,
    nr::SETHOSTNAME,
    nr::SETDOMAINNAME,
    nr::PERSONALITY,
    // NUMA games that slow everybody down.
    nr::MBIND,
    nr::MIGRATE_PAGES,
    nr::MOVE_PAGES,
    nr::SET_MEMPOLICY,
    // Only an old architecture has these.
    #[cfg(target_arch = "x86_64")]
    nr::IOPL,
    #[cfg(target_arch = "x86_64")]
    nr::IOPERM,
    #[cfg(target_arch = "x86_64")]
    nr::MODIFY_LDT,
    #[cfg(target_arch = "x86_64")]
    nr::CREATE_MODULE,
    #[cfg(target_arch = "x86_64")]
    nr::USTAT,
];

/// Calls answered with "no such call", because their users then fall back to an older way that can be judged.
const ABSENT: &[i64] = &[
    // Its flags are behind a pointer, where a filter cannot look; glibc falls back to `clone`.
    nr::CLONE3,
    nr::IO_URING_SETUP,
    nr::IO_URING_ENTER,
    nr::IO_URING_REGISTER,
    nr::MEMFD_SECRET,
    // They tell what the host and other cells do with files that all can read.
    #[cfg(target_arch = "x86_64")]
    nr::INOTIFY_INIT,
    nr::INOTIFY_INIT1,
    nr::INOTIFY_ADD_WATCH,
    // Its mode is behind a pointer, see the bits that change ids below.
    nr::OPENAT2,
];

/// The filters of a zygote, in the kernel's own layout, to be installed in this order. Its cells inherit them.
pub(crate) fn zygote_filters() -> Result<Vec<Vec<u8>>, SeccompError> {
    let mut refused = always(REFUSED);
    refused.extend(conditional()?);
    Ok(vec![
        bytes(compile(always(ABSENT), ENOSYS)?),
        bytes(compile(refused, EPERM)?),
        bytes(compile(pretended()?, DONE)?),
    ])
}

/// What each cell adds to them.
pub(crate) fn cell_filter() -> Result<Vec<u8>, SeccompError> {
    const NAMESPACES: u64 = 0x7e02_0080; // every CLONE_NEW*, NEWTIME included
    let mut clone_rules = Vec::new();
    for bit in (0..32).map(|bit| 1u64 << bit).filter(|bit| NAMESPACES & bit != 0) {
        clone_rules.push(rule(vec![condition(0, SeccompCmpOp::MaskedEq(bit), bit)?])?);
    }
    let mut refused = always(REFUSED_TO_CELLS);
    refused.insert(nr::CLONE, clone_rules);
    Ok(bytes(compile(refused, EPERM)?))
}

/// The same for a guest that somebody else put into namespaces, all at once: what a zygote needs, its kind of supervisor does not.
pub fn guest_filters() -> Result<Vec<Vec<u8>>, SeccompError> {
    let mut filters = zygote_filters()?;
    filters.push(cell_filter()?);
    Ok(filters)
}

fn always(calls: &[i64]) -> BTreeMap<i64, Vec<SeccompRule>> {
    calls.iter().map(|&call| (call, Vec::new())).collect()
}

/// Calls that are fine but for certain arguments.
fn conditional() -> Result<BTreeMap<i64, Vec<SeccompRule>>, SeccompError> {
    const AF_UNIX: u64 = 1;
    const AF_INET: u64 = 2;
    const AF_INET6: u64 = 10;
    const SOCK_RAW: u64 = 3;
    const SOCK_TYPE: u64 = 0xf;
    const TIOCSTI: u64 = 0x5412;
    const TIOCLINUX: u64 = 0x541c;
    const TCP: u64 = 6;
    const UDP: u64 = 17;
    const MSG_OOB: u64 = 1;
    const SOL_SOCKET: u64 = 1;
    const SO_PEERPIDFD: u64 = 77;
    const F_SETLEASE: u64 = 1024;
    const F_NOTIFY: u64 = 1026;
    let equal = |argument, value| condition(argument, SeccompCmpOp::Eq, value);
    let other = |argument, value| condition(argument, SeccompCmpOp::Ne, value);
    let bit = |argument, value| condition(argument, SeccompCmpOp::MaskedEq(value), value);
    let mut rules = BTreeMap::from([
        (
            nr::SOCKET,
            vec![
                rule(vec![other(0, AF_UNIX)?, other(0, AF_INET)?, other(0, AF_INET6)?])?,
                rule(vec![condition(1, SeccompCmpOp::MaskedEq(SOCK_TYPE), SOCK_RAW)?])?,
                // Other protocols of these families are a driver each, some loaded on demand.
                rule(vec![other(0, AF_UNIX)?, other(2, 0)?, other(2, TCP)?, other(2, UDP)?])?,
            ],
        ),
        (nr::SOCKETPAIR, vec![rule(vec![other(0, AF_UNIX)?])?]),
        // Out-of-band data, which only exploits send over Unix sockets.
        (nr::SENDTO, vec![rule(vec![bit(3, MSG_OOB)?])?]),
        (nr::SENDMSG, vec![rule(vec![bit(2, MSG_OOB)?])?]),
        (nr::SENDMMSG, vec![rule(vec![bit(3, MSG_OOB)?])?]),
        // A handle on whoever made the channel.
        (nr::GETSOCKOPT, vec![rule(vec![equal(1, SOL_SOCKET)?, equal(2, SO_PEERPIDFD)?])?]),
        // Being told who uses a file, and making them wait.
        (nr::FCNTL, vec![rule(vec![equal(1, F_NOTIFY)?])?, rule(vec![equal(1, F_SETLEASE)?])?]),
        // Typing into somebody's terminal.
        (nr::IOCTL, vec![rule(vec![equal(1, TIOCSTI)?])?, rule(vec![equal(1, TIOCLINUX)?])?]),
        // Another process's limits, the cell's PID 1 among them.
        (nr::PRLIMIT64, vec![rule(vec![other(0, 0)?])?]),
    ]);
    rules.extend(bits_that_change_ids()?);
    rules.extend(priorities_of_pid_1()?);
    Ok(rules)
}

/// Slowing down the cell's PID 1, by its number, its group's or its user's. Where cells are used again, what it starts next would
/// be slow as well.
fn priorities_of_pid_1() -> Result<BTreeMap<i64, Vec<SeccompRule>>, SeccompError> {
    const PRIO_USER: u64 = 2;
    const IOPRIO_WHO_USER: u64 = 3;
    let equal = |argument, value| rule(vec![condition(argument, SeccompCmpOp::Eq, value)?]);
    Ok(BTreeMap::from([
        (nr::SETPRIORITY, vec![equal(1, 1)?, equal(0, PRIO_USER)?]),
        (nr::IOPRIO_SET, vec![equal(1, 1)?, equal(0, IOPRIO_WHO_USER)?]),
        (nr::SCHED_SETAFFINITY, vec![equal(0, 1)?]),
        (nr::SCHED_SETATTR, vec![equal(0, 1)?]),
        (nr::SCHED_SETPARAM, vec![equal(0, 1)?]),
        (nr::SCHED_SETSCHEDULER, vec![equal(0, 1)?]),
    ]))
}

/// Set-user-id and set-group-id bits, which do nothing in a cell and, in a granted directory, everything on the host.
fn bits_that_change_ids() -> Result<BTreeMap<i64, Vec<SeccompRule>>, SeccompError> {
    const BITS: [u64; 2] = [0o4000, 0o2000];
    /// Either makes the mode count.
    const CREATING: [u64; 2] = [0o100, 0o20_000_000];
    let bit = |argument, value| condition(argument, SeccompCmpOp::MaskedEq(value), value);
    let plain =
        |argument| BITS.iter().map(|&mode| rule(vec![bit(argument, mode)?])).collect::<Result<Vec<_>, _>>();
    let creating = |flags, argument| {
        let pairs = BITS.iter().flat_map(|mode| CREATING.map(|flag| (*mode, flag)));
        pairs
            .map(|(mode, flag)| rule(vec![bit(flags, flag)?, bit(argument, mode)?]))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(BTreeMap::from([
        #[cfg(target_arch = "x86_64")]
        (nr::CHMOD, plain(1)?),
        #[cfg(target_arch = "x86_64")]
        (nr::MKNOD, plain(1)?),
        #[cfg(target_arch = "x86_64")]
        (nr::CREAT, plain(1)?),
        #[cfg(target_arch = "x86_64")]
        (nr::OPEN, creating(1, 2)?),
        (nr::FCHMOD, plain(1)?),
        (nr::FCHMODAT, plain(2)?),
        (nr::FCHMODAT2, plain(2)?),
        (nr::MKNODAT, plain(2)?),
        (nr::OPENAT, creating(2, 3)?),
    ]))
}

/// Calls that do nothing and say that they did: lowering the limit on core files from 1 to 0, which scripts do for good order and which
/// would bring the host's crash handler back.
fn pretended() -> Result<BTreeMap<i64, Vec<SeccompRule>>, SeccompError> {
    const RLIMIT_CORE: u64 = 4;
    let core = |argument| condition(argument, SeccompCmpOp::Eq, RLIMIT_CORE);
    let given = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0).map_err(fail)?;
    Ok(BTreeMap::from([
        (nr::SETRLIMIT, vec![rule(vec![core(0)?])?]),
        (nr::PRLIMIT64, vec![rule(vec![core(1)?, given])?]),
    ]))
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, SeccompError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(fail)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, SeccompError> {
    SeccompRule::new(conditions).map_err(fail)
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: u32) -> Result<BpfProgram, SeccompError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(fail)?;
    let mut program: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), arch)
            .and_then(TryInto::try_into)
            .map_err(fail)?;
    if cfg!(target_arch = "x86_64") {
        refuse_x32(&mut program);
    }
    Ok(program)
}

/// The x32 calls come under the same architecture with one bit set in the number, past every rule above.
fn refuse_x32(program: &mut BpfProgram) {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const KILL_PROCESS: u32 = 0x8000_0000;
    const X32_BIT: u32 = 0x4000_0000;
    let instruction = |code, jt, jf, k| seccompiler::sock_filter { code, jt, jf, k };
    program.splice(
        0..0,
        [
            instruction(LOAD_WORD, 0, 0, 0),
            instruction(JUMP_IF_GREATER_OR_EQUAL, 0, 1, X32_BIT),
            instruction(RETURN, 0, 0, KILL_PROCESS),
        ],
    );
}

fn bytes(program: BpfProgram) -> Vec<u8> {
    program
        .iter()
        .flat_map(|instruction| {
            let [code_low, code_high] = instruction.code.to_ne_bytes();
            let [a, b, c, d] = instruction.k.to_ne_bytes();
            [code_low, code_high, instruction.jt, instruction.jf, a, b, c, d]
        })
        .collect()
}

fn fail(error: impl std::error::Error + Send + Sync + 'static) -> SeccompError {
    SeccompError(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_fit_the_kernels_limit() {
        const BPF_MAXINSNS: usize = 4096;
        for filter in zygote_filters().unwrap().into_iter().chain([cell_filter().unwrap()]) {
            assert!(!filter.is_empty());
            assert_eq!(filter.len() % 8, 0);
            assert!(filter.len() / 8 < BPF_MAXINSNS);
        }
    }

    #[test]
    fn no_call_is_listed_twice() {
        let mut all: Vec<i64> = REFUSED.iter().chain(REFUSED_TO_CELLS).chain(ABSENT).copied().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
