//! The workspace of a container, by way of a clerk whom its supervisor sends for.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use belljar_core::GuestPath;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{ANSWER_WITHIN, State, SupervisedCell};
use crate::cell::{CellFiles, Entry, EntryKind, Files, Listing, Output};
use crate::engine::BoxFuture;
use crate::supervised::message::{self, FilesAnswer, Message};
use crate::supervised::{Container, SupervisorStream};
use crate::timeout;

/// How long a clerk may look through a workspace.
const LIST_WITHIN: Duration = Duration::from_secs(30);

impl<C: Container, S: SupervisorStream> CellFiles for SupervisedCell<C, S> {
    fn still(&mut self) {
        if self.state == State::Alive || self.state == State::Mute {
            self.is_still = true;
            self.outbox.push(Bytes::from_static(message::STILL));
        }
    }

    fn files(&mut self) -> BoxFuture<'_, io::Result<Box<dyn Files + '_>>> {
        Box::pin(async move {
            self.outbox.push(Bytes::from_static(message::FILES));
            let mut clerk = Clerk { cell: self, is_done: false, kept: 0 };
            clerk.answer(ANSWER_WITHIN).await?;
            Ok(Box::new(clerk) as Box<dyn Files + '_>)
        })
    }
}

/// The process in the container that answers orders about files.
struct Clerk<'a, C: Container, S: SupervisorStream> {
    cell: &'a mut SupervisedCell<C, S>,
    is_done: bool,
    /// How much the guest has said meanwhile.
    kept: usize,
}

impl<C: Container, S: SupervisorStream> Clerk<'_, C, S> {
    async fn ask(&mut self, order: Value) -> io::Result<FilesAnswer> {
        self.ask_within(order, Bytes::new(), ANSWER_WITHIN).await
    }

    async fn ask_within(&mut self, order: Value, bytes: Bytes, within: Duration) -> io::Result<FilesAnswer> {
        self.cell.outbox.push(format!("{order}\n").into());
        self.cell.outbox.push(bytes);
        self.answer(within).await
    }

    async fn answer(&mut self, within: Duration) -> io::Result<FilesAnswer> {
        let answer = match timeout(within, self.next_answer()).await {
            Ok(answer) => answer?,
            Err(_) => {
                let container = self.cell.container.name();
                tracing::warn!(%container, "nobody answers about files, and the container is given up");
                self.cell.state = State::Lost;
                return Err(io::ErrorKind::TimedOut.into());
            }
        };
        match answer.errno {
            None => Ok(answer),
            Some(number) => Err(io::Error::from_raw_os_error(number)),
        }
    }

    /// Keeps what the guest said. It stands still meanwhile, so that is little.
    fn keep(&mut self, said: Option<Output>) -> io::Result<()> {
        const MOST: usize = 4 << 20;
        if let Some(Output::Burst(burst)) = &said {
            self.kept += burst.channel.len() + burst.stdout.len() + burst.stderr.len();
        }
        self.cell.kept.extend(said);
        if self.kept > MOST {
            self.cell.state = State::Lost;
            return Err(io::ErrorKind::NotConnected.into());
        }
        Ok(())
    }

    async fn next_answer(&mut self) -> io::Result<FilesAnswer> {
        loop {
            if self.cell.state == State::Lost {
                return Err(io::ErrorKind::NotConnected.into());
            }
            match self.cell.message().await {
                Ok(Message::Files(answer)) => return Ok(answer),
                Ok(message) => {
                    // What the guest said is for whoever listens to it next.
                    let said = self.cell.understand(message);
                    self.keep(said)?;
                }
                Err(end) => {
                    self.cell.give_up(&end);
                    return Err(io::Error::other(end.to_string()));
                }
            }
        }
    }
}

impl<C: Container, S: SupervisorStream> Files for Clerk<'_, C, S> {
    fn list(&mut self, most: usize) -> BoxFuture<'_, io::Result<Listing>> {
        Box::pin(async move {
            let order = json!({"order": "list", "most": most});
            let answer = self.ask_within(order, Bytes::new(), LIST_WITHIN).await?;
            let found: Vec<(String, String, u64, bool)> = serde_json::from_slice(&answer.payload)?;
            let entries = found.into_iter().map(entry).collect::<io::Result<_>>()?;
            Ok(Listing { entries, is_whole: answer.number != 0 })
        })
    }

    fn open(&mut self, path: &GuestPath) -> BoxFuture<'_, io::Result<u64>> {
        let order = json!({"order": "open", "path": hex(path)});
        Box::pin(async move { Ok(self.ask(order).await?.number) })
    }

    fn read(&mut self) -> BoxFuture<'_, io::Result<Bytes>> {
        Box::pin(async move { Ok(self.ask(json!({"order": "next"})).await?.payload) })
    }

    fn create(&mut self, path: &GuestPath, is_executable: bool) -> BoxFuture<'_, io::Result<()>> {
        let order = json!({"order": "create", "path": hex(path), "is_executable": is_executable});
        Box::pin(async move { self.ask(order).await.map(drop) })
    }

    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, io::Result<()>> {
        let order = json!({"order": "write", "size": bytes.len()});
        Box::pin(async move { self.ask_within(order, bytes, ANSWER_WITHIN).await.map(drop) })
    }

    fn finish(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move { self.ask(json!({"order": "finish"})).await.map(drop) })
    }

    fn make_directory(&mut self, path: &GuestPath) -> BoxFuture<'_, io::Result<()>> {
        let order = json!({"order": "make_directory", "path": hex(path)});
        Box::pin(async move { self.ask(order).await.map(drop) })
    }

    fn remove(&mut self, path: &GuestPath) -> BoxFuture<'_, io::Result<()>> {
        let order = json!({"order": "remove", "path": hex(path)});
        Box::pin(async move { self.ask(order).await.map(drop) })
    }

    fn close(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            self.ask(json!({"order": "close"})).await?;
            self.is_done = true;
            Ok(())
        })
    }
}

impl<C: Container, S: SupervisorStream> Drop for Clerk<'_, C, S> {
    fn drop(&mut self) {
        if !self.is_done {
            // It waits for the next order, and what the cell is told next is not for it.
            self.cell.state = State::Lost;
        }
    }
}

fn hex(path: &GuestPath) -> String {
    path.as_str().bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// An entry as a clerk writes it: path, kind, size, whether its owner may run it.
fn entry((path, kind, size, is_executable): (String, String, u64, bool)) -> io::Result<Entry> {
    let garbled = || io::Error::new(io::ErrorKind::InvalidData, "a clerk speaks of no file");
    let pairs = path.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| {
        let &[high, low] = pair else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        u8::try_from(digit(high)? * 16 + digit(low)?).ok()
    });
    let bytes = bytes.collect::<Option<Vec<u8>>>().ok_or_else(garbled)?;
    let kind = match kind.as_str() {
        "file" => EntryKind::File,
        "directory" => EntryKind::Directory,
        "closed_directory" => EntryKind::ClosedDirectory,
        "link" => EntryKind::Link,
        "other" => EntryKind::Other,
        _ => return Err(garbled()),
    };
    let size = if kind == EntryKind::File { size } else { 0 };
    Ok(Entry { path: OsString::from_vec(bytes), kind, size, is_executable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bytes() {
        let read = |path: &str| entry((path.to_owned(), "file".to_owned(), 3, false));
        assert_eq!(read("61ff2f62").unwrap().path.as_encoded_bytes(), b"a\xff/b");
        for bad in ["6", "zz", "6z", "+1", "é"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!(hex(&GuestPath::new("a/é").unwrap()), "612fc3a9");
    }
}
