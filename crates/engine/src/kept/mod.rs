//! Workspaces that outlive cells: a directory on this machine for each.
//!
//! ```text
//!  store (0700, ours) ── job-17 ──► lent to a cell as /workspace: natively by a mount with other
//!          │                        ids, to a container by a bind mount, locally as it is
//!          └──────────── job-18 ──► read and written by the host beneath a descriptor, with the
//!                                   rights of whoever owns it and no others
//! ```
//!
//! As root the owner is nobody: an id that no account and no cell has. A cell gets a mount in which
//! the owner is its own user. So what one cell wrote the next can change, and none of them is
//! anybody on the host. Everybody else is kept out by the store.

mod in_use;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belljar_core::{GuestPath, WorkspaceName};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::blocking::on_a_thread;
use crate::cell::Files;
use crate::file_lock::FileLock;
use crate::files::{Copied, Tree, Worker, remove_in, temporary_name};

pub use self::in_use::InUse;

/// A directory with kept workspaces. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    path: PathBuf,
    root: OwnedFd,
    owner: Option<u32>,
}

/// One kept workspace, open. Cheap to clone.
#[derive(Clone)]
pub struct KeptWorkspace {
    name: WorkspaceName,
    tree: Arc<Tree>,
    owner: Option<u32>,
}

/// The names of what is being made or removed. No workspace has such a name.
const PENDING: &str = ".belljar-";
/// How directories of the store are opened.
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Store {
    /// Opens the directory, and makes it if it is not there. It must belong to this user, and
    /// nobody else may look into it. `owner` is whose the workspaces are, if they are not this
    /// user's: [`Engine::kept_owner`](crate::Engine::kept_owner).
    pub fn open(path: &Path, owner: Option<u32>) -> io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let path = crate::named_path::real_path(path)?;
        let root = rustix::fs::open(&path, DIRECTORY, Mode::empty())?;
        let found = std::fs::File::from(root.try_clone()?).metadata()?;
        if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o077 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "{} is for kept workspaces, so it must belong to this user and be closed to others (chmod 700); \
                     its owner is {} and its permissions are {:o}",
                    path.display(),
                    found.uid(),
                    found.mode() & 0o777,
                ),
            ));
        }
        Ok(Self(Arc::new(Inner { path, root, owner })))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Every workspace in it, by name.
    pub fn names(&self) -> io::Result<Vec<WorkspaceName>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0.root)? {
            let entry = entry?;
            let name = entry.file_name().to_str().ok().and_then(|name| WorkspaceName::new(name).ok());
            names.extend(
                name.filter(|_| matches!(entry.file_type(), FileType::Directory | FileType::Unknown)),
            );
        }
        names.sort();
        Ok(names)
    }

    /// Makes an empty workspace. `fill` may put something into it before anybody else sees it. An
    /// error if there is one of that name ([`io::ErrorKind::AlreadyExists`]). Blocks.
    pub fn create(
        &self,
        name: &WorkspaceName,
        fill: impl FnOnce(&Tree) -> io::Result<()> + Send,
    ) -> io::Result<KeptWorkspace> {
        let pending = temporary_name();
        rustix::fs::mkdirat(&self.0.root, &pending, Mode::RWXU)?;
        let _busy = self.claim(&pending);
        let made = self.tree_of(&pending).and_then(|tree| {
            if let Some(owner) = self.0.owner {
                let (user, group) = (rustix::fs::Uid::from_raw(owner), rustix::fs::Gid::from_raw(owner));
                rustix::fs::chownat(
                    &self.0.root,
                    &pending,
                    Some(user),
                    Some(group),
                    AtFlags::SYMLINK_NOFOLLOW,
                )?;
            }
            as_owner(self.0.owner, || fill(&tree))?;
            // Not over another: two callers may want the same name.
            rustix::fs::renameat_with(
                &self.0.root,
                &pending,
                &self.0.root,
                name.as_str(),
                RenameFlags::NOREPLACE,
            )?;
            Ok(tree)
        });
        match made {
            Ok(tree) => Ok(KeptWorkspace { name: name.clone(), tree: Arc::new(tree), owner: self.0.owner }),
            Err(error) => {
                let _ = remove_in(self.0.root.as_fd(), &pending);
                Err(error)
            }
        }
    }

    /// One that is there.
    pub fn get(&self, name: &WorkspaceName) -> io::Result<KeptWorkspace> {
        // A program may have closed its workspace to itself, and with that to whoever comes next.
        let found = rustix::fs::statat(&self.0.root, name.as_str(), AtFlags::SYMLINK_NOFOLLOW)?;
        let is_open = found.st_mode & Mode::RWXU.bits() == Mode::RWXU.bits();
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory && !is_open {
            let mode = Mode::from_raw_mode(found.st_mode & 0o777) | Mode::RWXU;
            rustix::fs::chmodat(&self.0.root, name.as_str(), mode, AtFlags::empty())?;
        }
        let tree = self.tree_of(OsStr::new(name.as_str()))?;
        Ok(KeptWorkspace { name: name.clone(), tree: Arc::new(tree), owner: self.0.owner })
    }

    /// Makes a second workspace of the same content. Blocks are shared where the file system can do
    /// that; each is independent of the other from then on. Blocks.
    pub fn fork(&self, from: &WorkspaceName, to: &WorkspaceName) -> io::Result<(KeptWorkspace, Copied)> {
        // Nobody removes it meanwhile: half of it would look like a workspace too.
        let _in_use = self.begin_use(from)?;
        let source = self.get(from)?;
        let mut copied = Copied::default();
        let made = self.create(to, |tree| {
            copied = tree.copy_twin(&source.tree)?;
            Ok(())
        })?;
        Ok((made, copied))
    }

    /// Removes one, whatever is in it. It is gone for everybody else at once. Nothing happens if it
    /// is not there. An error if somebody works in it ([`io::ErrorKind::ResourceBusy`]). Blocks.
    pub fn remove(&self, name: &WorkspaceName) -> io::Result<()> {
        let pending = temporary_name();
        let alone = self.end_use(name)?;
        let moved = rustix::fs::renameat(&self.0.root, name.as_str(), &self.0.root, &pending);
        self.forget_use(name);
        drop(alone);
        match moved {
            Ok(()) => {
                let _busy = self.claim(&pending);
                remove_in(self.0.root.as_fd(), &pending)
            }
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes what killed processes have left half made or half removed. Blocks.
    pub fn sweep(&self) -> io::Result<()> {
        /// Long enough to claim what was made.
        const OLD: std::time::Duration = std::time::Duration::from_secs(10);
        for entry in Dir::read_from(&self.0.root)? {
            let entry = entry?;
            let name = OsString::from(entry.file_name().to_string_lossy().into_owned());
            let is_pending = entry.file_name().to_bytes().starts_with(PENDING.as_bytes());
            let age = std::fs::symlink_metadata(self.0.path.join(&name))
                .and_then(|found| found.modified())
                .ok()
                .and_then(|changed| changed.elapsed().ok());
            if !is_pending || age.is_none_or(|age| age < OLD) {
                continue;
            }
            if let Some(_abandoned) = self.claim(&name) {
                remove_in(self.0.root.as_fd(), &name)?;
            }
        }
        Ok(())
    }

    /// Says that somebody is at work on what is half made or half removed, until what this returns
    /// is dropped. `None` if somebody else is. The kernel takes it from the killed.
    fn claim(&self, pending: &OsStr) -> Option<FileLock> {
        // A program may have closed its workspace, which is on its way out now.
        let _ = rustix::fs::chmodat(&self.0.root, pending, Mode::RWXU, AtFlags::empty());
        let directory = rustix::fs::openat(&self.0.root, pending, DIRECTORY, Mode::empty()).ok()?;
        FileLock::try_take(directory.into()).ok()?.ok()
    }

    fn tree_of(&self, name: &OsStr) -> io::Result<Tree> {
        Tree::new(rustix::fs::openat(&self.0.root, name, DIRECTORY, Mode::empty())?)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.0.path).finish()
    }
}

