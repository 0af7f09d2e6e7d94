//! What writes the scripts: a language model, or something that stands in for one.
//!
//! ```text
//!  messages ──► Model::reply ──► Delta, Delta, … ──► Reply: text, why it ended, tokens, cost
//!                                  │                  or a ModelError
//!                                  └ text as it comes; `Retrying` takes back what came so far
//! ```
//!
//! * `message` is what a model reads. `reply` is what it answers.
//! * `error` names everything that can go wrong with a model.
//! * `scripted` answers what it was told to: for tests and examples.
//!
//! [`models`](crate::models) has clients for models that are reached over HTTP.

mod error;
mod message;
mod reply;
mod scripted;

use std::sync::Arc;

use belljar_engine::BoxFuture;

pub use self::error::ModelError;
pub use self::message::{Message, Role};
pub use self::reply::{Delta, Prices, Reply, Stop, TokenUsage};
pub use self::scripted::{ScriptedModel, ScriptedReply};

/// Writes replies to messages. Object-safe: an orchestrator holds an `Arc<dyn Model>`.
pub trait Model: Send + Sync {
    /// Its name, for records and for people.
    fn name(&self) -> &str;

    /// Answers. `on_delta` is told of the text as it comes. It must not block.
    ///
    /// Dropping the future ends the request. A model that tries again by itself says so by
    /// [`Delta::Retrying`]: the text so far does not count then.
    fn reply<'a>(
        &'a self,
        messages: &'a [Message],
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn reply<'a>(
        &'a self,
        messages: &'a [Message],
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        (**self).reply(messages, on_delta)
    }
}
