//! Chooses the Python that cells will run.
//!
//! The engine asks once per template. The answer says everything that the jail must bind into the
//! guest root. This module is synchronous: it reads directories and runs interpreters, so async
//! callers give it a thread of its own.
//!
//! ```text
//!  Search ──► candidates ──► (cache │ probe) ──► choose ──► Interpreter
//!  where      files named    stamp   runs it     a rule,
//!  to look    python3[.N]    same?   10 s limit  no I/O
//! ```
//!
//! A version that the user asked for is a promise. [`find`] finds it or fails, and names what there
//! is instead. If the user asks for none, the version nearest to 3.11 is taken. A candidate that
//! hangs, prints garbage or is not CPython is set aside with its reason. It never fails the search,
//! except if the user named that very file.
//!
//! ```no_run
//! # use belljar_engine::python::{self, Search};
//! let search = Search::from_env(Some("/var/cache/belljar".into()));
//! let python = python::find(None, &search)?;
//! python::readable_by_others(&python)?;
//! # Ok::<(), belljar_engine::python::PythonError>(())
//! ```

mod cache;
mod candidates;
mod choose;
mod error;
mod find;
mod interpreter;
mod probe;
mod readable;
mod search;
#[cfg(test)]
mod tests;

pub use error::{PythonError, Rejected};
pub use find::find;
pub use interpreter::{Interpreter, OLDEST, Version};
pub use readable::readable_by_others;
pub use search::{PYTHON_ENV, Search};
