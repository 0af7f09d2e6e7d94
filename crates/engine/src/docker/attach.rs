//! A container's stdin, stdout and stderr over one connection.
//!
//! The daemon answers the attach request with `101`. From then on the connection is the
//! container's. It is made before the container starts, so nothing the container writes is missed.
//! The container's stdin ends when this connection does. So a container ends with its host, however
//! the host ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf};

use super::DockerError;
use super::address::Wire;
use super::daemon::Daemon;
use super::frames::Frames;
use crate::supervised::{StreamEnd, SupervisorStream};

/// How much of a container's stderr is kept: enough for a traceback.
const LAST_WORDS: usize = 8 * 1024;
const LONGEST_HEAD: usize = 64 * 1024;
const READ_SIZE: usize = 64 * 1024;

/// Attaches to a container that has not been started.
pub(super) async fn attach(daemon: &Daemon, container: &str) -> Result<Attached, DockerError> {
    let failed =
        |message: String| DockerError::Api { action: format!("attach to container {container}"), message };
    let mut wire = daemon.address.dial().await.map_err(|error| failed(error.to_string()))?;
    let request = format!(
        "POST /v{}/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1\r\nHost: docker\r\n\
         Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n",
        daemon.facts.api_version
    );
    wire.write_all(request.as_bytes()).await.map_err(|error| failed(error.to_string()))?;
    let rest = read_head(&mut wire).await.map_err(|error| failed(error.to_string()))?;
    let (reader, writer) = tokio::io::split(wire);
    let mut reader = AttachReader {
        wire: reader,
        landing: vec![0; READ_SIZE].into(),
        frames: Frames::default(),
        stdout: BytesMut::new(),
        stderr: BytesMut::new(),
    };
    reader.take(&rest).map_err(|error| failed(error.to_string()))?;
    Ok(Attached { writer: AttachWriter { wire: writer }, reader })
}

/// Reads the daemon's answer. Returns the bytes that came after it, if any.
async fn read_head(wire: &mut Box<dyn Wire>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let end = loop {
        if let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if head.len() > LONGEST_HEAD {
            return Err(io::Error::other("its answer has no end"));
        }
        if wire.read_buf(&mut head).await? == 0 {
            return Err(io::Error::other("it closed the connection"));
        }
    };
    let rest = head.split_off(end);
    let text = String::from_utf8_lossy(&head);
    let status = text.split(' ').nth(1).unwrap_or_default();
    // Docker before 1.12, and some proxies in front of it, answer 200 and still switch protocols.
    if matches!(status, "101" | "200") {
        return Ok(rest);
    }
    let mut body = rest;
    // The connection may stay open after an answer, so the answer's length is what counts.
    let length = text
        .to_ascii_lowercase()
        .split("content-length:")
        .nth(1)
        .and_then(|rest| rest.lines().next().and_then(|length| length.trim().parse::<usize>().ok()));
    let left = length.unwrap_or(0).min(LONGEST_HEAD).saturating_sub(body.len());
    let _ = wire.take(left as u64).read_to_end(&mut body).await;
    let message = serde_json::from_slice::<Refusal>(&body).map(|refusal| refusal.message);
    let message = message.unwrap_or_else(|_| String::from_utf8_lossy(&body).trim().to_owned());
    Err(io::Error::other(format!("status {status}: {message}")))
}

/// The body of a daemon's refusal.
#[derive(serde::Deserialize)]
struct Refusal {
    message: String,
}

/// The connection, once it belongs to the container.
pub(super) struct Attached {
    pub(super) writer: AttachWriter,
    pub(super) reader: AttachReader,
}

impl SupervisorStream for Attached {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer.wire).poll_write(cx, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer.wire).poll_flush(cx)
    }

    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamEnd>> {
        self.reader.poll_more(cx)
    }

    fn stdout(&mut self) -> &mut BytesMut {
        self.reader.stdout()
    }

    fn last_words(&self) -> Vec<String> {
        self.reader.last_words()
    }
}

/// The container's stdin.
pub(super) struct AttachWriter {
    wire: WriteHalf<Box<dyn Wire>>,
}

impl AttachWriter {
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.wire.write_all(bytes).await?;
        self.wire.flush().await
    }
}

/// The container's stdout and stderr.
pub(super) struct AttachReader {
    wire: ReadHalf<Box<dyn Wire>>,
    landing: Box<[u8]>,
    frames: Frames,
    stdout: BytesMut,
    stderr: BytesMut,
}

impl AttachReader {
    /// Waits until there is more on stdout, or the end.
    pub(super) fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamEnd>> {
        let had = self.stdout.len();
        while self.stdout.len() == had {
            let mut read = ReadBuf::new(&mut self.landing);
            ready!(Pin::new(&mut self.wire).poll_read(cx, &mut read))?;
            let count = read.filled().len();
            if count == 0 {
                let whole = self.frames.is_between_frames();
                return Poll::Ready(Err(if whole { StreamEnd::Ended } else { StreamEnd::Torn }));
            }
            let landing = std::mem::take(&mut self.landing);
            let taken = self.take(&landing[..count]);
            self.landing = landing;
            taken?;
        }
        Poll::Ready(Ok(()))
    }

    /// What came on stdout and was not taken yet.
    pub(super) fn stdout(&mut self) -> &mut BytesMut {
        &mut self.stdout
    }

    /// The last lines on stderr.
    pub(super) fn last_words(&self) -> Vec<String> {
        const LINES: usize = 20;
        let text = String::from_utf8_lossy(&self.stderr);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].iter().map(|line| (*line).to_owned()).collect()
    }

    fn take(&mut self, read: &[u8]) -> Result<(), StreamEnd> {
        self.frames
            .take(read, &mut self.stdout, &mut self.stderr)
            .map_err(|error| StreamEnd::Garbled(error.to_string()))?;
        if self.stderr.len() > LAST_WORDS {
            let _ = self.stderr.split_to(self.stderr.len() - LAST_WORDS);
        }
        Ok(())
    }
}
