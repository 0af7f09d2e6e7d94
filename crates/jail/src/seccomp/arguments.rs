//! System calls that a guest may use for some purposes only.
//!
//! Where possible, a rule lists what is allowed: kinds of sockets, their options, requests to
//! drivers, attributes of a process. For anything else the answer is that of a kernel without the
//! feature.

use linux_raw_sys::{general, ioctl, net, prctl};

use super::Terminals;
use super::program::{Answer, Rule, Table, Test, Treatment};

const EPERM: Answer = Answer::Errno(1);
const ENOMEM: Answer = Answer::Errno(12);
const EINVAL: Answer = Answer::Errno(22);
const ENOTTY: Answer = Answer::Errno(25);
const ENOPROTOOPT: Answer = Answer::Errno(92);
const DONE: Answer = Answer::Errno(0);

/// Adds the rules to a table in which these calls are allowed.
pub(super) fn restrict(table: &mut Table, terminals: Terminals) {
    let requests = match terminals {
        Terminals::None => REQUESTS.to_vec(),
        Terminals::OfItsOwn => [REQUESTS, OF_TERMINALS].concat(),
    };
    let rules = [
        (general::__NR_socket, allow_only(sockets(), EPERM)),
        (general::__NR_socketpair, allow_only(unix_sockets(), EPERM)),
        (general::__NR_setsockopt, settable()),
        (general::__NR_getsockopt, allow_only(socket_options(READABLE), ENOPROTOOPT)),
        (general::__NR_ioctl, allow_only(vec![vec![one_of(1, &requests)]], ENOTTY)),
        (general::__NR_prctl, allow_only(vec![vec![one_of(0, ATTRIBUTES)]], EINVAL)),
        (general::__NR_fcntl, allow_only(vec![vec![one_of(1, DESCRIPTOR_COMMANDS)]], EINVAL)),
        (general::__NR_madvise, allow_only(vec![vec![one_of(2, ADVICE)]], EINVAL)),
        (general::__NR_sendto, allow_unless(vec![any_bit(3, NOT_SENT)], EPERM)),
        (general::__NR_sendmsg, allow_unless(vec![any_bit(2, NOT_SENT)], EPERM)),
        (general::__NR_sendmmsg, allow_unless(vec![any_bit(3, NOT_SENT)], EPERM)),
        // Huge pages come out of a pool of the whole machine, and no memory limit counts them.
        (general::__NR_mmap, allow_unless(vec![any_bit(3, general::MAP_HUGETLB)], ENOMEM)),
        (general::__NR_memfd_create, allow_unless(vec![any_bit(1, !MEMORY_FILE_FLAGS)], EINVAL)),
        (general::__NR_shmget, allow_unless(vec![any_bit(2, SHM_HUGETLB)], EPERM)),
        // A hint to drop cached pages of a file, which others may be using.
        (general::__NR_fadvise64, allow_unless(vec![equal(3, general::POSIX_FADV_DONTNEED)], DONE)),
        (general::__NR_setrlimit, allow_unless(vec![equal(0, general::RLIMIT_CORE)], DONE)),
        (general::__NR_prlimit64, limits()),
    ];
    for (call, treatment) in rules.into_iter().chain(set_id_bits()).chain(priorities_of_pid_1()) {
        let replaced = table.insert(i64::from(call), treatment);
        debug_assert!(replaced.is_some(), "a rule about call {call}, which is not allowed at all");
    }
}

/// Allows the call if all tests of one case hold.
fn allow_only(cases: Vec<Vec<Test>>, otherwise: Answer) -> Treatment {
    let rules = cases.into_iter().map(|tests| Rule { tests, answer: Answer::Allow }).collect();
    Treatment { rules, otherwise }
}

/// Allows the call unless all tests hold.
fn allow_unless(tests: Vec<Test>, answer: Answer) -> Treatment {
    Treatment { rules: vec![Rule { tests, answer }], otherwise: Answer::Allow }
}

fn equal(argument: u8, value: u32) -> Test {
    one_of(argument, &[value])
}

