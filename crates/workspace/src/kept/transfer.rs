//! Files that come and go piece by piece, for whoever cannot have them in memory.

use std::io::{self, Write};
use std::pin::pin;

use belljar_core::GuestPath;
use belljar_engine::Listing;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt;
use tokio::sync::mpsc;

use super::disk::usage;
use super::put::asked;
use super::{OpenWorkspace, of_file};
use crate::WorkspaceError;

/// What the thread that writes is given.
enum Piece {
    Bytes(Bytes),
    /// There is no more. Without it the content broke off.
    End,
}

impl OpenWorkspace {
    /// Writes a file from a stream, with these permissions, and says how long it is. It takes the
    /// place of what was there when it is whole. If the stream fails, or this is dropped, what was
    /// there stays.
    pub async fn put_stream(
        &self,
        path: &str,
        mode: u32,
        content: impl Stream<Item = io::Result<Bytes>> + Send,
    ) -> Result<u64, WorkspaceError> {
        /// Pieces on their way. A disk that is slow holds up the stream.
        const AHEAD: usize = 4;
        let to = asked(path)?;
        let kept = self.inner.kept(&self.workspace)?;
        let limit = self.inner.room_of(&kept).await?;
        let used = match limit {
            0 => 0,
            _ => kept.with(usage).await.map_err(WorkspaceError::io("look through", &self.workspace.path))?,
        };
        let (give, mut pieces) = mpsc::channel(AHEAD);
        let writing = kept.with(move |tree| {
            let mut total = 0;
            tree.replace(&to, mode, &mut |file| {
                loop {
                    match pieces.blocking_recv() {
                        Some(Piece::Bytes(piece)) => {
                            file.write_all(&piece)?;
                            total += piece.len() as u64;
                        }
                        Some(Piece::End) => return Ok(()),
                        None => return Err(io::ErrorKind::UnexpectedEof.into()),
                    }
                }
            })?;
            Ok(total)
        });
        let giving = async move {
            let (mut content, mut wanted) = (pin!(content), used);
            while let Some(piece) = content.next().await {
                let piece = piece.map_err(of_file("receive", path))?;
                wanted = wanted.saturating_add(piece.len() as u64);
                if limit != 0 && wanted > limit {
                    return Err(WorkspaceError::DiskFull { limit, wanted });
                }
                if give.send(Piece::Bytes(piece)).await.is_err() {
                    break;
                }
            }
            // Whoever wrote may have failed, and says so.
            let _ = give.send(Piece::End).await;
            Ok(())
        };
        let mut writing = pin!(writing);
        let written = tokio::select! {
            written = &mut writing => written,
            given = giving => {
                given?;
                writing.await
            }
        };
        written.map_err(of_file("write", path))
    }

    /// What is in it, or below a directory of it, with paths from there. Stops at `most` entries.
    pub async fn list(&self, below: Option<&GuestPath>, most: usize) -> Result<Listing, WorkspaceError> {
        let (place, named) = (below.cloned(), below.map_or(".", GuestPath::as_str));
        let kept = self.inner.kept(&self.workspace)?;
        let listed = kept.with(move |tree| match &place {
            None => tree.list(most),
            Some(place) => tree.below(place)?.list(most),
        });
        listed.await.map_err(of_file("list", named))
    }

    /// Removes a file or a link. A directory is removed with everything in it, if that is wished.
    pub async fn remove_path(&self, path: &str, with_everything: bool) -> Result<(), WorkspaceError> {
        let asked = asked(path)?;
        let kept = self.inner.kept(&self.workspace)?;
        let removed = kept.with(move |tree| match with_everything {
            true => tree.remove_all(&asked),
            false => tree.remove(&asked),
        });
        removed.await.map_err(of_file("remove", path))
    }
}
