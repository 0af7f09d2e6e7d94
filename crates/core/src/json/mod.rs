//! JSON from a guest, in a form that every parser can read.
//!
//! A result becomes part of a larger object: an event, the object that `--json` prints, or whatever
//! a caller builds around it. If a parser refuses one value, its user loses the whole object,
//! verdict included. So the host holds guest JSON to the strictest default rules of widely used
//! parsers. A [`Json`] that breaks one cannot be made:
//!
//! * Nesting: [`DEEPEST`] levels. .NET reads 64, Ruby 100, serde_json 128, jq 256, PHP 512, Python
//!   and Jackson about 1,000.
//! * Numbers: the range of a double, and [`LONGEST_NUMBER`] characters. serde_json and Go refuse
//!   what is out of range. Jackson reads 1,000 characters, Python 4,300 digits.
//! * Names of fields: [`LONGEST_NAME`] bytes, each name once in an object. Jackson reads 50,000
//!   bytes. `org.json` and Go's `json/v2` refuse a name that comes twice.
//! * Text: whole Unicode characters, no half of a surrogate pair. serde_json, Go and most others
//!   refuse halves.
//! * Layout: one line, for programs that read a stream line by line.
//!
//! ```text
//!  guest frame ── data ──► Json::repaired ──► Json, and Repairs: what was changed, for a warning
//!  host's own value ─────► Json::of, Json::parse ──► Json, or an error that names the rule
//!  Event, ExecutionResult ──► json_line ──► one line that is safe to show on a terminal too
//! ```
//!
//! Everybody gets the same repairs (see [`Repairs`]). Repairing takes one pass over the text and
//! needs no recursion.

mod line;
mod repair;
mod value;

pub use line::json_line;
pub use repair::{DEEPEST, LONGEST_INTEGER, LONGEST_NAME, LONGEST_NUMBER, Repairs};
pub use value::Json;
