//! Completions and manual pages say what `--help` says.

use std::fs;
use std::process::Command;

use crate::belljar::belljar;

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let outcome = belljar(&["completions", shell], "");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{shell}");
        for known in ["doctor", "prune", "dry-run", "execution-id", "interactive"] {
            assert!(outcome.stdout.contains(known), "{shell} does not know {known}");
        }
    }
    assert_eq!(belljar(&["completions", "tcsh"], "").code, Some(2));
}

/// A shell reads the script without running it. One that is not installed is skipped.
#[test]
fn shells_parse_their_scripts() {
    let directory = tempfile::tempdir().unwrap();
    for (shell, only_parse) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let script = directory.path().join(shell);
        fs::write(&script, belljar(&["completions", shell], "").stdout).unwrap();
        match Command::new(shell).arg(only_parse).arg(&script).output() {
            Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {output:?}"),
            Err(error) => println!("{shell}: skipped ({error})"),
        }
    }
}

#[test]
fn bash_completes_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("belljar.bash");
    fs::write(&script, belljar(&["completions", "bash"], "").stdout).unwrap();
    let complete = format!(
        "source '{}' && COMP_WORDS=(belljar docker prune --d) COMP_CWORD=3 && _belljar belljar --d prune && \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let output = match Command::new("bash").args(["--norc", "-c", &complete]).output() {
        Ok(output) => output,
        Err(error) => return println!("bash: skipped ({error})"),
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout), "--dry-run\n", "{output:?}");
}

#[test]
fn there_is_a_page_for_each_command() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("new/man1");
    let outcome = belljar(&["man", "--out", pages.to_str().unwrap()], "");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), ""), "{outcome:#?}");
    for (page, says) in [
        ("belljar.1", "belljar\\-shell(1)"),
        ("belljar-run.1", "execution\\-id"),
        ("belljar-docker-prune.1", "dry\\-run"),
        ("belljar-man.1", "Write one page"),
    ] {
        let text = fs::read_to_string(pages.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(text.contains(".TH ") && text.contains(says), "{page}: {text}");
    }
    let one = belljar(&["man"], "");
    assert_eq!(one.stdout, fs::read_to_string(pages.join("belljar.1")).unwrap());
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_that_names_it() {
    let outcome = belljar(&["man", "--out", "/proc/nowhere"], "");
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("cannot write manual pages to /proc/nowhere"), "{outcome:#?}");
}
