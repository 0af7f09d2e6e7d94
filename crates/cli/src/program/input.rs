//! What a program reads.

use std::io::{self, IsTerminal};

use belljar::files::{Stdin, stdin_from_reader};

use crate::args::InputArgs;
use crate::files::{is_in_the_background, is_nothing};

/// This process's own stdin, unless a person could type into it who was not asked to.
pub(crate) fn stdin(options: &InputArgs) -> Stdin {
    let is_typed = io::stdin().is_terminal() && !options.stdin;
    match options.no_stdin || is_typed || is_nothing() || is_in_the_background() {
        true => Stdin::Empty,
        false => stdin_from_reader(io::stdin()),
    }
}
