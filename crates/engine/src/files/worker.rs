//! The thread that touches a guest's files.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use belljar_core::GuestPath;
use bytes::Bytes;
use tokio::sync::oneshot;

use super::Tree;
use crate::blocking::named;
use crate::cell::{Files, Listing};
use crate::engine::BoxFuture;

/// How much is read at once.
const PIECE: usize = 256 << 10;

/// An open workspace. The thread ends when this is dropped.
pub(crate) struct Worker {
    orders: Sender<Order>,
}

type Order = Box<dyn FnOnce(&mut Desk) + Send>;

/// What the thread has before it.
struct Desk {
    tree: Arc<Tree>,
    /// Why nothing can be done.
    refusal: Option<io::ErrorKind>,
    read: Option<File>,
    written: Option<File>,
}

impl Worker {
    /// Starts the thread. With an `owner`, it makes and opens files as that user.
    pub(crate) fn start(tree: Arc<Tree>, owner: Option<u32>) -> io::Result<Self> {
        let (orders, received) = channel::<Order>();
        named("belljar-files").spawn(move || {
            let identity = owner.map_or(Ok(()), belljar_jail::take_file_identity);
            let refusal = identity.err().map(|error| error.kind());
            let mut desk = Desk { tree, refusal, read: None, written: None };
            for order in received {
                order(&mut desk);
            }
        })?;
        Ok(Self { orders })
    }

    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Desk) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'_, io::Result<T>> {
        let (done, answer) = oneshot::channel();
        let order: Order = Box::new(move |desk| {
            let outcome = match desk.refusal {
                Some(kind) => Err(kind.into()),
                None => work(desk),
            };
            // Whoever asked may have gone.
            let _ = done.send(outcome);
        });
        let sent = self.orders.send(order);
        Box::pin(async move {
            let gone = || io::Error::other("the thread for files has panicked");
            sent.map_err(|_| gone())?;
            answer.await.map_err(|_| gone())?
        })
    }
}

impl Files for Worker {
    fn list(&mut self, most: usize) -> BoxFuture<'_, io::Result<Listing>> {
        self.ask(move |desk| desk.tree.list(most))
    }

    fn open(&mut self, path: &GuestPath) -> BoxFuture<'_, io::Result<u64>> {
        let path = path.clone();
        self.ask(move |desk| {
            let (file, size) = desk.tree.open(&path)?;
            desk.read = Some(file);
            Ok(size)
        })
    }

    fn read(&mut self) -> BoxFuture<'_, io::Result<Bytes>> {
        self.ask(|desk| {
            let Some(file) = &mut desk.read else { return Ok(Bytes::new()) };
            let mut piece = vec![0; PIECE];
            let read = loop {
                match file.read(&mut piece) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read?,
                }
            };
            piece.truncate(read);
            if read == 0 {
                desk.read = None;
            }
            Ok(piece.into())
        })
    }

    fn create(&mut self, path: &GuestPath, is_executable: bool) -> BoxFuture<'_, io::Result<()>> {
        let path = path.clone();
        self.ask(move |desk| {
            desk.written = Some(desk.tree.create(&path, is_executable)?);
            Ok(())
        })
    }

    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, io::Result<()>> {
        self.ask(move |desk| match &mut desk.written {
            Some(file) => belljar_jail::without_file_size_signal(|| file.write_all(&bytes)),
            None => Err(io::Error::other("no file is being written")),
        })
    }

    fn finish(&mut self) -> BoxFuture<'_, io::Result<()>> {
        self.ask(|desk| {
            desk.written = None;
            Ok(())
        })
    }

    fn make_directory(&mut self, path: &GuestPath) -> BoxFuture<'_, io::Result<()>> {
        let path = path.clone();
        self.ask(move |desk| desk.tree.make_directory(&path))
    }

    fn remove(&mut self, path: &GuestPath) -> BoxFuture<'_, io::Result<()>> {
        let path = path.clone();
        self.ask(move |desk| desk.tree.remove(&path))
    }

    fn close(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
