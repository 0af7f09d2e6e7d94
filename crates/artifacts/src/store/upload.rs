//! Content on its way into a store, with two parts of it in memory at most.
//!
//! What fits into one part is put in one request. Anything longer goes up part by part; the next
//! one is read while the last is sent.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, future};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{MultipartId, MultipartUpload, ObjectStoreExt as _};
use sha2::{Digest, Sha256};

use super::keys::hex;
use super::place::Objects;
use crate::ByteStream;

/// How large a part is. S3 takes 10 000 parts of one size, so an artifact has at most 80 GB there.
pub(super) const PART: usize = 8 << 20;
/// How much is hashed before others have a turn.
const STRETCH: usize = 1 << 20;

/// Why nothing was uploaded.
pub(super) enum UploadError {
    /// The content failed.
    Content(io::Error),
    /// The store failed.
    Store(object_store::Error),
}

impl From<object_store::Error> for UploadError {
    fn from(error: object_store::Error) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for UploadError {
    fn from(error: io::Error) -> Self {
        Self::Content(error)
    }
}

/// What is known of content once it has been read.
pub(super) struct Measured {
    pub(super) size_bytes: u64,
    pub(super) sha256: String,
}

/// Cuts content into parts, and measures it.
pub(super) struct Parts<'a> {
    content: ByteStream<'a>,
    /// How large a part is.
    part: usize,
    /// What came behind the end of the last part.
    rest: Bytes,
    size: u64,
    hasher: Sha256,
}

impl<'a> Parts<'a> {
    pub(super) fn new(content: ByteStream<'a>, part: usize) -> Self {
        Self { content, part, rest: Bytes::new(), size: 0, hasher: Sha256::new() }
    }

    /// The next part. Only the last one is shorter than the others, and may be empty.
    pub(super) async fn next(&mut self) -> io::Result<Bytes> {
        let mut part = BytesMut::new();
        loop {
            if self.rest.is_empty() {
                match self.content.next().await {
                    Some(chunk) => self.rest = chunk?,
                    None => return Ok(part.freeze()),
                }
                self.measure().await;
            }
            let taken = self.rest.split_to(self.rest.len().min(self.part - part.len()));
            // A caller that has everything in memory already gets no copy of it.
            if part.is_empty() && taken.len() == self.part {
                return Ok(taken);
            }
            part.extend_from_slice(&taken);
            if part.len() == self.part {
                return Ok(part.freeze());
            }
        }
    }

    async fn measure(&mut self) {
        self.size += self.rest.len() as u64;
        for stretch in self.rest.chunks(STRETCH) {
            self.hasher.update(stretch);
            if stretch.len() == STRETCH {
                tokio::task::yield_now().await;
            }
        }
    }

    pub(super) fn measured(self) -> Measured {
        Measured { size_bytes: self.size, sha256: hex(&self.hasher.finalize()) }
    }
}

/// An upload in parts that goes on.
pub(super) enum Upload {
    /// Parts that a server keeps under an id until they are put together.
    Kept { store: Arc<dyn MultipartStore>, key: Path, id: MultipartId, parts: Vec<PartId> },
    /// Parts of a file.
    File(Box<dyn MultipartUpload>),
}

impl Upload {
    pub(super) async fn begin(objects: &Objects, key: &Path) -> Result<Self, object_store::Error> {
        Ok(match &objects.multipart {
            Some(store) => Self::Kept {
                store: store.clone(),
                key: key.clone(),
                id: store.create_multipart(key).await?,
                parts: Vec::new(),
            },
            None => Self::File(objects.store.put_multipart(key).await?),
        })
    }

    /// The id under which a server keeps the parts.
    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Self::Kept { id, .. } => Some(id),
            Self::File(_) => None,
        }
    }

    /// Sends all parts, of which the first is here already, and puts them together.
    pub(super) async fn send(&mut self, first: Bytes, content: &mut Parts<'_>) -> Result<(), UploadError> {
        let mut part = first;
        while !part.is_empty() {
            let is_last = part.len() < PART;
            let following = async { if is_last { Ok(Bytes::new()) } else { content.next().await } };
            let (sent, next) = future::join(self.put(part), following).await;
            sent?;
            part = next?;
        }
        match self {
            Self::Kept { store, key, id, parts } => {
                store.complete_multipart(key, id, std::mem::take(parts)).await?;
            }
            Self::File(file) => {
                file.complete().await?;
            }
        }
        Ok(())
    }

    pub(super) async fn put(&mut self, part: Bytes) -> Result<(), object_store::Error> {
        match self {
            Self::Kept { store, key, id, parts } => {
                let sent = store.put_part(key, id, parts.len(), part.into()).await?;
                parts.push(sent);
                Ok(())
            }
            Self::File(file) => file.put_part(part.into()).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_are_the_content_in_pieces_of_one_size(sizes in proptest::collection::vec(0usize..25, 0..20)) {
            let all: Vec<u8> = (0..sizes.iter().sum::<usize>()).map(|at| (at % 251) as u8).collect();
            let mut from = Bytes::from(all.clone());
            let chunks: Vec<io::Result<Bytes>> = sizes.iter().map(|size| Ok(from.split_to(*size))).collect();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let mut parts = Parts::new(Box::pin(stream::iter(chunks)), 16);
                let mut read = Vec::new();
                loop {
                    let part = parts.next().await.unwrap();
                    read.extend_from_slice(&part);
                    if part.len() < 16 {
                        break;
                    }
                }
                prop_assert!(read == all, "the bytes differ");
                prop_assert_eq!(parts.measured().size_bytes, all.len() as u64);
                Ok(())
            })?;
        }
    }
}
