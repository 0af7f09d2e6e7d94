//! The shell's own commands: entries that begin with a colon, which no Python does.
//!
//! A new command is a row in [`COMMANDS`], an [`Action`], and a branch in `commands::shell`. The
//! help, the completion of names and the errors follow from the row.

use anyhow::{Result, bail};

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Help,
    Variables,
    Files,
    Get,
    Put,
    Reset,
    Timeout,
    Quit,
}

struct Command {
    /// With its colon.
    name: &'static str,
    /// Empty if it takes none.
    argument: &'static str,
    /// In the help, as a sentence without a full stop.
    about: &'static str,
    action: Action,
}

const fn command(name: &'static str, argument: &'static str, about: &'static str, action: Action) -> Command {
    Command { name, argument, about, action }
}

/// All commands, in the order of the help.
const COMMANDS: [Command; 8] = [
    command(":help", "", "Show this", Action::Help),
    command(":vars", "", "List the variables, without running any of their code", Action::Variables),
    command(":files", "", "List the files in the session's directory", Action::Files),
    command(":get", "NAME [HERE]", "Copy a file out of the session", Action::Get),
    command(":put", "HERE [NAME]", "Copy a file or directory into the session", Action::Put),
    command(":reset", "", "Begin anew in a fresh cell: variables and files are gone", Action::Reset),
    command(":timeout", "[SECS]", "Show how long a step may take, or change it", Action::Timeout),
    command(":quit", "", "Leave. So do Ctrl-D, exit and quit", Action::Quit),
];

/// Entries that leave the shell, as at Python's own prompt.
const LEAVE: [&str; 4] = ["exit", "exit()", "quit", "quit()"];

/// What the keys do, for the help.
const KEYS: [(&str, &str); 5] = [
    ("Tab", "Complete names, attributes, keys and modules"),
    ("Ctrl-C", "Stop a step and keep the variables. Again: end its cell"),
    ("Ctrl-R", "Search the history, without lines that begin with a space"),
    ("Ctrl-D", "Leave"),
    ("_", "In Python: the last value shown"),
];

/// The command that an entry is, and its argument. `None` if the entry is Python.
pub(crate) fn parse(entry: &str) -> Result<Option<(Action, &str)>> {
    let entry = entry.trim();
    if LEAVE.contains(&entry) {
        return Ok(Some((Action::Quit, "")));
    }
    if !entry.starts_with(':') {
        return Ok(None);
    }
    let (name, argument) = entry.split_once(char::is_whitespace).unwrap_or((entry, ""));
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        bail!("there is no command {name}; :help lists them");
    };
    if command.argument.is_empty() && !argument.is_empty() {
        bail!("{name} takes nothing after its name");
    }
    Ok(Some((command.action, argument.trim())))
}

/// The commands that begin like this.
pub(super) fn beginning_with(begun: &str) -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name).filter(move |name| name.starts_with(begun))
}

/// The help: commands, then keys.
pub(crate) fn help() -> String {
    let commands = COMMANDS.iter().map(|each| (format!("{} {}", each.name, each.argument), each.about));
    let keys = KEYS.iter().map(|(key, about)| ((*key).to_owned(), *about));
    commands.chain(keys).map(|(name, about)| format!("  {name:<19}{about}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_is_no_command() {
        for entry in ["x = 1", "", "exit(3)", "quitter", "{1: 2}"] {
            assert_eq!(parse(entry).unwrap(), None, "{entry}");
        }
    }

    #[test]
    fn a_command_is_known_by_its_name() {
        assert_eq!(parse(":vars\n").unwrap(), Some((Action::Variables, "")));
        assert_eq!(parse(" :timeout  2.5 ").unwrap(), Some((Action::Timeout, "2.5")));
        assert_eq!(parse("exit()\n").unwrap(), Some((Action::Quit, "")));
        let unknown = parse(":nothing x").unwrap_err().to_string();
        assert_eq!(unknown, "there is no command :nothing; :help lists them");
        assert!(parse(":vars x").unwrap_err().to_string().contains(":vars takes nothing"));
    }

    #[test]
    fn the_help_has_every_command() {
        let help = help();
        for command in &COMMANDS {
            assert!(help.contains(command.name) && help.contains(command.about), "{help}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert_eq!(beginning_with(":t").collect::<Vec<_>>(), [":timeout"]);
    }
}
