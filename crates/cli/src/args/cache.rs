//! `belljar cache`.

use std::time::Duration;

use clap::{Args, Subcommand};

/// `belljar cache`.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List the sets of packages that are kept, the last used first
    Ls(JsonArgs),
    /// Show how much room they take
    Size(JsonArgs),
    /// Remove those that were not used for some time. Nothing that is in use is removed
    Prune(PruneCacheArgs),
    /// Remove all that are not in use. They are installed again when needed
    Clear(ClearArgs),
}

/// For commands that can answer a program.
#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `belljar cache prune`.
#[derive(Debug, Args)]
pub(crate) struct PruneCacheArgs {
    /// How long they were not used, such as 12h, 30d or 8w
    #[arg(long, value_name = "AGE", default_value = "30d", value_parser = age)]
    pub(crate) older_than: Duration,
    /// Only show what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `belljar cache clear`.
#[derive(Debug, Args)]
pub(crate) struct ClearArgs {
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Only show what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn age(text: &str) -> Result<Duration, String> {
    const HOUR: u64 = 60 * 60;
    let read = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let hours = match unit {
            "h" => 1,
            "d" => 24,
            "w" => 7 * 24,
            _ => return None,
        };
        Some(Duration::from_secs(number.parse::<u64>().ok()?.checked_mul(hours * HOUR)?))
    };
    read().ok_or_else(|| "must be a whole number of hours, days or weeks, such as 12h, 30d or 8w".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_unit() {
        for (text, days) in [("0d", 0), ("24h", 1), ("30d", 30), ("8w", 56)] {
            assert_eq!(age(text), Ok(Duration::from_secs(days * 24 * 60 * 60)), "{text}");
        }
        for text in ["", "d", "30", "-1d", "1.5d", "30 d", "30é", "30m", "99999999999999999w"] {
            assert!(age(text).unwrap_err().contains("such as 12h, 30d or 8w"), "{text}");
        }
    }
}
