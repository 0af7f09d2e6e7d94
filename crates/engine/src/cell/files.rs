//! The files in a cell: into its workspace, and out of it.

use std::ffi::OsString;
use std::io;

use belljar_core::GuestPath;
use bytes::Bytes;

use crate::engine::BoxFuture;

/// Reaches the files below a cell's workspace. They belong to the guest, who may change them at any
/// time and in any way. So nothing here follows a link, leaves the workspace, or waits for the
/// guest.
pub trait CellFiles {
    /// Kills every process in the cell, like [`CellLife::kill`](super::CellLife::kill), and keeps
    /// its files. Once it is dead, nobody changes them any more.
    fn still(&mut self);

    /// Opens the workspace.
    fn files(&mut self) -> BoxFuture<'_, io::Result<Box<dyn Files + '_>>>;
}

/// A workspace that is open. One file can be read and one can be written at a time.
pub trait Files: Send {
    /// What there is, directories before what is in them. Stops after `most` entries. Places that
    /// the config grants are left out.
    fn list(&mut self, most: usize) -> BoxFuture<'_, io::Result<Listing>>;

    /// Opens a regular file for [`Self::read`]. Returns its size, which may change.
    fn open(&mut self, path: &GuestPath) -> BoxFuture<'_, io::Result<u64>>;

    /// The next piece of the file that was opened last. It is empty at the end.
    fn read(&mut self) -> BoxFuture<'_, io::Result<Bytes>>;

    /// Makes a new file for [`Self::write`], and the directories above it. It takes the place of
    /// whatever had its name, unless that is a directory.
    fn create(&mut self, path: &GuestPath, is_executable: bool) -> BoxFuture<'_, io::Result<()>>;

    /// Adds to the file that was made last.
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, io::Result<()>>;

    /// The file that was made last has everything.
    fn finish(&mut self) -> BoxFuture<'_, io::Result<()>>;

    /// Makes a directory, and those above it. One that is there is as good.
    fn make_directory(&mut self, path: &GuestPath) -> BoxFuture<'_, io::Result<()>>;

    /// Removes a file.
    fn remove(&mut self, path: &GuestPath) -> BoxFuture<'_, io::Result<()>>;

    /// Lets go of the workspace. A cell whose workspace was not let go of may be of no more use.
    fn close(&mut self) -> BoxFuture<'_, io::Result<()>>;
}

/// What is below a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// In no order but this: a directory comes before what is in it.
    pub entries: Vec<Entry>,
    /// Whether that is everything.
    pub is_whole: bool,
}

/// One name below a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the workspace. The guest chose it, so it may be any bytes.
    pub path: OsString,
    /// What it is.
    pub kind: EntryKind,
    /// Its size in bytes, if it is a regular file. It may have none of them on disk.
    pub size: u64,
    /// Whether its owner may run it.
    pub is_executable: bool,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A directory that could not be looked into, because of its permissions or its depth.
    ClosedDirectory,
    /// A symbolic link. What it points to is not looked at.
    Link,
    /// A FIFO, a socket, a device.
    Other,
}
