//! What a client asks for.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use belljar::files::{Stdin, stdin_from_stream};
use belljar::program::TerminalSize;
use belljar::workspace::{ProgramLimits, RunProgramSpec, Streaming};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::held::{Input, Kind};
use crate::problem::Problem;
use crate::runs::{DEFAULT, invalid};
use crate::tokens::TokenLimits;

/// A program that is asked for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ProgramRequest)]
pub(super) struct Wanted {
    /// A name that is looked for in `PATH`, or a path.
    pub(super) command: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Where it runs, below the workspace.
    #[serde(default)]
    pub(super) cwd: String,
    /// What it reads first.
    #[serde(default)]
    pub(super) stdin: String,
    /// Seconds that it may take.
    #[schema(exclusive_minimum = 0)]
    pub(super) timeout: Option<f64>,
    #[serde(default)]
    pub(super) limits: Limits,
    /// The sandbox whose packages, network and limits it has.
    pub(super) sandbox: Option<String>,
    /// Its input stays open.
    #[serde(default)]
    pub(super) interactive: bool,
    pub(super) terminal: Option<Size>,
    /// Seconds that it may go without being used, if it is talked to.
    pub(super) idle_timeout_sec: Option<f64>,
}

/// Less than the sandbox allows. 0 is what that allows.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = ProgramLimits)]
pub(super) struct Limits {
    cpu_percent: u32,
    memory_mb: u64,
    max_pids: u32,
    disk_mb: u64,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TerminalSize)]
pub(super) struct Size {
    #[serde(default = "usual_rows")]
    #[schema(minimum = 1, maximum = 1000)]
    pub(super) rows: u16,
    #[serde(default = "usual_cols")]
    #[schema(minimum = 1, maximum = 1000)]
    pub(super) cols: u16,
}

fn usual_rows() -> u16 {
    TerminalSize::default().rows
}

fn usual_cols() -> u16 {
    TerminalSize::default().columns
}

impl Size {
    pub(super) fn checked(self) -> Result<TerminalSize, Problem> {
        const MOST: u16 = 1000;
        for (value, field) in [(self.rows, "rows"), (self.cols, "cols")] {
            if !(1..=MOST).contains(&value) {
                return Err(invalid(format!("must be from 1 to {MOST}")).at(field));
            }
        }
        Ok(TerminalSize { rows: self.rows, columns: self.cols })
    }
}

/// How a program is begun.
pub(super) struct Terms {
    pub(super) kind: Kind,
    pub(super) spec: RunProgramSpec,
    pub(super) streaming: Streaming,
    pub(super) input: Option<Input>,
    pub(super) idle: Option<Duration>,
}

impl Wanted {
    pub(super) fn sandbox(&self) -> &str {
        self.sandbox.as_deref().unwrap_or(DEFAULT)
    }

    pub(super) fn words(&self) -> Vec<String> {
        [&self.command].into_iter().chain(&self.args).cloned().collect()
    }

    /// Checks what can be checked before a place is had. `usual` is the sandbox's own time limit,
    /// `idle` how long those may be idle that are talked to.
    pub(super) fn terms(self, token: &TokenLimits, usual: f64, idle: Duration) -> Result<Terms, Problem> {
        if self.command.is_empty() {
            return Err(invalid("name a program").at("command"));
        }
        let kind = match (self.terminal, self.interactive) {
            (Some(_), _) => Kind::Terminal,
            (None, true) => Kind::Interactive,
            (None, false) => Kind::Batch,
        };
        let terminal = self.terminal.map(Size::checked).transpose()?;
        let timeout = timeout(self.timeout, token.max_timeout_sec, kind, usual)?;
        let idle = match self.idle_timeout_sec {
            _ if !kind.is_talked_to() => None,
            None => Some(idle),
            Some(wanted) => Some(seconds(wanted).filter(|wanted| *wanted <= idle).ok_or_else(|| {
                let detail = format!("must be more than 0 and at most {} seconds", idle.as_secs());
                invalid(detail).at("idle_timeout_sec")
            })?),
        };
        let Limits { cpu_percent, memory_mb, max_pids, disk_mb } = self.limits;
        let first = Bytes::from(self.stdin.into_bytes());
        let (stdin, input) = match kind {
            Kind::Batch if first.is_empty() => (Stdin::default(), None),
            Kind::Batch => (Stdin::from(first.to_vec()), None),
            _ => {
                let (stdin, input) = typed(first);
                (stdin, Some(input))
            }
        };
        let spec = RunProgramSpec {
            cmd: self.command,
            args: self.args,
            env: self.env,
            cwd: self.cwd,
            timeout,
            limits: ProgramLimits { cpu_percent, memory_mb, max_pids, disk_mb },
            ..RunProgramSpec::default()
        };
        let streaming = Streaming { stdin, terminal, keeps_output: true };
        Ok(Terms { kind, spec, streaming, input, idle })
    }
}

