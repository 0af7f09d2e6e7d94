//! How much a workspace holds, and may hold.
//!
//! No file system that we know of limits a directory for an ordinary user. So a program's own files
//! are limited by the kernel one by one (`RLIMIT_FSIZE`), and the whole is looked at while it runs:
//! every 50 ms, or less often where looking takes long. What a program writes between two looks it
//! has written; it is killed then. Until there is room again nothing more can be put, and programs
//! can write nothing, but remove.
//! What it has open and no name leads to is not seen. Each such file is limited by the kernel, too,
//! and all of them go with the program.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use belljar_engine::Tree;
use belljar_engine::kept::KeptWorkspace;
use belljar_runtime::{RunningProgram, Stop};

use super::Inner;
use crate::{Workspace, WorkspaceError};

/// How many bytes everything in a tree takes.
pub(super) fn usage(tree: &Tree) -> io::Result<u64> {
    let mut total = 0u64;
    // Also what a program has closed to itself: it is on the disk all the same.
    tree.visit_own(&mut |found| {
        // A name takes room, too, also one with nothing behind it.
        total = total.saturating_add(found.disk_bytes.max(LEAST));
        Ok(())
    })?;
    Ok(total)
}

/// What each name counts at least.
const LEAST: u64 = 4096;

/// The same of a tree of the caller's, in which nothing is opened that is closed.
pub(super) fn size_of(tree: &Tree) -> io::Result<u64> {
    let mut total = 0u64;
    tree.visit_whole(&mut |found| {
        total = total.saturating_add(found.disk_bytes);
        Ok(())
    })?;
    Ok(total)
}

impl Inner {
    /// How many bytes a workspace may hold. 0 is as many as the disk has.
    pub(super) async fn room_of(&self, kept: &KeptWorkspace) -> Result<u64, WorkspaceError> {
        let own = self.policy_of(kept.name()).await?.max_disk_bytes;
        Ok(match (own, self.options.max_disk_bytes) {
            (0, usual) => usual,
            (own, 0) => own,
            (own, usual) => own.min(usual),
        })
    }

    /// Refuses what would not fit.
    pub(super) async fn check_room(
        &self,
        ws: &Workspace,
        kept: &KeptWorkspace,
        added: u64,
    ) -> Result<(), WorkspaceError> {
        let limit = self.room_of(kept).await?;
        if limit == 0 {
            return Ok(());
        }
        let used = kept.with(usage).await.map_err(WorkspaceError::io("look through", &ws.path))?;
        let wanted = used.saturating_add(added);
        if wanted > limit { Err(WorkspaceError::DiskFull { limit, wanted }) } else { Ok(()) }
    }

    /// How much a workspace may hold while a program runs, and how large a file it may write.
    pub(super) async fn disk_limit(
        &self,
        ws: &Workspace,
        kept: &KeptWorkspace,
        disk_mb: u64,
    ) -> Result<Option<DiskLimit>, WorkspaceError> {
        let room = self.room_of(kept).await?;
        if room == 0 && disk_mb == 0 {
            return Ok(None);
        }
        let room = if room == 0 { u64::MAX } else { room };
        let used = match kept.with(usage).await {
            Ok(used) if used <= room => used,
            // It holds too much, or cannot be looked through. A program may run and remove
            // something, but write nothing.
            full => {
                tracing::warn!(path = ws.path, ?full, "a program may write nothing: its workspace is full");
                return Ok(Some(DiskLimit { limit: u64::MAX, largest_file: 0 }));
            }
        };
        let asked = if disk_mb == 0 { u64::MAX } else { used.saturating_add(disk_mb << 20) };
        let limit = room.min(asked);
        Ok(Some(DiskLimit { limit, largest_file: limit - used }))
    }
}

/// A limit while a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiskLimit {
    /// What the workspace may hold.
    pub(super) limit: u64,
    /// What one new file may hold.
    pub(super) largest_file: u64,
}

/// Looks at a workspace until it is dropped, on a thread of its own.
pub(super) struct DiskWatch {
    _until: Sender<()>,
}

impl DiskWatch {
    pub(super) fn start(
        kept: KeptWorkspace,
        limit: DiskLimit,
        program: Arc<RunningProgram>,
    ) -> io::Result<Self> {
        let (until, dropped) = channel();
        std::thread::Builder::new()
            .name("belljar-disk".to_owned())
            .spawn(move || watch(&kept, limit, &program, &dropped))?;
        Ok(Self { _until: until })
    }
}

fn watch(kept: &KeptWorkspace, limit: DiskLimit, program: &RunningProgram, dropped: &Receiver<()>) {
    const OFTEN: Duration = Duration::from_millis(50);
    /// At most this part of the time is spent on looking.
    const SHARE: u32 = 10;
    /// A program that changes permissions all the time may keep us out a few times, not always.
    const FAILURES: u32 = 3;
    let (mut pause, mut failures) = (OFTEN, 0);
    while dropped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) && program.end().is_none() {
        let began = Instant::now();
        match kept.with_blocking(usage) {
            Ok(used) if used > limit.limit => {
                let _ = program.stop(Stop::DiskSpent);
                return;
            }
            Ok(_) => failures = 0,
            // Of a full workspace it is known, and nothing can be written there.
            Err(_) if limit.largest_file == 0 => {}
            Err(error) => {
                tracing::warn!(%error, "a workspace cannot be looked through");
                failures += 1;
                if failures == FAILURES {
                    let _ = program.stop(Stop::DiskSpent);
                    return;
                }
            }
        }
        pause = OFTEN.max(began.elapsed() * SHARE);
    }
}
