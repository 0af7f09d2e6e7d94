//! Content on its way out, checked against what its record says.

use bytes::{Bytes, BytesMut};
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::{Error, GetResult, GetResultPayload};
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use super::keys::hex;
use super::record::Record;

/// How much of a file is read at a time.
const CHUNK: usize = 256 << 10;

/// Why bytes could not be given.
pub(super) enum DownloadError {
    /// They are not what was saved.
    Damaged(String),
    /// The store failed.
    Store(Error),
}

/// Chunks to come, what was read so far, and what it should be.
type Reading = (BoxStream<'static, Result<Bytes, Error>>, Sha256, u64, String);

/// The bytes of a record. The stream ends in an error if they are not those that were saved.
pub(super) fn checked(
    record: &Record,
    found: GetResult,
) -> Result<BoxStream<'static, Result<Bytes, DownloadError>>, DownloadError> {
    let expected = record.size_bytes;
    if found.meta.size != expected {
        return Err(wrong_size(found.meta.size, expected));
    }
    let sha256 = record.sha256.clone();
    let state = (chunks(found), Sha256::new(), 0u64, sha256);
    let next = move |(mut chunks, mut hasher, mut size, sha256): Reading| async move {
        if let Some(chunk) = chunks.try_next().await.map_err(DownloadError::Store)? {
            size += chunk.len() as u64;
            if size > expected {
                return Err(wrong_size(size, expected));
            }
            hasher.update(&chunk);
            return Ok(Some((chunk, (chunks, hasher, size, sha256))));
        }
        if size != expected {
            return Err(wrong_size(size, expected));
        }
        let actual = hex(&hasher.finalize());
        if actual != sha256 {
            let problem = format!("its SHA-256 is {actual}, and was {sha256} when it was saved");
            return Err(DownloadError::Damaged(problem));
        }
        Ok(None)
    };
    Ok(stream::try_unfold(state, next).boxed())
}

fn wrong_size(actual: u64, expected: u64) -> DownloadError {
    DownloadError::Damaged(format!("it has {actual} bytes, and had {expected} when it was saved"))
}

/// What is there, as it comes. A file is read in larger pieces than the store would.
fn chunks(found: GetResult) -> BoxStream<'static, Result<Bytes, Error>> {
    match found.payload {
        GetResultPayload::Stream(stream) => stream,
        GetResultPayload::File(file, path) => {
            let state = (File::from_std(file), path);
            let read = |(mut file, path): (File, std::path::PathBuf)| async move {
                let mut chunk = BytesMut::with_capacity(CHUNK);
                match file.read_buf(&mut chunk).await {
                    Ok(0) => Ok(None),
                    Ok(_) => Ok(Some((chunk.freeze(), (file, path)))),
                    Err(error) => {
                        let source = format!("reading {} failed: {error}", path.display()).into();
                        Err(Error::Generic { store: "LocalFileSystem", source })
                    }
                }
            };
            stream::try_unfold(state, read).boxed()
        }
    }
}
