//! Why a request cannot be fulfilled, by what it says alone.

use crate::GuestPathError;

/// Why a script cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It is empty, or has only white space.
    #[error("the script is empty: there is nothing to run")]
    Empty,
    /// It has a NUL, which Python refuses in source text.
    #[error("the script has a NUL byte at line {line}: Python source text cannot hold one")]
    Nul {
        /// The line, from 1.
        line: usize,
    },
    /// An argument has a NUL, which no program can be given.
    #[error("argument {number} has a NUL byte, which no program can be given")]
    NulInArgument {
        /// Which one, from 1.
        number: usize,
    },
    /// The arguments are longer than Linux lets any program have them.
    #[error("the arguments are {bytes} bytes long, and at most {most} can be given")]
    LongArguments {
        /// All of them together.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// It is no name of a file.
    #[error(
        "{name:?} is no file name for a script: it must be a name without a directory, of at most 255 bytes"
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// A variable cannot be set.
    #[error("the request's {reason}")]
    Env {
        /// Which, and why.
        reason: String,
    },
    /// A file cannot have that place.
    #[error("a file cannot be put into the workspace: {0}")]
    File(#[from] GuestPathError),
    /// Two files cannot have the same place.
    #[error("two files are to be at {path:?} in the workspace: give one of them another name")]
    SamePlace {
        /// Where.
        path: String,
    },
    /// It is no pattern.
    #[error("{pattern:?} is no pattern for files: {reason}")]
    Pattern {
        /// What was given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It has the mark of UTF-8 and says that it is encoded in another way.
    #[error(
        "the script begins with the mark of UTF-8 and says that it is encoded as {encoding}: remove one of the two"
    )]
    MarkedOtherwise {
        /// What its first lines say.
        encoding: String,
    },
    /// It is not encoded as it says.
    #[error("the script says that it is encoded as {encoding}, and is not: save it as UTF-8")]
    OtherEncoding {
        /// What its first lines say.
        encoding: String,
    },
    /// It says that it is encoded in a way that is not known here.
    #[error("the script says that it is encoded as {encoding}, which is not known here: save it as UTF-8")]
    Encoding {
        /// What its first lines say.
        encoding: String,
    },
    /// It is not UTF-8.
    #[error("the script is not UTF-8: byte {byte:#04x} at offset {offset} (line {line})")]
    NotUtf8 {
        /// The first bad byte.
        byte: u8,
        /// The offset of that byte.
        offset: usize,
        /// Its line, from 1.
        line: usize,
    },
}