fn one_of(argument: u8, values: &[u32]) -> Test {
    Test::In { argument, values: values.to_vec() }
}

fn any_bit(argument: u8, mask: u32) -> Test {
    Test::AnyOf { argument, mask }
}

/// Streams and datagrams, over Unix and Internet sockets. Every other kind means one more driver,
/// and some are loaded on demand.
fn sockets() -> Vec<Vec<Test>> {
    let internet = |kind, protocol: i32| {
        vec![
            one_of(0, &[net::AF_INET, net::AF_INET6]),
            of_type(kind),
            one_of(2, &[0, protocol.unsigned_abs()]),
        ]
    };
    let mut cases = unix_sockets();
    cases.push(internet(net::SOCK_STREAM, net::IPPROTO_TCP as i32));
    cases.push(internet(net::SOCK_DGRAM, net::IPPROTO_UDP as i32));
    cases
}

fn unix_sockets() -> Vec<Vec<Test>> {
    let unix = |kind| vec![equal(0, net::AF_UNIX), of_type(kind), one_of(2, &[0, net::AF_UNIX])];
    vec![unix(net::SOCK_STREAM), unix(net::SOCK_DGRAM)]
}

/// Tests a socket's type, whatever flags are set beside it.
fn of_type(kind: u32) -> Test {
    Test::Masked { argument: 1, mask: 0xf, value: kind }
}

/// Socket options, by level.
type Options = &'static [(u32, &'static [u32])];

fn socket_options(options: Options) -> Vec<Vec<Test>> {
    options.iter().map(|(level, names)| vec![equal(1, *level), one_of(2, names)]).collect()
}

const SOL_SOCKET: u32 = 1;
const SOL_IP: u32 = 0;
const SOL_TCP: u32 = 6;
const SOL_IPV6: u32 = 41;

/// Options that programs set. Left out on purpose:
///
/// - filters, which are programs in the kernel;
/// - other drivers on top of a connection;
/// - time stamps, a switch for the whole machine;
/// - memory shared with the network;
/// - labels that outlive their socket;
/// - handles on other processes;
/// - groups of receivers: the interface keeps them, nobody is charged for them, and the interface
///   has no other user.
const SETTABLE: Options = &[
    (
        SOL_SOCKET,
        &[
            net::SO_REUSEADDR,
            net::SO_REUSEPORT,
            net::SO_KEEPALIVE,
            net::SO_BROADCAST,
            net::SO_LINGER,
            net::SO_OOBINLINE,
            net::SO_SNDBUF,
            net::SO_RCVBUF,
            net::SO_RCVLOWAT,
            net::SO_RCVTIMEO_OLD,
            net::SO_SNDTIMEO_OLD,
            net::SO_RCVTIMEO_NEW,
            net::SO_SNDTIMEO_NEW,
            net::SO_PASSCRED,
            net::SO_PRIORITY,
            net::SO_DONTROUTE,
        ],
    ),
    (
        SOL_TCP,
        &[
            net::TCP_NODELAY,
            net::TCP_MAXSEG,
            net::TCP_CORK,
            net::TCP_KEEPIDLE,
            net::TCP_KEEPINTVL,
            net::TCP_KEEPCNT,
            net::TCP_SYNCNT,
            net::TCP_LINGER2,
            net::TCP_DEFER_ACCEPT,
            net::TCP_WINDOW_CLAMP,
            net::TCP_QUICKACK,
            net::TCP_USER_TIMEOUT,
            net::TCP_NOTSENT_LOWAT,
            net::TCP_INQ,
        ],
    ),
    (
        SOL_IP,
        &[
            net::IP_TOS,
            net::IP_TTL,
            net::IP_RECVTOS,
            net::IP_RECVTTL,
            net::IP_PKTINFO,
            net::IP_RECVERR,
            net::IP_MTU_DISCOVER,
            net::IP_BIND_ADDRESS_NO_PORT,
            net::IP_MULTICAST_IF,
            net::IP_MULTICAST_TTL,
            net::IP_MULTICAST_LOOP,
        ],
    ),
    (
        SOL_IPV6,
        &[
            net::IPV6_V6ONLY,
            net::IPV6_UNICAST_HOPS,
            net::IPV6_TCLASS,
            net::IPV6_RECVTCLASS,
            net::IPV6_HOPLIMIT,
            net::IPV6_RECVHOPLIMIT,
            net::IPV6_PKTINFO,
            net::IPV6_RECVPKTINFO,
            net::IPV6_RECVERR,
            net::IPV6_MTU_DISCOVER,
            net::IPV6_DONTFRAG,
            net::IPV6_MULTICAST_IF,
            net::IPV6_MULTICAST_HOPS,
            net::IPV6_MULTICAST_LOOP,
        ],
    ),
];

