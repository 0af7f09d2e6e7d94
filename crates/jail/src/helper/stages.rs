//! The outer jail, step by step. The order is the point: each stage is possible only before the next.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{CONTROL, Named, Step, StepError, identity, pass_on, root, tell_host};
use crate::spec::{Identity, JailSpec};
use crate::sys::kernel::{self, Forked};

const SIGKILL: i32 = 9;

/// The helper's first message in the zygote's own language, with a handle on the zygote.
const JAILED: &[u8] = br#"{"type":"jailed"}"#;

/// Builds the jail and runs its program; returns in the helper when that program has ended.
pub(super) fn enter(spec: &JailSpec, passed_on: Vec<OwnedFd>) -> Step<i32> {
    if spec.identity == Identity::Single {
        identity::become_lone_user()?;
    }
    let (request, answer) = identity::map_talk().step(|| "make a socket pair".into())?;
    // With the pidfd in hand the helper can wait for the host and the zygote at once.
    match kernel::clone_into_namespaces(kernel::CLONE_NEWPID).step(|| "create a pid namespace".into())? {
        Forked::Child => {
            drop(answer);
            let failed = confined_life(spec, request, &passed_on);
            tell_host(&failed);
            kernel::exit_now(1)
        }
        Forked::Parent { pid, pidfd } => {
            drop((request, passed_on));
            let pidfd = pidfd
                .ok_or_else(|| io::Error::other("the kernel gave none"))
                .step(|| "get a pidfd".into())?;
            // The host can end it by this, also when it hangs.
            kernel::send_with_descriptors(CONTROL, JAILED, &[pidfd.as_raw_fd()])
                .step(|| "hand over the zygote".into())?;
            answer.answer(pid, spec.identity)?;
            watch(pid, &pidfd)
        }
    }
}

/// PID 1 of the new pid namespace, up to the `exec`. Comes back only with what went wrong.
fn confined_life(spec: &JailSpec, request: identity::MapRequest, passed_on: &[OwnedFd]) -> StepError {
    let prepared = (|| -> Step<()> {
        kernel::leave_namespaces(
            kernel::CLONE_NEWNS
                | kernel::CLONE_NEWNET
                | kernel::CLONE_NEWIPC
                | kernel::CLONE_NEWUTS
                | kernel::CLONE_NEWCGROUP,
        )
        .step(|| "create mount, network, ipc, uts and cgroup namespaces".into())?;
        kernel::name_host(&spec.hostname).step(|| "set the host name".into())?;
        root::build_and_enter(&spec.root)?;
        // Past this line the process is nobody outside, in a user namespace that owns nothing of the above. It keeps the rights to make
        // network namespaces for cells and, where there are many, to change ids to give each cell its own.
        let keep: &[u32] = match spec.identity {
            Identity::Single => {
                drop(request);
                identity::become_lone_user()?;
                &[kernel::CAP_SYS_ADMIN, kernel::CAP_NET_ADMIN]
            }
            Identity::Range { .. } => {
                request.become_nobody()?;
                &[kernel::CAP_SYS_ADMIN, kernel::CAP_NET_ADMIN, kernel::CAP_SETUID, kernel::CAP_SETGID]
            }
        };
        kernel::keep_only_capabilities(keep)
            .and_then(|()| kernel::pass_on_capabilities(keep))
            .step(|| "drop capabilities".into())?;
        kernel::forbid_new_privileges().step(|| "set no_new_privs".into())?;
        kernel::die_with_parent().step(|| "ask to die with the helper".into())?;
        // Last: it may take the numbers of descriptors that were in use until here.
        pass_on(passed_on).step(|| "arrange descriptors".into())
    })();
    match prepared {
        Err(failed) => failed,
        Ok(()) => {
            let error = kernel::become_program(&spec.command, &spec.env);
            StepError { step: format!("run {}", spec.command[0]), error }
        }
    }
}

/// The helper's second life: it lives as long as the zygote, and the zygote as long as the host.
fn watch(zygote: i32, pidfd: &OwnedFd) -> Step<i32> {
    let (host_is_gone, _) =
        kernel::wait_for_end_of_either(CONTROL, pidfd.as_raw_fd()).step(|| "watch the zygote".into())?;
    if host_is_gone {
        // Takes every cell along: they are in pid namespaces below the zygote's.
        let _ = kernel::send_signal(zygote, SIGKILL);
    }
    let (_, status) = kernel::wait_any().step(|| "wait for the zygote".into())?;
    let (signal, code) = (status & 0x7f, (status >> 8) & 0xff);
    Ok(if signal == 0 { code } else { 128 + signal })
}
