//! Builds the outer jail, step by step. The order matters: each step is possible only before the
//! next.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::lend::Lender;
use super::{CONTROL, Named, Step, StepError, identity, pass_on, root, tell_host};
use crate::kernel::{self, Forked};
use crate::spec::{Identity, JailSpec};

const SIGKILL: i32 = 9;

/// Builds the jail and runs its program. Returns in the helper, when that program has ended. The
/// host gets the message `jailed` and a handle on the program. `host` is a handle on the process
/// that made the jail.
pub(super) fn enter(
    spec: &JailSpec,
    jailed: &str,
    host: &OwnedFd,
    passed_on: Vec<OwnedFd>,
    mut lender: Lender,
) -> Step<i32> {
    if spec.identity == Identity::Single {
        identity::enter_single_id_namespace()?;
    }
    let (request, answer) = identity::id_map_channel().step(|| "make a socket pair".into())?;
    match kernel::clone_into_namespaces(kernel::CLONE_NEWPID).step(|| "create a pid namespace".into())? {
        Forked::Child => {
            drop((answer, lender));
            let failed = confine_and_exec(spec, request, &passed_on);
            tell_host(&failed);
            kernel::exit_now(1)
        }
        Forked::Parent { pid, pidfd } => {
            drop((request, passed_on));
            let pidfd = pidfd
                .ok_or_else(|| io::Error::other("the kernel gave none"))
                .step(|| "get a pidfd".into())?;
            // With this handle the host can kill the zygote, even one that hangs.
            kernel::send_with_descriptors(CONTROL, jailed.as_bytes(), &[pidfd.as_raw_fd()])
                .step(|| "hand over the zygote".into())?;
            answer.answer(pid, spec.identity)?;
            lender.settle()?;
            watch(pid, &pidfd, host, lender)
        }
    }
}

/// The life of PID 1 of the new pid namespace, up to `exec`. Returns only if a step fails.
fn confine_and_exec(spec: &JailSpec, request: identity::MapRequest, passed_on: &[OwnedFd]) -> StepError {
    let prepared = (|| -> Step<()> {
        kernel::unshare_namespaces(
            kernel::CLONE_NEWNS
                | kernel::CLONE_NEWNET
                | kernel::CLONE_NEWIPC
                | kernel::CLONE_NEWUTS
                | kernel::CLONE_NEWCGROUP,
        )
        .step(|| "create mount, network, ipc, uts and cgroup namespaces".into())?;
        kernel::set_hostname(&spec.hostname).step(|| "set the host name".into())?;
        root::build_and_enter(&spec.root)?;
        // After this the process is nobody outside, in a user namespace that owns none of the
        // above. It keeps the right to make network namespaces for cells. If it has a range of ids,
        // it also keeps the right to change ids, so that each cell gets its own.
        let keep: &[u32] = match spec.identity {
            Identity::Single => {
                drop(request);
                identity::enter_single_id_namespace()?;
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
        // This comes last, because it may take descriptor numbers that were in use until here.
        pass_on(passed_on).step(|| "arrange descriptors".into())
    })();
    match prepared {
        Err(failed) => failed,
        Ok(()) => {
            let error = kernel::exec_program(&spec.command, &spec.env);
            StepError { step: format!("run {}", spec.command[0]), error }
        }
    }
}

/// Waits. The helper lives as long as the zygote, and the zygote as long as the host.
///
/// The host is gone when it has hung up, or when its process has ended. A child that it forked may
/// still hold the socket then.
fn watch(zygote: i32, pidfd: &OwnedFd, host: &OwnedFd, mut lender: Lender) -> Step<i32> {
    loop {
        let watched = [host.as_raw_fd(), pidfd.as_raw_fd(), lender.socket()];
        let (has_hung_up, [host_has_ended, zygote_has_ended, is_asked]) =
            kernel::wait_for_end_of_any(CONTROL, watched).step(|| "watch the zygote".into())?;
        if has_hung_up || host_has_ended {
            // This also kills every cell, because their pid namespaces are below the zygote's.
            let _ = kernel::send_signal(zygote, SIGKILL);
            break;
        }
        if zygote_has_ended {
            break;
        }
        if is_asked {
            lender.answer();
        }
    }
    let (_, status) = kernel::wait_for(zygote).step(|| "wait for the zygote".into())?;
    let (signal, code) = (status & 0x7f, (status >> 8) & 0xff);
    Ok(if signal == 0 { code } else { 128 + signal })
}
