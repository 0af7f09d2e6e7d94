//! `belljar token`: who may use a server.

use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use belljar_server::{Token, TokenLimits, TokenStore};
use serde_json::json;

use crate::args::{NewTokenArgs, StateArgs, TokenCommand};
use crate::data;
use crate::error::CliError;
use crate::exit::End;
use crate::printer::{Output, Printer};
use crate::terminal_text::quoted;

pub(super) fn token(command: TokenCommand) -> Result<End, CliError> {
    let printer = Printer::new(Output::Human);
    match command {
        TokenCommand::New(options) => make(&options, &printer)?,
        TokenCommand::Ls(options) => {
            let tokens = store(&options.state)?.all().map_err(anyhow::Error::from)?;
            if options.json {
                let told: Vec<_> = tokens.iter().map(told).collect();
                printer.json(&json!({"tokens": told}))?;
            } else {
                for token in tokens.iter() {
                    let name = quoted(&token.name);
                    printer.text(&format!(
                        "{}  {:<5}  {}  {name}\n",
                        token.id,
                        token.scope,
                        day(token.created)
                    ))?;
                }
            }
        }
        TokenCommand::Rm(options) => {
            store(&options.state)?.remove(&options.id).map_err(anyhow::Error::from)?;
        }
    }
    Ok(End::Done)
}

fn store(options: &StateArgs) -> Result<TokenStore, CliError> {
    Ok(TokenStore::in_directory(&data::state(options.state.as_ref())?))
}

fn make(options: &NewTokenArgs, printer: &Printer) -> Result<(), CliError> {
    if options.max_timeout.is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite())) {
        return Err(anyhow!("--max-timeout: must be more than 0").into());
    }
    let limits = TokenLimits {
        concurrency: options.concurrency.map(|most| most as usize),
        runs_per_minute: options.per_minute,
        max_timeout_sec: options.max_timeout,
    };
    let days = options.days.map(|days| Duration::from_secs(u64::from(days) * 24 * 60 * 60));
    let end = days.and_then(|days| SystemTime::now().checked_add(days));
    let end = end.and_then(|end| end.duration_since(SystemTime::UNIX_EPOCH).ok()).map(|end| end.as_secs());
    let (token, text) = Token::make(&options.name, options.scope, limits, end);
    let mut shown = told(&token);
    store(&options.state)?.add(token).map_err(anyhow::Error::from)?;
    if options.json {
        shown["token"] = text.into();
        printer.json(&shown)?;
    } else {
        printer.text(&format!("{text}\n"))?;
        printer.note("it is not kept: copy it now")?;
    }
    Ok(())
}

/// A token as JSON, without its hash.
fn told(token: &Token) -> serde_json::Value {
    json!({
        "id": token.id,
        "name": token.name,
        "scope": token.scope,
        "limits": token.limits,
        "created": token.created,
        "expires": token.expires,
    })
}

/// A day, for people.
fn day(seconds: u64) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    humantime::format_rfc3339_seconds(time).to_string().chars().take(10).collect()
}