/// Options that programs only read, besides those above. Left out on purpose: numbers that are
/// unique on the machine, because they count everybody's sockets, and handles on whoever made the
/// channel.
const READABLE: Options = &[
    SETTABLE[0],
    SETTABLE[1],
    SETTABLE[2],
    SETTABLE[3],
    (
        SOL_SOCKET,
        &[
            net::SO_TYPE,
            net::SO_ERROR,
            net::SO_ACCEPTCONN,
            net::SO_PROTOCOL,
            net::SO_DOMAIN,
            net::SO_PEERCRED,
            net::SO_PEERSEC,
            net::SO_PEERGROUPS,
            net::SO_SNDLOWAT,
            net::SO_MEMINFO,
        ],
    ),
    (SOL_TCP, &[net::TCP_INFO]),
    (SOL_IP, &[net::IP_MTU]),
    (SOL_IPV6, &[net::IPV6_MTU]),
];

/// The list above, except that a request to resize a buffer succeeds and does nothing. A listener
/// passes its buffer size on to connections that nobody has accepted, and what those hold is
/// charged to nobody.
fn settable() -> Treatment {
    let buffers = vec![equal(1, SOL_SOCKET), one_of(2, &[net::SO_RCVBUF, net::SO_SNDBUF])];
    let mut list = allow_only(socket_options(SETTABLE), ENOPROTOOPT);
    list.rules.insert(0, Rule { tests: buffers, answer: DONE });
    list
}

/// Requests by which programs set a terminal up and use it. None puts words into somebody else's
/// mouth (`TIOCSTI`), reaches a console, or loads a line discipline.
const OF_TERMINALS: &[u32] = &[
    ioctl::TCSETS,
    ioctl::TCSETSW,
    ioctl::TCSETSF,
    ioctl::TCGETS2,
    ioctl::TCSETS2,
    ioctl::TCSETSW2,
    ioctl::TCSETSF2,
    ioctl::TCSBRK,
    ioctl::TCSBRKP,
    ioctl::TCXONC,
    ioctl::TCFLSH,
    ioctl::TIOCSCTTY,
    ioctl::TIOCNOTTY,
    ioctl::TIOCSPGRP,
    ioctl::TIOCGSID,
    ioctl::TIOCSWINSZ,
    ioctl::TIOCGPTN,
    ioctl::TIOCSPTLCK,
    ioctl::TIOCGPTPEER,
];

/// Requests to drivers: what a descriptor holds, what a terminal looks like, what interfaces there
/// are.
const REQUESTS: &[u32] = &[
    ioctl::FIONREAD,
    ioctl::FIONBIO,
    ioctl::FIOASYNC,
    ioctl::FIOCLEX,
    ioctl::FIONCLEX,
    ioctl::FIGETBSZ,
    ioctl::FS_IOC_GETFLAGS,
    ioctl::TCGETS,
    ioctl::TIOCGWINSZ,
    ioctl::TIOCGPGRP,
    ioctl::TIOCOUTQ,
    ioctl::RNDGETENTCNT,
    ioctl::SIOCATMARK,
    ioctl::SIOCGIFNAME,
    ioctl::SIOCGIFCONF,
    ioctl::SIOCGIFFLAGS,
    ioctl::SIOCGIFADDR,
    ioctl::SIOCGIFDSTADDR,
    ioctl::SIOCGIFBRDADDR,
    ioctl::SIOCGIFNETMASK,
    ioctl::SIOCGIFMTU,
    ioctl::SIOCGIFHWADDR,
    ioctl::SIOCGIFINDEX,
    // The zygote brings up a new loopback with this. It takes a network capability that no guest
    // has.
    ioctl::SIOCSIFFLAGS,
    // PID 1 of a cell learns of a guest's sockets with these. They work on its listener only.
    SECCOMP_IOCTL_NOTIF_RECV,
    SECCOMP_IOCTL_NOTIF_SEND,
    SECCOMP_IOCTL_NOTIF_SET_FLAGS,
];
const SECCOMP_IOCTL_NOTIF_SET_FLAGS: u32 = 0x4008_2104;
const SECCOMP_IOCTL_NOTIF_RECV: u32 = 0xc050_2100;
const SECCOMP_IOCTL_NOTIF_SEND: u32 = 0xc018_2101;