fn seconds(value: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(value).ok().filter(|time| !time.is_zero())
}

/// The time limit of a program. `None` is the sandbox's own.
fn timeout(
    asked: Option<f64>,
    most: Option<f64>,
    kind: Kind,
    usual: f64,
) -> Result<Option<Duration>, Problem> {
    /// For those that are talked to.
    const HOUR: f64 = 3600.0;
    /// No program takes longer.
    const DAY: f64 = 86_400.0;
    let most = most.unwrap_or(DAY).min(DAY);
    match asked {
        Some(asked) if asked > most => {
            Err(invalid(format!("programs of this token may take {most} s at most")).at("timeout"))
        }
        Some(asked) => match seconds(asked) {
            Some(asked) => Ok(Some(asked)),
            None => Err(invalid("must be more than 0 seconds").at("timeout")),
        },
        None if kind.is_talked_to() => Ok(seconds(HOUR.min(most))),
        None => Ok(if usual > most { seconds(most) } else { None }),
    }
}

/// What is typed: first what the request has, and then what comes.
fn typed(first: Bytes) -> (Stdin, Input) {
    /// Pieces that may wait for the program to read.
    const WAITING: usize = 8;
    let (input, received) = mpsc::channel::<io::Result<Bytes>>(WAITING);
    let first = Some(first).filter(|first| !first.is_empty());
    let pieces = stream::unfold((first, received), |(mut first, mut received)| async move {
        let piece = match first.take() {
            Some(piece) => Some(Ok(piece)),
            None => received.recv().await,
        };
        piece.map(|piece| (piece, (first, received)))
    });
    (stdin_from_stream(pieces), input)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::runs::from_json;

    const IDLE: Duration = Duration::from_secs(60);

    fn terms(body: serde_json::Value, most: Option<f64>) -> Result<Terms, Option<String>> {
        let token = TokenLimits { max_timeout_sec: most, ..TokenLimits::default() };
        let read = from_json::<Wanted>(body).and_then(|wanted| wanted.terms(&token, 30.0, IDLE));
        read.map_err(|problem| problem.field().map(str::to_owned))
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (body, field) in [
            (json!({}), "command"),
            (json!({"command": ""}), "command"),
            (json!({"command": "a", "comand": 1}), "comand"),
            (json!({"command": "a", "limits": {"memory": 1}}), "limits.memory"),
            (json!({"command": "a", "terminal": {"rows": 0}}), "rows"),
            (json!({"command": "a", "timeout": -1}), "timeout"),
            (json!({"command": "a", "timeout": 1e9}), "timeout"),
            (json!({"command": "a", "interactive": true, "idle_timeout_sec": 61}), "idle_timeout_sec"),
        ] {
            let named = terms(body.clone(), None).err().flatten();
            assert!(named.as_deref().is_some_and(|named| field.starts_with(named)), "{body}: {named:?}");
        }
        assert_eq!(
            terms(json!({"command": "a", "timeout": 6}), Some(5.0)).err(),
            Some(Some("timeout".into()))
        );
    }

    #[test]
    fn a_program_has_the_time_that_its_token_allows() {
        let timeout = |body, most| terms(body, most).ok().and_then(|terms| terms.spec.timeout);
        assert_eq!(timeout(json!({"command": "a"}), None), None, "the sandbox's own");
        assert_eq!(timeout(json!({"command": "a"}), Some(5.0)), Some(Duration::from_secs(5)));
        assert_eq!(
            timeout(json!({"command": "a", "timeout": 2.5}), Some(5.0)),
            Some(Duration::from_millis(2500))
        );
        let shell = json!({"command": "sh", "terminal": {}});
        assert_eq!(timeout(shell.clone(), None), Some(Duration::from_secs(3600)));
        assert_eq!(timeout(shell, Some(5.0)), Some(Duration::from_secs(5)));
    }
}
