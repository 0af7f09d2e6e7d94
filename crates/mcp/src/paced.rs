//! Reads no more from a server that does not take our answers.
//!
//! A server may ask as much as it likes, and each question has an answer, if only a refusal. If it
//! never reads them, they would fill our memory. What we ask of a server is not counted: it may be
//! busy, and reading on is what frees it.
//!
//! It also passes over answers that come before the first question.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::watch;

/// How many answers a server may leave untaken.
const MOST_UNTAKEN: usize = 256;

/// A way to a server, with a bound.
pub(crate) struct Paced<T> {
    way: T,
    untaken: Arc<watch::Sender<usize>>,
    /// The number of our first request, and whether it is answered.
    first: Option<RequestId>,
    is_open: bool,
}

/// An answer that is not taken yet.
struct Untaken(Arc<watch::Sender<usize>>);

impl<T> Paced<T> {
    pub(crate) fn new(way: T) -> Self {
        Self { way, untaken: Arc::new(watch::Sender::new(0)), first: None, is_open: false }
    }
}

impl<T> Paced<T> {
    /// Whether a message answers something that was not asked, before our first request is
    /// answered. The library would hang up. Later, it passes over such a message by itself.
    fn is_stray(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let answered = match message {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            _ => None,
        };
        let (Some(answered), false) = (answered, self.is_open) else { return false };
        // Some servers turn a number into a text.
        self.is_open = self.first.as_ref().is_some_and(|first| first.to_string() == answered.to_string());
        !self.is_open
    }
}

impl Untaken {
    fn new(count: &Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(Arc::clone(count))
    }
}

impl Drop for Untaken {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Paced<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        if let (JsonRpcMessage::Request(request), false) = (&message, self.is_open) {
            self.first = Some(request.id.clone());
        }
        let untaken = is_answer.then(|| Untaken::new(&self.untaken));
        let sending = self.way.send(message);
        async move {
            let _until_sent = untaken;
            sending.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let mut untaken = self.untaken.subscribe();
        // It cannot fail: the sender is here.
        drop(untaken.wait_for(|count| *count < MOST_UNTAKEN).await);
        loop {
            let message = self.way.receive().await?;
            if !self.is_stray(&message) {
                return Some(message);
            }
            tracing::debug!("an MCP server answered what was not asked");
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.way.close().await
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientResult, EmptyObject, NumberOrString};
    use rmcp::transport::async_rw::AsyncRwTransport;
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn a_server_that_takes_no_answers_is_not_heard() {
        let (mut server, ours) = tokio::io::duplex(1 << 20);
        for number in 0..2 * MOST_UNTAKEN {
            let ping = format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"ping\"}}\n");
            server.write_all(ping.as_bytes()).await.unwrap();
        }
        // Nothing that we send is ever taken.
        let (read, _) = tokio::io::split(ours);
        let (write, _kept) = tokio::io::duplex(1);
        let mut paced = Paced::new(AsyncRwTransport::<RoleClient, _, _>::new(read, write));
        let mut answers = Vec::new();
        for number in 0..MOST_UNTAKEN {
            assert!(paced.receive().await.is_some(), "{number}");
            let answer = ClientResult::EmptyResult(EmptyObject {});
            answers.push(paced.send(JsonRpcMessage::response(answer, NumberOrString::Number(number as i64))));
        }
        let heard = tokio::select! {
            biased;
            heard = paced.receive() => heard,
            () = std::future::ready(()) => None,
        };
        assert!(heard.is_none(), "it is not read from any more");
        answers.pop();
        assert!(paced.receive().await.is_some(), "it goes on where it stopped");
    }
}
