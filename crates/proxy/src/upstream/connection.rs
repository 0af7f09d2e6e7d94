//! One HTTP connection to a host, for one request after another.
//!
//! hyper reads the answers. The user of the connection drives hyper's side of it; there is no
//! separate task. So it cannot outlive its user, and its processor time is charged to its cell.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;

use super::{Counted, HostStream, Protection};
use crate::audit::Record;
use crate::body::Outgoing;
use crate::budget::{Bytes, Claim};
use crate::head::connection_says;
use crate::upstream::meter::Account;
use crate::wire::Stream;

/// The most hyper holds of an answer's head, or of a part of its body.
const ANSWER_BUFFER: usize = 64 * 1024;

type Driver = http1::Connection<TokioIo<Counted<Box<dyn Stream>>>, Outgoing>;

/// A connection that requests can be sent on.
pub(crate) struct HostConnection {
    sender: http1::SendRequest<Outgoing>,
    driver: Pin<Box<Driver>>,
    has_ended: bool,
    protection: Protection,
    account: Arc<Account>,
    /// Its own descriptor, while it waits in a pool.
    pub(super) claim: Option<Claim>,
}

impl HostConnection {
    /// Speaks HTTP on a stream. Bytes go to this record until another is set.
    pub(crate) async fn new(
        host_stream: HostStream,
        bytes: Arc<Bytes>,
        record: Arc<Record>,
    ) -> hyper::Result<Self> {
        let protection = host_stream.protection();
        let account = Arc::new(Account::new(bytes));
        account.set(Some(record));
        let stream = TokioIo::new(Counted::new(host_stream.stream, account.clone()));
        let handshake = http1::Builder::new().max_buf_size(ANSWER_BUFFER).handshake(stream);
        let (sender, driver) = handshake.await?;
        Ok(Self { sender, driver: Box::pin(driver), has_ended: false, protection, account, claim: None })
    }

    pub(crate) fn protection(&self) -> Protection {
        self.protection
    }

    /// Sets the record that bytes go to from now on.
    pub(super) fn set_record(&self, record: Option<Arc<Record>>) {
        self.account.set(record);
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn ask(&mut self, request: Request<Outgoing>) -> hyper::Result<Response<Incoming>> {
        let answer = self.sender.send_request(request);
        self.drive(answer).await
    }

    /// Does some work while the connection is driven.
    pub(crate) async fn drive<F: Future>(&mut self, work: F) -> F::Output {
        let mut work = pin!(work);
        poll_fn(|cx| {
            let _ = self.poll_end(cx);
            work.as_mut().poll(cx)
        })
        .await
    }

    /// Drives the connection. Ready when it can no longer be used.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.has_ended {
            // Whoever waits for an answer learns how it ended.
            self.has_ended = self.driver.as_mut().poll(cx).is_ready();
        }
        if self.has_ended { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Whether another request can be sent now. This also notices an answer that nobody asked for,
    /// if it has come.
    pub(super) fn is_ready(&mut self) -> bool {
        self.poll_end(&mut Context::from_waker(Waker::noop())).is_pending() && self.sender.is_ready()
    }
}

/// Whether host and proxy agree on where an answer ends, so that the next bytes are the next
/// answer. Only statuses that are known to be harmless pass. After a complaint about the request
/// itself, it is unclear what the host has read.
pub(crate) fn agrees<B>(response: &Response<B>) -> bool {
    let is_well = match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => true,
        status => status.is_success() || status.is_redirection(),
    };
    is_well && response.version() == Version::HTTP_11 && !connection_says(response.headers(), "close")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_goes_on_only_after_an_answer_that_is_known_to_be_well() {
        let answer = |status: u16, version, connection: &str| {
            let built = Response::builder().status(status).version(version).header("connection", connection);
            agrees(&built.body(()).unwrap())
        };
        for status in [200, 204, 206, 301, 304, 401, 403, 404] {
            assert!(answer(status, Version::HTTP_11, "keep-alive"), "{status}");
        }
        for status in [400, 408, 411, 413, 421, 431, 500, 502, 503] {
            assert!(!answer(status, Version::HTTP_11, "keep-alive"), "{status}");
        }
        assert!(!answer(200, Version::HTTP_10, "keep-alive") && !answer(200, Version::HTTP_11, "x, Close"));
    }
}
