//! What scripts read, from readers of all kinds.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use belljar_core::Stdin;
use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

/// How much is read at once.
const PIECE: usize = 32 << 10;

/// Reads a script's input from a reader that blocks, on a thread of its own. The thread starts when
/// the script does, and ends with the reader, or when it finds that nobody listens any more.
pub fn stdin_from_reader(reader: impl Read + Send + 'static) -> Stdin {
    stdin_from_stream(Blocking { reader: Some(reader), pieces: None })
}

/// Reads a script's input from an asynchronous reader.
pub fn stdin_from_async_reader(reader: impl AsyncRead + Send + 'static) -> Stdin {
    stdin_from_stream(Asynchronous { reader: Box::pin(reader) })
}

/// Reads a script's input from a stream. An error in it ends the input.
pub fn stdin_from_stream(stream: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Stdin {
    let mut stream = Box::pin(stream);
    Stdin::from_poll(move |cx| stream.as_mut().poll_next(cx))
}

struct Blocking<R> {
    reader: Option<R>,
    pieces: Option<mpsc::Receiver<io::Result<Bytes>>>,
}

// Nothing in it is pinned.
impl<R> Unpin for Blocking<R> {}

impl<R: Read + Send + 'static> Stream for Blocking<R> {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(reader) = self.reader.take() {
            let (pieces, received) = mpsc::channel(1);
            let started = std::thread::Builder::new()
                .name("belljar-stdin".to_owned())
                .spawn(move || read_all(reader, &pieces));
            if let Err(error) = started {
                return Poll::Ready(Some(Err(error)));
            }
            self.pieces = Some(received);
        }
        match &mut self.pieces {
            Some(pieces) => pieces.poll_recv(cx),
            None => Poll::Ready(None),
        }
    }
}

fn read_all(mut reader: impl Read, pieces: &mpsc::Sender<io::Result<Bytes>>) {
    let mut landing = vec![0; PIECE];
    loop {
        let piece = match reader.read(&mut landing) {
            Ok(0) => return,
            Ok(read) => Ok(Bytes::copy_from_slice(&landing[..read])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if pieces.blocking_send(piece).is_err() || is_last {
            return;
        }
    }
}

struct Asynchronous<R> {
    reader: Pin<Box<R>>,
}

impl<R: AsyncRead> Stream for Asynchronous<R> {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut landing = BytesMut::zeroed(PIECE);
        let mut buffer = ReadBuf::new(&mut landing);
        let read = ready!(self.reader.as_mut().poll_read(cx, &mut buffer));
        let filled = buffer.filled().len();
        landing.truncate(filled);
        Poll::Ready(match read {
            Ok(()) if filled == 0 => None,
            Ok(()) => Some(Ok(landing.freeze())),
            Err(error) => Some(Err(error)),
        })
    }
}
