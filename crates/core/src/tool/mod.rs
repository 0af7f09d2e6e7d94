//! Describes tools: functions that scripts call, wherever they run.
//!
//! This is the pure part. Nothing here calls a tool. A runtime adds closures and connections, and
//! asks this module what a model should read, what a cell must contain, and whether the arguments
//! of a call are right.
//!
//! ```text
//!  builders, JSON ──┬─► Tool ──validate──► ToolSet ──┬─► prompt, stubs          text for models
//!  a stranger's ────┤                                ├─► OpenAI, Anthropic, MCP function calling
//!  JSON Schema      │                                └─► config, checksum       what a cell needs
//!  Python files ────┘
//!
//!  a call's arguments ──► check_arguments ──► checked, defaults filled in ──► the tool
//! ```
//!
//! * `definition`, `parameter`, `kind`: what a tool is. `validation`, `names`: what it must not be.
//! * `set`: tools and the sandboxes they belong to. `needs`: what a sandbox must have for them.
//!   `dependencies`: whose packages go together. `checksum`: whether what was built is still right.
//! * `python`, `stubs`, `prompt`: tools as Python text. `schema`: tools as JSON Schema.
//! * `stranger`: tools that others describe, none of which is trusted. `signature`: functions of
//!   Python files, as the guest tells of them.
//! * `arguments`: what a call may pass. `bytes`: what JSON has no word for.
//!
//! ```
//! use belljar_core::tool::{Kind, Parameter, Tool, ToolSet, check_arguments};
//! use serde_json::json;
//!
//! let search = Tool::new("search", "Search the catalogue.")
//!     .with_parameter(Parameter::new("query", Kind::Str))
//!     .with_parameter(Parameter::new("limit", Kind::Int).with_default(10));
//! let mut tools = ToolSet::new();
//! tools.add(search)?;
//! assert!(tools.prompt().contains("search(query: str, limit: int = 10) -> ToolResponse"));
//!
//! let search = tools.get("search").expect("it was just added");
//! let check = |arguments: serde_json::Value| {
//!     check_arguments(search, arguments.as_object().cloned().unwrap_or_default())
//! };
//! assert_eq!(check(json!({"query": "shoes"}))?["limit"], 10);
//! assert_eq!(
//!     check(json!({"query": "shoes", "limits": 3})).unwrap_err().to_string(),
//!     "tool `search` has no parameter `limits`: did you mean `limit`?"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod bytes;
mod checksum;
mod definition;
mod dependencies;
mod error;
mod kind;
mod names;
mod needs;
mod parameter;
mod prompt;
mod python;
mod schema;
mod set;
mod signature;
mod stranger;
mod stubs;
#[cfg(test)]
pub(crate) mod tests;
mod validation;

pub use arguments::{ArgumentError, check_arguments};
pub use bytes::ToolBytes;
pub use definition::{Failure, Place, Tool};
pub use error::{DependencyConflict, ToolError};
pub use kind::{Kind, UnknownKind};
pub use names::{LONGEST_TOOL_NAME, safe_tool_name};
pub use parameter::Parameter;
pub use set::{DEFAULT_SANDBOX, ToolSet};
pub use signature::Signature;
