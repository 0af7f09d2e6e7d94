//! Choosing the Python that cells will run.
//!
//! The engine asks once per template; the answer says everything the jail must bind into the guest root. Synchronous:
//! it reads directories and runs interpreters, so async callers give it a thread of its own.
//!
//! ```text
//!  Search ──► candidates ──► (cache │ probe) ──► choose ──► Interpreter
//!  where      files named    stamp   runs it     a rule,
//!  to look    python3[.N]    same?   10 s limit  no I/O
//! ```
//!
//! A version the user asked for is a promise: it is found or [`find`] fails, naming what there is instead. With no
//! wish, the nearest to 3.11 is taken. A candidate that hangs, prints rubbish or is no CPython is set aside with its
//! reason; it never fails the search, except when the user named that very file.
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