impl KeptWorkspace {
    /// Its name.
    pub fn name(&self) -> &WorkspaceName {
        &self.name
    }

    /// Its files, one operation at a time.
    pub fn files(&self) -> io::Result<Box<dyn Files>> {
        Ok(Box::new(Worker::start(Arc::clone(&self.tree), self.owner)?))
    }

    /// Does something with its files, on a thread that has the rights of their owner and no others.
    pub async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tree) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let (tree, owner) = (Arc::clone(&self.tree), self.owner);
        let done = on_a_thread("belljar-files", move || {
            owner.map_or(Ok(()), belljar_jail::take_file_identity)?;
            work(&tree)
        });
        done.await?
    }

    /// Copies everything of a tree of the caller's into a directory of it. The tree is read with
    /// the caller's own rights, and written with those of the owner.
    pub async fn copy_from(&self, source: Tree, to: Option<GuestPath>) -> io::Result<Copied> {
        /// How many open files may be on their way.
        const WAITING: usize = 16;
        let (give, items) = std::sync::mpsc::sync_channel(WAITING);
        let reading = on_a_thread("belljar-files", move || {
            source.take_all(&mut |item| give.send(item).map_err(|_| io::ErrorKind::BrokenPipe.into()))
        });
        let writing = self.with(move |tree| tree.put_all(to.as_ref(), &mut items.into_iter()));
        let (read, written) = tokio::join!(reading, writing);
        // Whoever writes fails first: then there is nobody to give anything to.
        let copied = written?;
        read??;
        Ok(copied)
    }

    /// The same as [`KeptWorkspace::with`], and waits for it here. Only where blocking is fine.
    pub fn with_blocking<T: Send>(&self, work: impl FnOnce(&Tree) -> io::Result<T> + Send) -> io::Result<T> {
        as_owner(self.owner, || work(&self.tree))
    }
}

impl fmt::Debug for KeptWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeptWorkspace").field(&self.name).finish()
    }
}

/// Does something with the rights of an owner, on a thread of its own if they are not this one's.
fn as_owner<T: Send>(owner: Option<u32>, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let Some(owner) = owner else { return work() };
    std::thread::scope(|scope| {
        let done = crate::blocking::named("belljar-files").spawn_scoped(scope, || {
            belljar_jail::take_file_identity(owner)?;
            work()
        })?;
        done.join().unwrap_or_else(|_| Err(io::Error::other("the thread for files has panicked")))
    })
}
