//! What a run or a step can be asked for, as it is written in JSON: an `ExecutionRequest` of the
//! library, and the sandbox beside it.

#![expect(dead_code, reason = "these types only describe what the library reads")]

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A script to run: a step, and the sandbox that it runs in.
pub(crate) struct RunRequest;

/// The fields of [`RunRequest`] that a step does not have.
#[derive(Deserialize, ToSchema)]
struct Place {
    /// The sandbox of the server that it runs in. Without it, `default`.
    #[serde(default)]
    sandbox: String,
    /// A sandbox of its own, as a sandbox file has it. Needs a token of scope `admin`, and no
    /// `sandbox` beside it.
    #[serde(default)]
    #[schema(value_type = Object)]
    config: Value,
}

impl PartialSchema for RunRequest {
    fn schema() -> RefOr<Schema> {
        let mut run = StepRequest::schema();
        if let (RefOr::T(Schema::Object(run)), RefOr::T(Schema::Object(place))) = (&mut run, Place::schema())
        {
            run.properties.extend(place.properties);
            run.description = Some("A script, where it runs, and what it is given.".to_owned());
        }
        run
    }
}

impl ToSchema for RunRequest {
    fn name() -> Cow<'static, str> {
        "RunRequest".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        StepRequest::schemas(schemas);
    }
}

/// A step of a session, and what it is given. Only `script` is needed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepRequest {
    /// The Python source.
    script: String,
    /// How it ends. Without it, as the sandbox says.
    mode: Option<Mode>,
    /// Seconds that it may take. Without it, as the sandbox says.
    #[schema(exclusive_minimum = 0)]
    timeout: Option<f64>,
    /// What it finds in `sys.argv` after its own name.
    #[serde(default)]
    args: Vec<String>,
    /// The name of its file, for tracebacks and `sys.argv[0]`.
    name: Option<String>,
    /// Variables of its environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// What it reads from stdin.
    #[serde(default)]
    stdin: Stdin,
    /// Files that are in its directory before it starts.
    #[serde(default)]
    files: Vec<InputFile>,
    /// Patterns of files that are part of the result: `*.png`, `out/**`.
    #[serde(default)]
    collect: Vec<String>,
    /// How much may be collected.
    #[serde(default)]
    collect_limits: CollectLimits,
    /// Bytes that it may print. Less than the sandbox allows.
    max_output_bytes: Option<u64>,
    /// Seconds of processor time. Less than the sandbox allows.
    #[schema(exclusive_minimum = 0)]
    cpu_time: Option<f64>,
    /// Variables that must be there before it may start.
    #[serde(default)]
    required_secrets: Vec<String>,
}

/// How a script ends.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// With one result, by `emit_result`.
    Plan,
    /// As a step: a result is not needed.
    Interactive,
    /// As `python FILE` does.
    Script,
}

/// Text, or bytes in base64.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Stdin {
    Text(String),
    Bytes(Base64),
}

impl Default for Stdin {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// Bytes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Base64 {
    #[schema(content_encoding = "base64")]
    base64: String,
}

/// A file that is given: `text` or `base64`, not both.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputFile {
    /// Where it is, below the directory of the script.
    path: String,
    text: Option<String>,
    #[schema(content_encoding = "base64")]
    base64: Option<String>,
    /// Whether it can be run.
    #[serde(default)]
    is_executable: bool,
}

/// How many files may be collected, and how many bytes of them.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CollectLimits {
    files: u64,
    bytes: u64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use belljar::ExecutionRequest;
    use belljar::files::{CollectLimits as OurLimits, InputFile as OurFile};
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    /// The fields that a type reads, as it says them when it is given another.
    fn read_by<T: DeserializeOwned>() -> BTreeSet<String> {
        let refused = serde_json::from_value::<T>(json!({"?": 1})).err().unwrap().to_string();
        refused.split('`').skip(1).step_by(2).filter(|name| *name != "?").map(str::to_owned).collect()
    }

    #[test]
    fn what_is_described_is_what_the_library_reads() {
        let mut ours = read_by::<ExecutionRequest>();
        assert!(ours.remove("execution_id"), "the server names runs");
        assert_eq!(read_by::<StepRequest>(), ours);
        assert_eq!(read_by::<InputFile>(), read_by::<OurFile>());
        assert_eq!(read_by::<CollectLimits>(), read_by::<OurLimits>());
    }
}
