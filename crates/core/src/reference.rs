//! Files in the repository that are rendered from code. A test compares them. `make reference`
//! writes them.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read and write the repository; the crate itself does no I/O"
)]

use std::fs;
use std::path::Path;

use crate::environment::{self, Reader};
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
    let names: std::collections::BTreeSet<_> = metrics::ALL.iter().map(|metric| metric.name).collect();
    assert_eq!((named, names.len()), (metrics::ALL.len(), metrics::ALL.len()));
    for metric in metrics::ALL {
        let unit = if metric.kind == metrics::Kind::Counter { "_total" } else { "" };
        assert!(metric.name.starts_with("belljar_") && metric.name.ends_with(unit), "{}", metric.name);
    }
}

/// Tells the reader of a page where it comes from.
const NOTICE: &str = "<!-- Written by `make reference`; change the code instead. -->\n";

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

fn environment() -> String {
    let mut page = format!("# Environment variables\n\n{NOTICE}\nNone of these is needed.\n");
    for (reader, title, about) in [
        (Reader::Command, "The command", "Read by `belljar` alone. Options that are typed win."),
        (Reader::Library, "The library", "Read by the command too. What a program sets in code wins."),
        (Reader::Docker, "The docker engine", "As Docker's own client reads them."),
    ] {
        page += &format!("\n## {title}\n\n{about}\n\n| variable | meaning |\n|---|---|\n");
        for variable in environment::ALL.iter().filter(|variable| variable.reader == reader) {
            page += &format!("| `{}` | {} |\n", variable.name, variable.meaning);
        }
    }
    page + "\n## Installers and secrets\n\n\
            Packages are installed with the settings of `pip` and `uv` in the environment (`PIP_INDEX_URL`, `UV_INDEX`, …), \
            but for those that would change where packages go.\n\n\
            The names in a sandbox's `secrets`, and those given to `--secret`, are looked up in the command's environment.\n"
}

fn metrics() -> String {
    let mut page = format!(
        "# Metrics\n\n{NOTICE}\nBelljar counts through the `metrics` facade. Nothing is kept until a program installs a \
         recorder, which it must do before it opens a sandbox.\n\n\
         | metric | kind | labels | meaning |\n|---|---|---|---|\n"
    );
    for metrics::Metric { name, kind, labels, meaning } in metrics::ALL {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        page += &format!("| `{name}` | {} | {} | {meaning} |\n", kind.name(), labels.join(", "));
    }
    let verdicts: Vec<_> = Verdict::NAMES.iter().map(|name| format!("`{name}`")).collect();
    page + &format!("\nThe verdicts of runs are {}, and `{}`.\n", verdicts.join(", "), metrics::ABANDONED)
}
