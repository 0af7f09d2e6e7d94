//! Tries each protection for real, each in a process of its own. A kernel may have a feature and
//! still not let us use it.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use super::messages::{ProbeAnswer, TrialResult};
use super::root;
use crate::kernel::{self, Forked};
use crate::spec::RootEntry;

/// In place of an error's number: who tried was killed.
const KILLED: i32 = -2;
const EPERM: i32 = 1;

type Trial = (&'static str, fn() -> io::Result<()>);

pub(super) fn probe_all() -> ProbeAnswer {
    let trials: [Trial; 10] = [
        // Cells are made in a namespace below that of their zygote. Root may always make the first,
        // and is nobody special in it.
        ("user_namespace", || own_namespace().and_then(|()| own_namespace())),
        ("mount_namespace", || {
            own_namespace().and_then(|()| kernel::unshare_namespaces(kernel::CLONE_NEWNS))
        }),
        ("pid_namespace", || own_namespace().and_then(|()| kernel::unshare_namespaces(kernel::CLONE_NEWPID))),
        ("ipc_namespace", || own_namespace().and_then(|()| kernel::unshare_namespaces(kernel::CLONE_NEWIPC))),
        ("uts_namespace", || {
            own_namespace()?;
            kernel::unshare_namespaces(kernel::CLONE_NEWUTS)?;
            // A service may be allowed the one and not the other (`ProtectHostname=`).
            kernel::set_hostname("belljar")
        }),
        ("network_namespace", || {
            own_namespace()?;
            kernel::unshare_namespaces(kernel::CLONE_NEWNET)?;
            kernel::bring_up_loopback()
        }),
        ("private_root", private_root),
        ("capabilities", || own_namespace().and_then(|()| kernel::keep_only_capabilities(&[]))),
        ("no_new_privs", kernel::forbid_new_privileges),
        ("seccomp", || {
            kernel::forbid_new_privileges()?;
            // BPF_RET | BPF_K, SECCOMP_RET_ALLOW: the smallest filter there is.
            kernel::install_filter(&[0x06, 0, 0, 0, 0, 0, 0xff, 0x7f])
        }),
    ];
    ProbeAnswer {
        trials: trials
            .into_iter()
            .map(|(name, trial)| match in_child_process(trial) {
                Ok(()) => TrialResult { name: name.into(), refused: None, errno: None },
                Err(error) => TrialResult {
                    name: name.into(),
                    refused: Some(error.to_string()),
                    // A filter that kills means the same as one that says no.
                    errno: error.raw_os_error().or_else(|| is_kill(&error).then_some(EPERM)),
                },
            })
            .collect(),
        landlock: kernel::landlock_version(),
    }
}

fn own_namespace() -> io::Result<()> {
    super::identity::enter_single_id_namespace().map_err(|failed| failed.error)
}

/// Does what the outer jail does to the file system, on a small scale.
fn private_root() -> io::Result<()> {
    own_namespace()?;
    kernel::unshare_namespaces(kernel::CLONE_NEWNS | kernel::CLONE_NEWPID)?;
    in_child_process(|| {
        let entries =
            [RootEntry::Device { path: "/dev/null".into() }, RootEntry::Proc { path: "/proc".into() }];
        root::build_and_enter(&entries).map_err(|failed| failed.error)
    })
}

fn in_child_process(trial: fn() -> io::Result<()>) -> io::Result<()> {
    let (mut ours, theirs) = UnixStream::pair()?;
    match kernel::fork_here()? {
        Forked::Child => {
            drop(ours);
            let number = match trial() {
                Ok(()) => 0,
                Err(error) if is_kill(&error) => KILLED,
                Err(error) => error.raw_os_error().unwrap_or(-1),
            };
            let _ = io::Write::write_all(&mut &theirs, &number.to_le_bytes());
            kernel::exit_now(0)
        }
        Forked::Parent { .. } => {
            drop(theirs);
            let mut number = [0; 4];
            let answered = ours.read_exact(&mut number);
            let _ = kernel::wait_any();
            let number = if answered.is_ok() { i32::from_le_bytes(number) } else { KILLED };
            match number {
                0 => Ok(()),
                KILLED => Err(io::Error::new(io::ErrorKind::PermissionDenied, "killed while it was tried")),
                -1 => Err(io::Error::other("failed")),
                errno => Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }
}

/// Whether this says that a process was killed, and nothing of the kernel's.
fn is_kill(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}
