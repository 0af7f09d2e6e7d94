//! What to do when a limit of the machine or of this user is in the way.

/// What to do when the kernel refused because a resource ran out, not because a right is missing.
pub fn shortage(errno: i32) -> Option<&'static str> {
    const EAGAIN: i32 = 11;
    const ENOMEM: i32 = 12;
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    const EFBIG: i32 = 27;
    const ETOOMANYREFS: i32 = 109;
    Some(match errno {
        EAGAIN => {
            "this user has as many processes and threads as it may have (ulimit -u, TasksMax of its unit or pids.max of its group): \
             end some or raise the limit"
        }
        ENOMEM => {
            "the machine, or this program's control group, has no memory left: free some or raise the limit"
        }
        ENFILE => "the machine has as many open files as it may have: raise fs.file-max",
        EMFILE => "this program has as many open files as it may have: raise its limit (ulimit -n)",
        EFBIG => {
            "this program may not write files that large, in memory or on disk: raise its limit (ulimit -f)"
        }
        ETOOMANYREFS => {
            "this user has as many descriptors on their way through sockets as it may have: end what holds them, \
             or raise the limit on open files (ulimit -n)"
        }
        _ => return None,
    })
}

/// The end of a message about an error: what to do, if the machine is short of something. The error
/// itself is the message's source.
#[cfg(confine)]
pub(crate) fn shortage_of(error: &std::io::Error) -> String {
    let remedy = error.raw_os_error().and_then(shortage);
    remedy.map(|remedy| format!(": {remedy}")).unwrap_or_default()
}