/// Attributes a process may set on itself. A cell drops capabilities with `PR_CAPBSET_DROP` and
/// `PR_CAP_AMBIENT`. Left out on purpose: names for memory areas, because each takes kernel memory
/// that nobody counts.
const ATTRIBUTES: &[u32] = &[
    prctl::PR_SET_PDEATHSIG,
    prctl::PR_GET_PDEATHSIG,
    prctl::PR_SET_DUMPABLE,
    prctl::PR_GET_DUMPABLE,
    prctl::PR_GET_KEEPCAPS,
    prctl::PR_SET_NAME,
    prctl::PR_GET_NAME,
    prctl::PR_GET_SECCOMP,
    PR_SET_SECCOMP,
    prctl::PR_CAPBSET_READ,
    prctl::PR_CAPBSET_DROP,
    prctl::PR_GET_SECUREBITS,
    prctl::PR_SET_TIMERSLACK,
    prctl::PR_GET_TIMERSLACK,
    prctl::PR_SET_CHILD_SUBREAPER,
    prctl::PR_GET_CHILD_SUBREAPER,
    prctl::PR_SET_NO_NEW_PRIVS,
    prctl::PR_GET_NO_NEW_PRIVS,
    prctl::PR_GET_TID_ADDRESS,
    prctl::PR_SET_THP_DISABLE,
    prctl::PR_GET_THP_DISABLE,
    prctl::PR_CAP_AMBIENT,
    prctl::PR_SVE_GET_VL,
    prctl::PR_GET_SPECULATION_CTRL,
];
pub(super) const PR_SET_SECCOMP: u32 = prctl::PR_SET_SECCOMP;

/// Operations on a descriptor. Left out on purpose: notice of who uses a file, leases that make
/// others wait, and locks that belong to an open file, because the kernel does not show those as a
/// cell's.
const DESCRIPTOR_COMMANDS: &[u32] = &[
    general::F_DUPFD,
    general::F_GETFD,
    general::F_SETFD,
    general::F_GETFL,
    general::F_SETFL,
    general::F_GETLK,
    general::F_SETLK,
    general::F_SETLKW,
    general::F_SETOWN,
    general::F_GETOWN,
    general::F_SETOWN_EX,
    general::F_GETOWN_EX,
    general::F_SETSIG,
    general::F_GETSIG,
    general::F_GETLEASE,
    general::F_DUPFD_QUERY,
    general::F_DUPFD_CLOEXEC,
    general::F_SETPIPE_SZ,
    general::F_GETPIPE_SZ,
    general::F_ADD_SEALS,
    general::F_GET_SEALS,
];

/// Advice about memory. Left out on purpose: merging pages with those of others, and taking pages
/// out of use.
const ADVICE: &[u32] = &[
    general::MADV_DONTNEED,
    general::MADV_FREE,
    general::MADV_NORMAL,
    general::MADV_RANDOM,
    general::MADV_SEQUENTIAL,
    general::MADV_WILLNEED,
    general::MADV_REMOVE,
    general::MADV_DONTFORK,
    general::MADV_DOFORK,
    general::MADV_HUGEPAGE,
    general::MADV_NOHUGEPAGE,
    general::MADV_COLLAPSE,
    general::MADV_DONTDUMP,
    general::MADV_DODUMP,
    general::MADV_WIPEONFORK,
    general::MADV_KEEPONFORK,
    general::MADV_COLD,
    general::MADV_PAGEOUT,
    general::MADV_POPULATE_READ,
    general::MADV_POPULATE_WRITE,
    general::MADV_DONTNEED_LOCKED,
    general::MADV_GUARD_INSTALL,
    general::MADV_GUARD_REMOVE,
];

