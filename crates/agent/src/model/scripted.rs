//! A model that says what it was told to.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use belljar_engine::BoxFuture;

use super::{Delta, Message, Model, ModelError, Reply};

/// What a [`ScriptedModel`] does when it is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ScriptedReply {
    /// It answers.
    Reply(Reply),
    /// It fails.
    Error(ModelError),
    /// It says this and then nothing more, for ever.
    Hang(String),
}

/// Answers from a list, one reply after the other, and remembers what it was asked. For tests,
/// examples, and everybody who wants to see a run again without asking a model.
#[derive(Debug, Default)]
pub struct ScriptedModel {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    given: usize,
    replies: VecDeque<ScriptedReply>,
    asked: Vec<Vec<Message>>,
}

impl From<&str> for ScriptedReply {
    fn from(text: &str) -> Self {
        Self::Reply(Reply::new(text))
    }
}

impl From<String> for ScriptedReply {
    fn from(text: String) -> Self {
        Self::Reply(Reply::new(text))
    }
}

impl From<Reply> for ScriptedReply {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl From<ModelError> for ScriptedReply {
    fn from(error: ModelError) -> Self {
        Self::Error(error)
    }
}

impl ScriptedModel {
    /// A model with these replies.
    pub fn new(replies: impl IntoIterator<Item = impl Into<ScriptedReply>>) -> Self {
        let replies: VecDeque<_> = replies.into_iter().map(Into::into).collect();
        let state = State { given: replies.len(), replies, asked: Vec::new() };
        Self { state: Mutex::new(state) }
    }

    /// The messages of each time it was asked.
    pub fn asked(&self) -> Vec<Vec<Message>> {
        self.lock().asked.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, messages: &[Message]) -> ScriptedReply {
        let mut state = self.lock();
        state.asked.push(messages.to_vec());
        let nothing = ModelError::NothingLeft { asked: state.asked.len(), given: state.given };
        state.replies.pop_front().unwrap_or(ScriptedReply::Error(nothing))
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn reply<'a>(
        &'a self,
        messages: &'a [Message],
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            match self.next(messages) {
                ScriptedReply::Reply(reply) => {
                    for line in reply.text.split_inclusive('\n') {
                        on_delta(Delta::Text(line.to_owned()));
                    }
                    Ok(reply)
                }
                ScriptedReply::Error(error) => Err(error),
                ScriptedReply::Hang(text) => {
                    on_delta(Delta::Text(text));
                    std::future::pending().await
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn replies_come_in_order_and_in_pieces_and_then_no_more() {
        let model = ScriptedModel::new(["a\nb", "c"]);
        let mut pieces = Vec::new();
        let messages = [Message::user("go")];
        let first = model.reply(&messages, &mut |delta| pieces.push(delta)).await.unwrap();
        assert_eq!(first.text, "a\nb");
        assert_eq!(pieces, [Delta::Text("a\n".into()), Delta::Text("b".into())]);
        assert_eq!(model.reply(&[], &mut |_| {}).await.unwrap().text, "c");
        let error = model.reply(&[], &mut |_| {}).await.unwrap_err();
        assert_eq!(error.to_string(), "the scripted model was asked for reply 3, and has 2");
        assert_eq!(model.asked()[0], messages);
    }
}
