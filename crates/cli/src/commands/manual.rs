//! `belljar completions` and `belljar man`: what `--help` says, for shells and for `man`.
//!
//! Both are made from the command line's own definition, so they are never out of date.

use std::fs;

use anyhow::Context;
use clap::CommandFactory;

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
    // `belljar help` has no page: it is what pages are instead of.
    let command = Arguments::command().disable_help_subcommand(true);
    let Some(directory) = &options.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(CliError::Output)?;
        return print(&page);
    };
    let cannot = || format!("cannot write manual pages to {}", directory.display());
    fs::create_dir_all(directory).with_context(cannot)?;
    clap_mangen::generate_to(command, directory).with_context(cannot)?;
    Ok(End::Done)
}

fn print(text: &[u8]) -> Result<End, CliError> {
    Printer::new(Output::Human).text(&String::from_utf8_lossy(text))?;
    Ok(End::Done)
}
