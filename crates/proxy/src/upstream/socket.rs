//! The socket to a host, and the only place that says how it ends.
//!
//! The side that ends a TCP connection first keeps its port for a minute, and ports are everybody's. So:
//!
//! | what has happened | how it ends |
//! |---|---|
//! | an exchange is over, or given up; the run is over | dropped: a reset, and no port is held |
//! | the host has ended its side | [`end_after_host`](HostSocket::end_after_host): the ordinary way. The host's port waits, not ours |
//! | the guest has ended its side, and the host must hear of it | [`end_first`](HostSocket::end_first), which takes a [`Hold`]: these are counted |
//! | something was sent and nobody waits for an answer | [`delivered`](HostSocket::delivered), then dropped |
//!
//! Nobody else can end the sending side: a shutdown by hyper or by TLS comes to nothing here.

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

/// A connection to a host. When dropped it ends at once: what was not sent yet is not sent later.
#[derive(Debug)]
pub(crate) struct HostSocket(TcpStream);

impl HostSocket {
    pub(super) async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        // Small messages go out at once; without it a request could wait for an acknowledgement.
        let _ = stream.set_nodelay(true);
        sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?;
        Ok(Self(stream))
    }

    /// For flows, which read and write and do not end anything.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.0
    }

    /// Tells a host that has ended its own side that nothing more will come.
    pub(crate) fn end_after_host(&self) {
        let _ = shutdown(&self.0, Shutdown::Write);
    }

    /// Tells a host that nothing more will come, and that it may still answer. The port may have to wait, so leave is needed.
    pub(crate) fn end_first(&self, _leave: &Hold) {
        let _ = shutdown(&self.0, Shutdown::Write);
    }

    /// Waits until the host has acknowledged everything, as long as it makes progress at least that often.
    pub(crate) async fn delivered(&self, patience: Duration) {
        let (mut least, mut since, mut pause) = (u32::MAX, Instant::now(), Duration::from_millis(1));
        loop {
            // Where the kernel cannot be asked, the time has to do.
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

    /// Nothing: it would end the connection from our side first.
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
