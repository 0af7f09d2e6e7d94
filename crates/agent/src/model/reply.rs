//! What a model answers, and what that took.

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A part of a reply, as it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// More of its text.
    Text(String),
    /// The model is asked again. The text that came so far does not count.
    Retrying {
        /// What went wrong.
        reason: String,
        /// How long is waited before that.
        wait: Duration,
    },
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// Why it ended.
    pub stop: Stop,
    /// What was read and written, if the model says so.
    pub tokens: Option<TokenUsage>,
    /// What it cost, if prices are known.
    pub cost: Option<f64>,
}

impl Reply {
    /// A reply that ended by itself.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), stop: Stop::End, tokens: None, cost: None }
    }

    /// The same with what was read and written.
    #[must_use]
    pub fn with_tokens(mut self, input: u64, output: u64) -> Self {
        self.tokens = Some(TokenUsage { input, output });
        self
    }

    /// The same with another reason to end.
    #[must_use]
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// The same with its cost by these prices.
    #[must_use]
    pub fn priced(mut self, prices: Option<Prices>) -> Self {
        self.cost = prices.zip(self.tokens).map(|(prices, tokens)| prices.of(tokens));
        self
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Stop {
    /// There was no more to say.
    End,
    /// It reached the most tokens it may have. Its script is cut off, too.
    Length,
    /// The model, or a filter behind it, refused.
    Refused,
}

/// Tokens read and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenUsage {
    /// Tokens of the messages, cached ones included.
    pub input: u64,
    /// Tokens of the reply, those it thought with included.
    pub output: u64,
}

impl TokenUsage {
    /// Tokens read and written.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output }
    }

    /// Both together.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, more: Self) {
        // A server may say anything.
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
    }
}

/// What a million tokens cost, in whatever currency. A cost is in the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// For tokens that are read.
    pub input: f64,
    /// For tokens that are written.
    pub output: f64,
}

impl Prices {
    /// What these tokens cost.
    pub fn of(self, tokens: TokenUsage) -> f64 {
        (tokens.input as f64 * self.input + tokens.output as f64 * self.output) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_needs_prices_and_tokens() {
        let prices = Some(Prices { input: 3.0, output: 15.0 });
        let reply = Reply::new("x").with_tokens(1_000_000, 200_000);
        assert_eq!(reply.clone().priced(prices).cost, Some(6.0));
        assert_eq!(reply.priced(None).cost, None);
        assert_eq!(Reply::new("x").priced(prices).cost, None);
    }

    #[test]
    fn tokens_that_a_server_makes_up_do_not_overflow() {
        let mut tokens = TokenUsage { input: u64::MAX, output: 1 };
        tokens += tokens;
        assert_eq!(tokens.total(), u64::MAX);
    }
}
