//! Files in the repository that are rendered from code. A test compares them. `make reference`
//! writes them.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read and write the repository; the crate itself does no I/O"
)]

use std::fs;
use std::path::Path;

use crate::environment::{self, Reader};
use crate::remedies::{self, Remedy};
use crate::{ExitCode, Verdict, metrics, wire};

/// `make reference` sets this.
const WRITE: &str = "BELLJAR_WRITE_REFERENCE";

#[test]
fn generated_files_are_what_the_code_says() {
    let pages = [
        ("crates/core/schema/wire-1.json", wire::schema::rendered()),
        ("docs/reference/exit-codes.md", exit_codes()),
        ("docs/reference/environment.md", environment()),
        ("docs/reference/metrics.md", metrics()),
        ("docs/reference/remedies.md", remedies()),
    ];
    for (path, rendered) in pages {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        if std::env::var_os(WRITE).is_some() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, rendered).unwrap();
            continue;
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            kept == rendered,
            "{path} is not what the code says: run `make reference` and look at the diff"
        );
    }
}

#[test]
fn no_variable_is_named_and_left_out_of_the_page() {
    let source = include_str!("environment.rs");
    let names = source.lines().filter(|line| line.starts_with("pub const ") && line.contains(": &str = "));
    assert_eq!(names.count(), environment::ALL.len());
    for variable in environment::ALL {
        assert!(source.contains(&format!(": &str = \"{}\";", variable.name)), "{}", variable.name);
    }
}

#[test]
fn no_metric_is_named_and_left_out_of_the_page() {
    let source = include_str!("metrics.rs");
    let named = source.matches(": Metric =").count();
    let all = || metrics::ALL.into_iter().chain(metrics::OF_THE_SERVER);
    let names: std::collections::BTreeSet<_> = all().map(|metric| metric.name).collect();
    assert_eq!((named, names.len()), (all().count(), all().count()));
    for metric in all() {
        let unit = if metric.kind == metrics::Kind::Counter { "_total" } else { "" };
        assert!(metric.name.starts_with("belljar_") && metric.name.ends_with(unit), "{}", metric.name);
    }
}

#[test]
fn no_remedy_is_named_and_left_out_of_the_page() {
    let named = include_str!("remedies.rs").matches(": Remedy =").count();
    let names: std::collections::BTreeSet<_> = remedies::ALL.iter().map(|remedy| remedy.name).collect();
    assert_eq!((named, names.len()), (remedies::ALL.len(), remedies::ALL.len()));
}

/// Tells the reader of a page where it comes from.
const NOTICE: &str = "<!-- Written by `make reference`; change the code instead. -->\n";

fn remedies() -> String {
    let mut page = format!(
        "# Remedies\n\n{NOTICE}\nWhat `belljar doctor` advises where something cannot be enforced. \
         `make test-vm-remedies` follows each that a stock machine can need, and names the others.\n\n| name | when | what to do |\n|---|---|---|\n"
    );
    for Remedy { name, when, text } in remedies::ALL {
        page += &format!("| `{name}` | {when} | {text} |\n");
    }
    page
}

fn exit_codes() -> String {
    let mut page = format!(
        "# Exit codes\n\n{NOTICE}\nEvery `belljar` command ends with one of these.\n\n\
         | code | meaning | verdicts |\n|---|---|---|\n"
    );
    for code in ExitCode::ALL {
        let verdicts = Verdict::examples().into_iter().filter(|verdict| ExitCode::from(verdict) == code);
        let verdicts: Vec<_> = verdicts.map(|verdict| format!("`{}`", verdict.name())).collect();
        page += &format!("| {} | {} | {} |\n", code.number(), code.meaning(), verdicts.join(", "));
    }
    page
}

/// Wraps text as the manual is wrapped: at 100 columns, each line but the first after `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    const WIDTH: usize = 100;
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        let width = line.chars().count() + 1 + word.chars().count();
        if line.trim().is_empty() {
            line.push_str(word);
        } else if width <= WIDTH {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(format!("{indent}{word}"));
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn no_line_of_prose_is_too_wide() {
    for page in [environment(), metrics()] {
        for line in page.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

fn environment() -> String {
    let mut page = format!("# Environment variables\n\n{NOTICE}\nNone of these is needed.\n");
    for (reader, title, about) in [
        (Reader::Command, "The command", "Read by `belljar` alone. Options that are typed win."),
        (Reader::Library, "The library", "Read by the command too. What a program sets in code wins."),
        (Reader::Docker, "The docker engine", "As Docker's own client reads them."),
    ] {
        page += &format!("\n## {title}\n\n{about}\n\n");
        for variable in environment::ALL.iter().filter(|variable| variable.reader == reader) {
            page += &wrapped(&format!("* `{}`: {}", variable.name, variable.meaning), "  ");
        }
    }
    let installers = "Packages are installed with the settings of `pip` and `uv` in the environment \
                      (`PIP_INDEX_URL`, `UV_INDEX`, …), but for those that would change where packages go.";
    let secrets = "The names in a sandbox's `secrets`, and those given to `--secret`, are looked up in the \
                   command's environment, unless `--secret NAME=SOURCE` or a `--secrets-file` has their values. \
                   The names in a tool file are not.";
    page + &format!("\n## Installers and secrets\n\n{}\n{}", wrapped(installers, ""), wrapped(secrets, ""))
}

fn metrics() -> String {
    let about = "Belljar counts through the `metrics` facade. Nothing is kept until a program installs a \
                 recorder, which it must do before it opens a sandbox.";
    let mut page =
        format!("# Metrics\n\n{NOTICE}\n{}\n| metric | kind | labels |\n|---|---|---|\n", wrapped(about, ""));
    let mut meanings = String::new();
    for metrics::Metric { name, kind, labels, meaning } in
        metrics::ALL.into_iter().chain(metrics::OF_THE_SERVER)
    {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        page += &format!("| `{name}` | {} | {} |\n", kind.name(), labels.join(", "));
        meanings += &wrapped(&format!("* `{name}`: {meaning}"), "  ");
    }
    let verdicts: Vec<_> = Verdict::NAMES.iter().map(|name| format!("`{name}`")).collect();
    let verdicts = format!("The verdicts of runs are {}, and `{}`.", verdicts.join(", "), metrics::ABANDONED);
    page + &format!("\n## What they say\n\n{meanings}\n{}", wrapped(&verdicts, ""))
}
