//! A tree that is a twin of another.
//!
//! ```text
//!  walk: looks, opens, makes directories ──► files, to whoever is free ──► copy, copy, copy
//! ```
//!
//! A file costs some 20 µs, whatever is in it, and most of that is not spent on the one directory
//! that all of them wait for.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::copy::{Content, Copied, Copier, Item};
use super::tree::Tree;
use super::visit::Found;
use super::write::chmod_handle;
use crate::cell::EntryKind;

/// So many files are copied before anybody is asked to help.
const ALONE: u64 = 64;
/// The most threads that help.
const HELPERS: usize = 4;
/// How many files are handed over at once: waking somebody costs as much as copying a file.
const BATCH: usize = 8;
/// How many batches of open files may wait for somebody.
const WAITING: usize = 2;

impl Tree {
    /// The same as [`Tree::copy_from`], with every link as it is, with FIFOs and sockets, and with
    /// what its owner has closed to himself: for a tree that is a twin of another, where what links
    /// lead to is as much a guest's own affair as there. Devices are left out: no guest makes them.
    ///
    /// What has several names has them here too, and everything is as old as it is there: whoever
    /// builds only what is new looks at that.
    pub fn copy_twin(&self, source: &Self) -> io::Result<Copied> {
        std::thread::scope(|scope| {
            let mut copier = Copier::new(self, None)?;
            let (mut crew, mut names) = (None, Names::default());
            let walked = source.visit_own(&mut |found| {
                if names.has_another(found) {
                    return Ok(());
                }
                let item = match found.kind {
                    EntryKind::Other => Item::of_meeting(found)?,
                    _ => Item::of(found, || found.open_own())?,
                };
                let Some(item) = item.map(|item| item.of_age(found)) else { return Ok(()) };
                names.note(found);
                // Anything else here, so that a directory is there before what is in it.
                if !matches!(item.content, Content::File { .. }) || copier.copied.files < ALONE {
                    return copier.put(item);
                }
                if crew.is_none() {
                    crew = Some(Crew::start(scope, &copier)?);
                }
                crew.as_mut().map_or(Ok(()), |crew| crew.give(item))
            });
            // Why nobody takes anything any more is what they say.
            let helped = crew.map_or(Ok(Copied::default()), Crew::finish)?;
            walked?;
            for (file, name) in &names.others {
                copier.link(file, name)?;
            }
            let mut copied = copier.finish()?;
            copied += helped;
            copied.files += names.others.len() as u64;
            Ok(copied)
        })
    }
}

/// Files that have several names.
#[derive(Default)]
struct Names {
    /// The first name of each.
    first: HashMap<u64, OsString>,
    /// A first name, and another.
    others: Vec<(OsString, OsString)>,
}

impl Names {
    /// Whether it is a file that was seen by another name.
    fn has_another(&mut self, found: &Found<'_>) -> bool {
        let first = match Self::may_have_several(found) {
            true => self.first.get(&found.inode),
            false => None,
        };
        self.others.extend(first.map(|first| (first.clone(), found.path.to_owned())));
        first.is_some()
    }

    fn note(&mut self, found: &Found<'_>) {
        if Self::may_have_several(found) {
            self.first.insert(found.inode, found.path.to_owned());
        }
    }

    fn may_have_several(found: &Found<'_>) -> bool {
        found.kind == EntryKind::File && found.has_other_names
    }
}

/// Threads that copy files. They have the rights of the one that started them.
struct Crew<'scope> {
    batches: SyncSender<Vec<Item>>,
    batch: Vec<Item>,
    helpers: Vec<ScopedJoinHandle<'scope, io::Result<Copied>>>,
}

impl<'scope> Crew<'scope> {
    fn start<'env>(scope: &'scope Scope<'scope, 'env>, copier: &Copier) -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (batches, taken) = sync_channel(WAITING);
        let taken = Arc::new(Mutex::new(taken));
        let mut helpers = Vec::new();
        for _ in 0..cores.min(HELPERS) {
            let (copier, taken) = (copier.colleague()?, Arc::clone(&taken));
            let help = move || put_all(copier, &taken);
            helpers.push(crate::blocking::named("belljar-files").spawn_scoped(scope, help)?);
        }
        Ok(Self { batches, batch: Vec::with_capacity(BATCH), helpers })
    }

    fn give(&mut self, item: Item) -> io::Result<()> {
        self.batch.push(item);
        if self.batch.len() < BATCH { Ok(()) } else { self.hand_over() }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        self.batches.send(batch).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Waits for everybody. The first failure is everybody's.
    fn finish(mut self) -> io::Result<Copied> {
        // If nobody takes it, they say why.
        let _ = self.hand_over();
        drop(self.batches);
        let mut all = Copied::default();
        let mut failure = Ok(());
        for helper in self.helpers {
            let helped = helper.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")));
            match helped {
                Ok(copied) => all += copied,
                Err(error) => failure = failure.and(Err(error)),
            }
        }
        failure.map(|()| all)
    }
}

fn put_all(mut copier: Copier, batches: &Mutex<Receiver<Vec<Item>>>) -> io::Result<Copied> {
    loop {
        // Not held while a file is copied.
        let next = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(batch) => batch.into_iter().try_for_each(|item| copier.put(item))?,
            Err(_) => return copier.finish(),
        }
    }
}

impl Item {
    fn of_meeting(found: &Found<'_>) -> io::Result<Option<Self>> {
        let (place, name) = found.at();
        let stat = match rustix::fs::statat(place, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            stat => stat?,
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_one = matches!(kind, FileType::Fifo | FileType::Socket);
        Ok(is_one.then(|| Self::new(found, Content::Meeting(kind))))
    }
}

impl Found<'_> {
    /// Opens a file whose owner has taken the right to read it from himself, too.
    pub fn open_own(&self) -> io::Result<File> {
        match self.open() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let (place, name) = self.at();
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let handle = rustix::fs::openat(place, name, flags, Mode::empty())?;
                chmod_handle(&handle, Mode::from_raw_mode(self.mode & 0o777) | Mode::RUSR)?;
                let opened = self.open();
                chmod_handle(&handle, Mode::from_raw_mode(self.mode & 0o777))?;
                opened
            }
            opened => opened,
        }
    }
}
