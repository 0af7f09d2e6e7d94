//! Carries a request's body: reads it from the guest by the strict rules of its framing, and hands
//! it to hyper.

use std::pin::Pin;
use std::task::{Context, Poll};

use belljar_core::policy::Rule;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::head::Framing;
use crate::limits::Limits;
use crate::wire::{Reader, Stream};

/// The body ended too early. hyper then cuts the connection, and does not end the request as if it
/// were whole.
#[derive(Debug, thiserror::Error)]
#[error("the request's body broke off")]
pub(crate) struct Truncated;

/// The end that hyper sends from.
pub(crate) struct Outgoing {
    parts: mpsc::Receiver<Bytes>,
    left: Option<u64>,
    done: bool,
}

/// The end that takes the guest's bytes.
pub(crate) struct Incoming {
    parts: mpsc::Sender<Bytes>,
    framing: Framing,
}

/// Makes the two ends. At most two parts are between them. An empty part marks the end of a
/// complete body.
pub(crate) fn transit(framing: Framing) -> (Incoming, Outgoing) {
    let (sender, parts) = mpsc::channel(2);
    let left = match framing {
        Framing::Length(length) => Some(length),
        Framing::Chunked => None,
    };
    (Incoming { parts: sender, framing }, Outgoing { parts, left, done: left == Some(0) })
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Truncated;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Truncated>>> {
        if self.done {
            return Poll::Ready(None);
        }
        self.parts.poll_recv(cx).map(|part| match part {
            Some(part) if part.is_empty() => {
                self.done = true;
                None
            }
            Some(part) => {
                if let Some(left) = &mut self.left {
                    *left = left.saturating_sub(part.len() as u64);
                    self.done = *left == 0;
                }
                Some(Ok(Frame::data(part)))
            }
            None => {
                self.done = true;
                Some(Err(Truncated))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.done
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Incoming {
    /// Moves the whole body. What follows it stays in the reader for the next request.
    pub(crate) async fn pump<S: Stream>(self, reader: &mut Reader<S>, limits: &Limits) -> Result<(), Rule> {
        match self.framing {
            Framing::Length(length) => self.pump_bytes(reader, length, limits).await?,
            Framing::Chunked => loop {
                let size = read_chunk_size(reader, limits).await?;
                self.pump_bytes(reader, size, limits).await?;
                expect_line_end(reader, limits).await?;
                if size == 0 {
                    break;
                }
            },
        }
        self.send(Bytes::new()).await
    }

    async fn pump_bytes<S: Stream>(
        &self,
        reader: &mut Reader<S>,
        mut left: u64,
        limits: &Limits,
    ) -> Result<(), Rule> {
        while left > 0 {
            if reader.buffer.is_empty() {
                fill(reader, limits).await?;
            }
            let count = reader.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            left -= count as u64;
            self.send(reader.buffer.split_to(count).freeze()).await?;
        }
        Ok(())
    }

    /// If hyper no longer wants the body, the answer is there already or the connection is gone.
    /// Neither is reported here.
    async fn send(&self, part: Bytes) -> Result<(), Rule> {
        let _ = self.parts.send(part).await;
        Ok(())
    }
}

/// One to eight hexadecimal digits and a line end. Extensions are refused: nothing needs them, and
/// readers differ on where they end.
async fn read_chunk_size<S: Stream>(reader: &mut Reader<S>, limits: &Limits) -> Result<u64, Rule> {
    const BROKEN: Rule = Rule::Http("a chunk size that is not a plain hexadecimal number");
    loop {
        let digits = reader.buffer.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if digits > 8 {
            return Err(BROKEN);
        }
        match reader.buffer.get(digits) {
            None => fill(reader, limits).await?,
            Some(b'\r') if digits > 0 => {
                let size = std::str::from_utf8(&reader.buffer[..digits]).ok();
                let size = size.and_then(|size| u64::from_str_radix(size, 16).ok()).ok_or(BROKEN)?;
                let _ = reader.buffer.split_to(digits);
                expect_line_end(reader, limits).await?;
                return Ok(size);
            }
            Some(_) => return Err(BROKEN),
        }
    }
}

async fn expect_line_end<S: Stream>(reader: &mut Reader<S>, limits: &Limits) -> Result<(), Rule> {
    while reader.buffer.len() < 2 {
        fill(reader, limits).await?;
    }
    if reader.buffer.split_to(2) == b"\r\n"[..] {
        return Ok(());
    }
    Err(Rule::Http("a chunk that does not end where it says, or a trailer"))
}

async fn fill<S: Stream>(reader: &mut Reader<S>, limits: &Limits) -> Result<(), Rule> {
    match timeout(limits.idle, reader.fill()).await {
        Ok(Ok(1..)) => Ok(()),
        Ok(_) => Err(Rule::Http("it ends before its body does")),
        Err(_) => Err(Rule::Limit("time without traffic")),
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::wire::Wire;

    /// What hyper gets of a body, what is left for the next request, and what the pump returns.
    async fn pumped(framing: Framing, bytes: &[u8]) -> (Option<Bytes>, Bytes, Result<(), Rule>) {
        let (mut guest, stream) = tokio::io::duplex(1 << 16);
        guest.write_all(bytes).await.unwrap();
        drop(guest);
        let mut wire = Wire::new(stream);
        let (incoming, outgoing) = transit(framing);
        let limits = Limits::default();
        let (verdict, body) = tokio::join!(incoming.pump(&mut wire.reader, &limits), outgoing.collect());
        while let Ok(1..) = wire.reader.fill().await {}
        (body.ok().map(|body| body.to_bytes()), wire.reader.buffer.freeze(), verdict)
    }

    #[tokio::test]
    async fn bodies_end_where_their_framing_says() {
        let (body, rest, verdict) = pumped(Framing::Length(3), b"abcGET").await;
        assert_eq!((body.unwrap(), rest, verdict), ("abc".into(), "GET".into(), Ok(())));
        let (body, rest, verdict) =
            pumped(Framing::Chunked, b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nGET").await;
        assert_eq!((body.unwrap(), rest, verdict), ("abc0123456789".into(), "GET".into(), Ok(())));
    }

    #[tokio::test]
    async fn a_body_that_lies_about_itself_never_looks_whole() {
        let table: [(Framing, &[u8]); 10] = [
            (Framing::Length(4), b"abc"),
            (Framing::Chunked, b"3\r\nab"),
            (Framing::Chunked, b"3\nabc\r\n0\r\n\r\n"),
            (Framing::Chunked, b"3\r\nabcd\r\n0\r\n\r\n"),
            (Framing::Chunked, b"3;x=y\r\nabc\r\n0\r\n\r\n"),
            (Framing::Chunked, b"0x3\r\nabc\r\n0\r\n\r\n"),
            (Framing::Chunked, b"-3\r\nabc\r\n0\r\n\r\n"),
            (Framing::Chunked, b"000000003\r\nabc\r\n0\r\n\r\n"),
            (Framing::Chunked, b"\r\nabc"),
            (Framing::Chunked, b"0\r\nX-Trailer: 1\r\n\r\n"),
        ];
        for (framing, bytes) in table {
            let (body, _, verdict) = pumped(framing, bytes).await;
            let text = String::from_utf8_lossy(bytes);
            assert!(verdict.is_err(), "{text:?} was taken");
            assert!(body.is_none(), "{text:?} looked whole");
        }
    }
}
