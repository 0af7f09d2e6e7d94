//! The socket to a host, and the only place that ends it.
//!
//! The side that ends a TCP connection first keeps its port for a minute, and all programs of the
//! machine share the ports. So:
//!
//! | what has happened | how it ends |
//! |---|---|
//! | an exchange or run is over, or given up | dropped: a reset, and no port is held |
//! | the host has ended its side | [`end_after_host`]: in the ordinary way; the host's port waits |
//! | the guest has ended its side, which the host must hear | [`end_first`]: a [`Hold`] counts it |
//! | something was sent and nobody waits for an answer | [`delivered`], then dropped |
//!
//! Nobody else can end the sending side: a shutdown by hyper or by TLS does nothing here.
//!
//! [`end_after_host`]: HostSocket::end_after_host
//! [`end_first`]: HostSocket::end_first
//! [`delivered`]: HostSocket::delivered

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::net::{Shutdown, shutdown, sockopt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::unacknowledged::unacknowledged;
use crate::budget::Hold;

/// A connection to a host. It ends at once when dropped: what was not sent yet is never sent.
#[derive(Debug)]
pub(crate) struct HostSocket(TcpStream);

impl HostSocket {
    pub(super) async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        // Small messages go out at once. Without this a request could wait for an acknowledgement.
        let _ = stream.set_nodelay(true);
        sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?;
        Ok(Self(stream))
    }

    /// For flows, which read and write but end nothing.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.0
    }

    /// Tells a host that has ended its own side that nothing more will come.
    pub(crate) fn end_after_host(&self) {
        let _ = shutdown(&self.0, Shutdown::Write);
    }

    /// Tells a host that nothing more will come, and that it may still answer. The port may have to
    /// wait, so this needs a [`Hold`].
    pub(crate) fn end_first(&self, _leave: &Hold) {
        let _ = shutdown(&self.0, Shutdown::Write);
    }

    /// Waits until the host has acknowledged everything. Gives up when it makes no progress for
    /// `patience`.
    pub(crate) async fn delivered(&self, patience: Duration) {
        let (mut least, mut since, mut pause) = (u32::MAX, Instant::now(), Duration::from_millis(1));
        loop {
            // If the kernel cannot be asked, waiting has to do.
            match unacknowledged(&self.0) {
                Ok(0) => return,
                Ok(left) if left < least => (least, since) = (left, Instant::now()),
                _ => {}
            }
            if since.elapsed() >= patience {
                return;
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

impl AsyncRead for HostSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for HostSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    /// Does nothing, because it would end the connection from our side first.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}
