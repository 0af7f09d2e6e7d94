//! Reads and writes configs as TOML and JSON text.
//!
//! Keys may be written in snake or kebab case. An unknown key is an error, never ignored: in a
//! policy, a misspelt limit would be no limit. Reading validates. Writing validates too, so
//! everything that is written can be read.

#[cfg(test)]
mod tests;

use serde_path_to_error::Path;

use super::table::Table;
use super::{ConfigError, SandboxConfig};

impl SandboxConfig {
    /// Reads and validates a TOML document.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let place =
            |error: &toml::de::Error| Place::at_offset(text, error.span().map_or(0, |span| span.start));
        let document = toml::Deserializer::parse(text)
            .map_err(|error| place(&error).syntax(error.message().to_owned()))?;
        let Table(config): Table<Self> = serde_path_to_error::deserialize(document).map_err(|error| {
            let inner = error.inner();
            place(inner).refuse(error.path(), inner.message().to_owned())
        })?;
        config.validate()?;
        Ok(config)
    }

    /// Reads and validates a JSON document.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let mut document = serde_json::Deserializer::from_str(text);
        let Table(config): Table<Self> =
            serde_path_to_error::deserialize(&mut document).map_err(|error| {
                let inner = error.inner();
                let (place, message) = Place::of_json(inner);
                if inner.is_data() { place.refuse(error.path(), message) } else { place.syntax(message) }
            })?;
        document.end().map_err(|error| {
            let (place, message) = Place::of_json(&error);
            place.syntax(message)
        })?;
        config.validate()?;
        Ok(config)
    }

    /// Writes the config as TOML. [`from_toml`](Self::from_toml) reads it back.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        self.validate()?;
        Ok(toml::to_string(self).expect("a valid config has only UTF-8 paths and numbers that TOML holds"))
    }

    /// Writes the config as JSON. [`from_json`](Self::from_json) reads it back.
    pub fn to_json(&self) -> Result<String, ConfigError> {
        self.validate()?;
        Ok(serde_json::to_string_pretty(self).expect("a valid config has only UTF-8 paths and string keys"))
    }
}

/// A position in a document. Both numbers count from 1.
struct Place {
    line: usize,
    column: usize,
}

impl Place {
    fn at_offset(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self { line: 1 + before.matches('\n').count(), column: 1 + before[line_start..].chars().count() }
    }

    /// Splits a serde_json error, which has the position and the message in one string.
    fn of_json(error: &serde_json::Error) -> (Self, String) {
        let place = Self { line: error.line(), column: error.column() };
        let text = error.to_string();
        let suffix = format!(" at line {} column {}", place.line, place.column);
        (place, text.strip_suffix(&suffix).unwrap_or(&text).to_owned())
    }

    fn syntax(self, message: String) -> ConfigError {
        // The message of the TOML parser may have several lines. Here it gets one.
        let message = plain(&message.lines().collect::<Vec<_>>().join("; "));
        ConfigError::Syntax { message, line: self.line, column: self.column }
    }

    /// An error about the value at `path`. Only the text of a serde error tells its kind.
    fn refuse(self, path: &Path, message: String) -> ConfigError {
        let Self { line, column } = self;
        let whole = path.iter().next().is_none();
        let (key, message) = (plain(&path.to_string()), plain(&message));
        if let Some(rest) = message.strip_prefix("unknown field `") {
            return ConfigError::UnknownKey { hint: hint(rest), key, line, column };
        }
        if let Some(twice) = message.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`'))
        {
            let key = if whole { twice.to_owned() } else { format!("{key}.{twice}") };
            let message = "given twice; both spellings of a key are one key".to_owned();
            return ConfigError::BadValue { key, line, column, message };
        }
        if whole { self.syntax(message) } else { ConfigError::BadValue { key, line, column, message } }
    }
}

/// Text from a document, made safe to show in an error: on one line, without characters that a
/// terminal acts on.
fn plain(text: &str) -> String {
    let is_plain = |c: &char| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}');
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(&c) { out.push(c) } else { out.extend(c.escape_default()) }
    }
    out
}

/// Guesses what was meant from the rest of serde's message: ``memroy_mb`, expected one of
/// `cpu_quota`, `cpu-quota`, …``.
fn hint(rest: &str) -> String {
    let Some((wrong, expected)) = rest.split_once("`, expected ") else {
        return "it means nothing here".to_owned();
    };
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let distance = |key: &&str| strsim::damerau_levenshtein(wrong, key);
    let close = known.iter().copied().map(|key| (distance(&key), key)).min();
    if let Some((_, key)) = close.filter(|(distance, key)| *distance <= 1 + key.len() / 4) {
        return format!("did you mean `{key}`?");
    }
    match table_with(&wrong.replace('-', "_")) {
        Some(home) => format!("it belongs in `{home}`"),
        None => {
            let snake: Vec<_> = known.into_iter().filter(|key| !key.contains('-')).collect();
            format!("the keys here are {}", snake.join(", "))
        }
    }
}

/// Finds the table of the default config that has `key`.
fn table_with(key: &str) -> Option<String> {
    let defaults = serde_json::to_value(SandboxConfig::default()).ok()?;
    let tables = defaults.as_object()?.iter();
    tables.filter(|(_, table)| table.get(key).is_some()).map(|(name, _)| name.clone()).next()
}