/// Out-of-band data, which only exploits send over Unix sockets, and connecting by sending, about
/// which PID 1 is not asked.
const NOT_SENT: u32 = net::MSG_OOB | MSG_FASTOPEN;
const MSG_FASTOPEN: u32 = 0x2000_0000;

const MEMORY_FILE_FLAGS: u32 =
    general::MFD_CLOEXEC | general::MFD_ALLOW_SEALING | general::MFD_NOEXEC_SEAL | general::MFD_EXEC;
const SHM_HUGETLB: u32 = 0o4000;

/// Limits of the calling process only. PID 1 has limits too, and a filter cannot tell the caller's
/// own pid from PID 1's. Changing the core file limit succeeds and does nothing: it is 1 already,
/// and 0 would bring the host's crash handler back.
fn limits() -> Treatment {
    let others = Test::NotIn { argument: 0, values: vec![0] };
    let core = vec![equal(1, general::RLIMIT_CORE), Test::NotNull { argument: 2 }];
    Treatment {
        rules: vec![Rule { tests: vec![others], answer: EPERM }, Rule { tests: core, answer: DONE }],
        otherwise: Answer::Allow,
    }
}

/// Set-user-id and set-group-id bits. They do nothing in a cell, but in a granted directory they
/// take effect on the host.
fn set_id_bits() -> Vec<(u32, Treatment)> {
    const BITS: u32 = general::S_ISUID | general::S_ISGID;
    /// Either one makes the mode count: `O_CREAT`, or the bit by which `O_TMPFILE` differs from
    /// `O_DIRECTORY`.
    const CREATING: u32 = general::O_CREAT | 0o20_000_000;
    let mode = |argument| allow_unless(vec![any_bit(argument, BITS)], EPERM);
    let creating =
        |flags, argument| allow_unless(vec![any_bit(flags, CREATING), any_bit(argument, BITS)], EPERM);
    vec![
        #[cfg(target_arch = "x86_64")]
        (general::__NR_chmod, mode(1)),
        #[cfg(target_arch = "x86_64")]
        (general::__NR_mknod, mode(1)),
        #[cfg(target_arch = "x86_64")]
        (general::__NR_creat, mode(1)),
        #[cfg(target_arch = "x86_64")]
        (general::__NR_open, creating(1, 2)),
        (general::__NR_fchmod, mode(1)),
        (general::__NR_fchmodat, mode(2)),
        (general::__NR_mknodat, mode(2)),
        (general::__NR_openat, creating(2, 3)),
    ]
}

/// Slowing down the cell's PID 1, by its pid, its group or its user. Where a cell is used again,
/// whatever it starts next would be slow as well.
fn priorities_of_pid_1() -> Vec<(u32, Treatment)> {
    const IOPRIO_WHO_USER: u32 = 3;
    let pid_1 = |argument| Rule { tests: vec![equal(argument, 1)], answer: EPERM };
    let user = |kind| Rule { tests: vec![equal(0, kind)], answer: EPERM };
    let unless = |rules| Treatment { rules, otherwise: Answer::Allow };
    vec![
        (general::__NR_setpriority, unless(vec![pid_1(1), user(general::PRIO_USER)])),
        (general::__NR_ioprio_set, unless(vec![pid_1(1), user(IOPRIO_WHO_USER)])),
        (general::__NR_sched_setaffinity, unless(vec![pid_1(0)])),
        (general::__NR_sched_setattr, unless(vec![pid_1(0)])),
        (general::__NR_sched_setparam, unless(vec![pid_1(0)])),
        (general::__NR_sched_setscheduler, unless(vec![pid_1(0)])),
    ]
}
