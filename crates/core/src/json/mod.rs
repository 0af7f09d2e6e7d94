//! JSON that a guest wrote, in a form that every reader can read.
//!
//! A result is embedded in the host's own words: in an event, in the object that `--json` prints, in whatever a caller builds around it.
//! One value that a reader's parser refuses costs that reader the whole object, verdict included. So the host holds guest JSON to the
//! strictest rules that widely used parsers have by default, and a [`Json`] that breaks one cannot be made:
//!
//! | rule | limit | who refuses more |
//! |---|---|---|
//! | nesting | [`DEEPEST`] levels | .NET 64, Ruby 100, serde_json 128, jq 256, PHP 512, Python and Jackson about 1,000 |
//! | numbers | the range of a double, [`LONGEST_NUMBER`] characters | serde_json and Go (range), Jackson 1,000 characters, Python 4,300 digits |
//! | names of fields | [`LONGEST_NAME`] bytes, each once in an object | Jackson 50,000; `org.json` and Go's `json/v2` (twice) |
//! | text | whole Unicode characters, no half of a surrogate pair | serde_json, Go and most others |
//! | layout | one line | whoever reads a stream line by line |
//!
//! ```text
//!  guest frame ── data ──► Json::repaired ──► Json, and Repairs: what had to be changed, for a warning
//!  host's own value ─────► Json::of, Json::parse ──► Json, or an error that names the rule
//!  Event, ExecutionResult ──► json_line ──► one line that is safe to show on a terminal too
//! ```
//!
//! Repair is the same for everybody (see [`Repairs`]), takes one pass over the text, and needs no recursion.

mod line;
mod repair;
mod value;

pub use line::json_line;
pub use repair::{DEEPEST, LONGEST_INTEGER, LONGEST_NAME, LONGEST_NUMBER, Repairs};
pub use value::Json;
