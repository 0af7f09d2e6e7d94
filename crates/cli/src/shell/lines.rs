//! Lines of stdin as they come: from a pipe, a file, or a terminal that cannot do more.

use std::io::{self, BufRead};

use tokio::sync::mpsc::{self, Receiver};

use crate::error::CliError;

/// Reads lines of stdin on a thread of its own, because a terminal cannot be waited for in any
/// other way.
pub(super) fn read_lines() -> Result<Receiver<Result<String, CliError>>, CliError> {
    const AHEAD: usize = 16;
    let (sender, lines) = mpsc::channel(AHEAD);
    let read = move || {
        for (number, line) in io::stdin().lock().lines().enumerate() {
            let place = || anyhow::anyhow!("line {} of stdin cannot be read", number + 1);
            let line = line.map_err(|error| CliError::Input(anyhow::Error::from(error).context(place())));
            let is_last = line.is_err();
            if sender.blocking_send(line).is_err() || is_last {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(read)
        .map_err(CliError::system("start a thread that reads stdin"))?;
    Ok(lines)
}
