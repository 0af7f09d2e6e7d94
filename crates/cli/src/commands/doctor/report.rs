//! What `doctor` found out, for programs and for people.

use std::fmt::Write as _;

use belljar::engine::{ProtectionState, ProtectionStatus};
use owo_colors::OwoColorize;
use serde::Serialize;

use crate::terminal_text::quoted;

/// Everything that `doctor` found out.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// Whether cells can be made.
    pub(super) ok: bool,
    pub(super) protections: Vec<Row>,
    pub(super) checks: Vec<Row>,
}

#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) state: Health,
    /// What it is for, or what there is instead.
    pub(super) detail: String,
    /// Why it is not in force.
    pub(super) reason: Option<String>,
    /// What to do about it.
    pub(super) remedy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Health {
    Active,
    Degraded,
    Missing,
    Ok,
    Failed,
}

impl Row {
    pub(super) fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: Health::Ok, detail: detail.into(), reason: None, remedy: None }
    }

    pub(super) fn bad(name: &'static str, detail: String, remedy: Option<&str>) -> Self {
        Self { name, state: Health::Failed, detail, reason: None, remedy: remedy.map(str::to_owned) }
    }

    pub(super) fn of(protection: &ProtectionStatus) -> Self {
        let ProtectionStatus { name, purpose, state } = protection;
        let set = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let (state, detail, reason, remedy) = match state {
            ProtectionState::Active { detail } if detail.is_empty() => {
                (Health::Active, (*purpose).to_owned(), None, None)
            }
            ProtectionState::Active { detail } => {
                (Health::Active, format!("{purpose} ({detail})"), None, None)
            }
            ProtectionState::Degraded { reason, instead, remedy } => {
                (Health::Degraded, instead.clone(), set(reason), set(remedy))
            }
            ProtectionState::Missing { reason, remedy } => {
                (Health::Missing, (*purpose).to_owned(), set(reason), set(remedy))
            }
        };
        Self { name, state, detail, reason, remedy }
    }
}

impl Report {
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for (title, rows) in [("Protections", &self.protections), ("Machine", &self.checks)] {
            if !rows.is_empty() {
                let _ = writeln!(text, "{}", title.bold());
                for (at, row) in rows.iter().enumerate() {
                    row.write(&mut text);
                    // What is true of several rows is said once, after the last of them.
                    let later = &rows[at + 1..];
                    let reason =
                        row.reason.as_ref().filter(|_| later.iter().all(|it| it.reason != row.reason));
                    let remedy =
                        row.remedy.as_ref().filter(|_| later.iter().all(|it| it.remedy != row.remedy));
                    for (lead, said) in [("because", reason), ("→", remedy)] {
                        if let Some(said) = said {
                            let _ = writeln!(text, "  {:<28}{lead} {}", "", quoted(said));
                        }
                    }
                }
                text.push('\n');
            }
        }
        let weak = self.protections.iter().filter(|row| row.state != Health::Active).count();
        text.push_str(&match (self.ok, weak) {
            (true, 0) => "Cells can be made here, with every protection.\n".to_owned(),
            (true, 1) => "Cells can be made here, but one protection is degraded or missing.\n".to_owned(),
            (true, weak) => {
                format!("Cells can be made here, but {weak} protections are degraded or missing.\n")
            }
            (false, _) => "No cell can be made here.\n".to_owned(),
        });
        text
    }
}

impl Row {
    fn write(&self, text: &mut String) {
        let state = match self.state {
            Health::Active | Health::Ok => format!("{:<9}", self.state.word()).green().to_string(),
            Health::Degraded => format!("{:<9}", self.state.word()).yellow().to_string(),
            Health::Missing | Health::Failed => format!("{:<9}", self.state.word()).red().to_string(),
        };
        let _ = writeln!(text, "  {:<18}{state} {}", self.name, quoted(&self.detail));
    }
}

impl Health {
    fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
            Self::Ok => "ok",
            Self::Failed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_its_remedy_on_a_line_of_its_own() {
        let state = ProtectionState::Missing {
            reason: "the kernel has none".into(),
            remedy: "use a newer kernel".into(),
        };
        let row = Row::of(&ProtectionStatus { name: "landlock", purpose: "x", state });
        let report = Report { ok: true, protections: vec![row], checks: Vec::new() };
        let text = anstream::adapter::strip_str(&report.to_text()).to_string();
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>().join(" "), "landlock missing x");
        assert_eq!(lines[2..4], ["because the kernel has none", "→ use a newer kernel"]);
        assert!(text.ends_with("but one protection is degraded or missing.\n"), "{text}");
    }

    #[test]
    fn what_is_true_of_several_is_said_once() {
        let lacking = |name| {
            let state = ProtectionState::Degraded {
                reason: "nobody hands groups out".into(),
                instead: format!("less than {name}"),
                remedy: "run as root".into(),
            };
            Row::of(&ProtectionStatus { name, purpose: "x", state })
        };
        let rows = ["cgroup_memory", "cgroup_pids"].map(lacking).into();
        let text = Report { ok: true, protections: rows, checks: Vec::new() }.to_text();
        let said: Vec<_> =
            text.matches("less than").chain(text.matches("nobody")).chain(text.matches("run as")).collect();
        assert_eq!(said, ["less than", "less than", "nobody", "run as"], "{text}");
    }

    #[test]
    fn the_json_looks_like_this() {
        let lacking = |reason: &str| ProtectionState::Degraded {
            reason: reason.into(),
            instead: "less".into(),
            remedy: "do this".into(),
        };
        let missing = ProtectionState::Missing {
            reason: "the kernel has none".into(),
            remedy: "use a newer one".into(),
        };
        let states = [
            ("seccomp", ProtectionState::Active { detail: "on".into() }),
            ("cgroup_cpu", lacking("no")),
            ("landlock", missing),
        ];
        let row = |(name, state)| Row::of(&ProtectionStatus { name, purpose: "what it is for", state });
        let report = Report {
            ok: true,
            protections: states.map(row).into(),
            checks: vec![
                Row::good("kernel", "Linux 6.18"),
                Row::bad("cache", "cannot be written".into(), Some("set BELLJAR_CACHE")),
                Row::bad("first run", "it failed".into(), None),
            ],
        };
        insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
    }
}
