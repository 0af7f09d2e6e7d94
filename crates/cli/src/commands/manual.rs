//! `belljar completions` and `belljar man`: what `--help` says, for shells and for `man`.
//!
//! Both are made from the command line's own definition, so they are never out of date.
//! `scripts/deb` puts them into the package.

use std::path::Path;
use std::{fs, io};

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::{Arguments, CompletionsArgs, ManArgs};
use crate::error::CliError;
use crate::exit::End;
use crate::printer::{Output, Printer};

pub(super) fn completions(options: &CompletionsArgs) -> Result<End, CliError> {
    let (mut command, mut script) = (Arguments::command(), Vec::new());
    let name = command.get_name().to_owned();
    clap_complete::generate(options.shell, &mut command, name, &mut script);
    print(&script)
}

pub(super) fn man(options: &ManArgs) -> Result<End, CliError> {
    let command = documented();
    let Some(directory) = &options.out else {
        let mut page = Vec::new();
        page_of(&command).render(&mut page).map_err(CliError::Output)?;
        return print(&page);
    };
    let cannot = || format!("cannot write manual pages to {}", directory.display());
    fs::create_dir_all(directory).with_context(cannot)?;
    write_pages(&command, directory).with_context(cannot)?;
    Ok(End::Done)
}

/// The command with everything that has a page.
fn documented() -> clap::Command {
    // `belljar help` has no page: it is what pages are instead of.
    let mut command = Arguments::command().disable_help_subcommand(true);
    // Only this gives subcommands their full names.
    command.build();
    command
}

/// Writes the page of a command, and those of all commands below it.
fn write_pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    page_of(command).generate_to(directory)?;
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    below.into_iter().try_for_each(|below| write_pages(below, directory))
}

/// A page whose foot says which program and version it belongs to. By itself a subcommand would
/// only say its own name.
fn page_of(command: &clap::Command) -> Man {
    Man::new(command.clone()).source(concat!("belljar ", env!("CARGO_PKG_VERSION"))).manual("Belljar")
}

fn print(text: &[u8]) -> Result<End, CliError> {
    Printer::new(Output::Human).text(&String::from_utf8_lossy(text))?;
    Ok(End::Done)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;

    use super::*;

    /// The names of a command and those below it: `belljar`, `belljar-ws`, `belljar-ws-new`. They
    /// are put together here, and not by clap.
    fn names(command: &clap::Command, before: &str, found: &mut BTreeSet<String>) {
        let name = format!("{before}{}", command.get_name());
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            names(below, &format!("{name}-"), found);
        }
        found.insert(name);
    }

    fn pages() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        write_pages(&documented(), directory.path()).unwrap();
        directory
    }

    /// The headings under which a page says nothing.
    fn empty_sections(page: &str) -> Vec<&str> {
        let sections = page.split("\n.SH ").skip(1);
        let is_empty = |text: &str| text.lines().skip(1).all(|line| line.trim().is_empty());
        sections.filter(|text| is_empty(text)).filter_map(|text| text.lines().next()).collect()
    }

    #[test]
    fn every_command_has_a_page_and_there_are_no_others() {
        let mut commands = BTreeSet::new();
        names(&Arguments::command(), "", &mut commands);
        assert!(commands.contains("belljar-docker-prune"), "{commands:?}");
        let directory = pages();
        let files = fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().file_name());
        let pages: BTreeSet<_> =
            files.map(|name| name.to_str().unwrap().strip_suffix(".1").unwrap().to_owned()).collect();
        assert_eq!(pages, commands);
    }

    #[test]
    fn a_section_with_only_a_heading_is_seen_as_empty() {
        let page = ".TH a 1\n.SH NAME\na\n.SH OPTIONS\n\n.SH VERSION\n";
        assert_eq!(empty_sections(page), ["OPTIONS", "VERSION"]);
    }

    #[test]
    fn pages_are_whole_and_have_no_colours() {
        let directory = pages();
        for file in fs::read_dir(directory.path()).unwrap() {
            let path = file.unwrap().path();
            let page = fs::read_to_string(&path).unwrap();
            assert_eq!(empty_sections(&page), Vec::<&str>::new(), "{}", path.display());
            assert!(!page.contains('\u{1b}'), "{} has an escape sequence", path.display());
            let foot = concat!("\"belljar ", env!("CARGO_PKG_VERSION"), "\" Belljar\n");
            assert!(page.contains(foot), "{}: {page}", path.display());
        }
    }

    #[test]
    fn groff_has_nothing_to_say_against_any_page() {
        let directory = pages();
        for file in fs::read_dir(directory.path()).unwrap() {
            let path = file.unwrap().path();
            let checked = Command::new("groff").args(["-Kutf8", "-man", "-ww", "-z"]).arg(&path).output();
            match checked {
                Ok(checked) => {
                    let said = String::from_utf8_lossy(&checked.stderr);
                    assert!(checked.status.success() && said.is_empty(), "{}: {said}", path.display());
                }
                Err(error) => return println!("groff: skipped ({error})"),
            }
        }
    }
}
