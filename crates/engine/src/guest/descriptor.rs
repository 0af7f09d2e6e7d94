//! What a language is to Belljar: everything that the engines ask about it.
//!
//! ```text
//!  provision  which interpreter, which image, how dependencies get into their layer
//!  files      what is put into a guest, and under which names
//!  command    how that is started: as a parent of cells, or as one cell
//!  spawn      how a cell gets a process that has never run a script
//! ```
//!
//! [`PYTHON`](super::PYTHON) is the only one. A second language is a second value of this type, and
//! what speaks the wire (`belljar_core::wire`) on the descriptor `belljar_core::layout::CHANNEL`.

/// A language whose scripts cells can run.
#[derive(Debug)]
pub struct Guest {
    /// Its name, in messages.
    pub name: &'static str,
    /// Where its interpreter and dependencies come from.
    pub provision: Provision,
    /// What is put into a guest. Paths are below the place that the engine chooses.
    pub files: &'static [GuestFile],
    /// Which of the files is started.
    pub entry: &'static str,
    /// Arguments of the interpreter before the entry. They keep it from reading anything of the
    /// guest's.
    pub arguments: &'static [&'static str],
    /// How a cell gets a fresh process.
    pub spawn: Spawn,
    /// Variables that its programs need, besides those that every guest has.
    pub variables: &'static [(&'static str, &'static str)],
}

/// Where an interpreter and its packages come from.
///
/// On the host, [`crate::python`] finds the interpreter and [`crate::builder`] fills the layer. In
/// an image, the base brings the interpreter and one command fills the layer.
#[derive(Debug)]
pub struct Provision {
    /// The interpreter's program in an image.
    pub program: &'static str,
    /// The version to take when a config names none.
    pub version: &'static str,
    /// The image that has a version.
    pub image: fn(version: &str) -> String,
    /// Where packages are in a guest.
    pub layer: &'static str,
    /// The command that fills the layer in an image, from a file with requirements.
    pub install: fn(layer: &str, requirements: &str, allow_source_builds: bool) -> String,
}

/// A file that is put into every guest of a language.
#[derive(Debug, Clone, Copy)]
pub struct GuestFile {
    /// Where, below the engine's place.
    pub path: &'static str,
    /// What is in it.
    pub text: &'static str,
}

/// How a cell gets a process that has never run a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spawn {
    /// One process loads everything once and is copied for every cell. Needs an interpreter that
    /// can be forked: the native engine's zygote and the supervisor in a container do it.
    Fork,
    /// Every cell is a process from its first instruction. Any interpreter can do that.
    Exec {
        /// The descriptor that its channel is open on. The guest moves it to `layout::CHANNEL`.
        channel: u16,
    },
}

impl Guest {
    /// Where one of its files is when they are put into `home`.
    pub fn place(home: &str, path: &str) -> String {
        format!("{home}/{path}")
    }

    /// The command line that runs a program of ours in this language, with the interpreter at
    /// `program`.
    pub fn run(&self, program: &str, file: String) -> Vec<String> {
        let arguments = self.arguments.iter().map(|&argument| argument.to_owned());
        std::iter::once(program.to_owned()).chain(arguments).chain([file]).collect()
    }

    /// The command line for files in `home`, with the interpreter at `program`. With
    /// [`Spawn::Fork`] it starts the parent of cells. With [`Spawn::Exec`] it starts one cell.
    pub fn command(&self, program: &str, home: &str, spawn: Spawn) -> Vec<String> {
        let mut command = self.run(program, Self::place(home, self.entry));
        if let Spawn::Exec { channel } = spawn {
            command.extend(["--channel".to_owned(), channel.to_string()]);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::super::PYTHON;
    use super::*;

    #[test]
    fn the_entry_is_one_of_the_files() {
        assert!(PYTHON.files.iter().any(|file| file.path == PYTHON.entry));
    }

    #[test]
    fn a_cell_of_its_own_is_told_its_channel_and_a_parent_of_cells_is_not() {
        let fork = PYTHON.command("/usr/bin/python3", "/home", Spawn::Fork);
        assert_eq!(fork, ["/usr/bin/python3", "-I", "-S", "-B", "/home/harness.py"]);
        let exec = PYTHON.command("/usr/bin/python3", "/home", Spawn::Exec { channel: 0 });
        assert_eq!(exec[fork.len()..], ["--channel", "0"]);
    }
}
