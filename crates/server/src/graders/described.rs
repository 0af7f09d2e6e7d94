//! What these routes read and answer, for the OpenAPI document. The words are those of others, and
//! so is what they leave open.

#![expect(dead_code, reason = "these types only describe what the routes read and write")]

use std::collections::BTreeMap;

use serde::Deserialize;
use utoipa::ToSchema;

/// A program for `/run_code`. Fields that are not known are passed over.
#[derive(Deserialize, ToSchema)]
pub(super) struct FusionRequest {
    code: String,
    /// Without it, `python`.
    language: Option<String>,
    stdin: Option<String>,
    /// Seconds. Without it, 10.
    #[schema(exclusive_minimum = 0)]
    compile_timeout: Option<f64>,
    /// Seconds. Without it, 10.
    #[schema(exclusive_minimum = 0)]
    run_timeout: Option<f64>,
    #[serde(rename = "memory_limit_MB")]
    memory_limit: Option<i64>,
    /// Files beside it, by name, in base64.
    files: Option<BTreeMap<String, Option<String>>>,
    /// Files that are wanted afterwards.
    fetch_files: Option<Vec<String>>,
}

/// How a program for `/run_code` ended.
#[derive(Deserialize, ToSchema)]
pub(super) struct FusionAnswer {
    /// `Success`, `Failed` or `SandboxError`.
    status: String,
    message: String,
    compile_result: Option<FusionStep>,
    run_result: Option<FusionStep>,
    executor_pod_name: Option<String>,
    /// Files that were wanted, in base64.
    files: BTreeMap<String, String>,
}

/// How one step of it ended.
#[derive(Deserialize, ToSchema)]
pub(super) struct FusionStep {
    /// `Finished` or `TimeLimitExceeded`.
    status: String,
    execution_time: f64,
    return_code: Option<i32>,
    stdout: String,
    stderr: String,
    cpu_time: Option<f64>,
    memory: Option<u64>,
    verdict: String,
}

/// A program for `/api/v2/execute`. Fields that are not known are passed over.
#[derive(Deserialize, ToSchema)]
pub(super) struct PistonRequest {
    #[schema(min_length = 1)]
    language: String,
    /// As npm writes ranges: `*`, `3.x`, `>=3.10`.
    #[schema(min_length = 1)]
    version: String,
    /// The first that is text is the program.
    #[schema(min_items = 1)]
    files: Vec<PistonFile>,
    stdin: Option<String>,
    args: Option<Vec<String>>,
    /// Milliseconds.
    run_timeout: Option<f64>,
    compile_timeout: Option<f64>,
    run_cpu_time: Option<f64>,
    compile_cpu_time: Option<f64>,
    /// Bytes.
    run_memory_limit: Option<f64>,
    compile_memory_limit: Option<f64>,
}

#[derive(Deserialize, ToSchema)]
pub(super) struct PistonFile {
    name: Option<String>,
    content: String,
    /// `utf8`, `base64` or `hex`.
    encoding: Option<String>,
}

/// How a program for `/api/v2/execute` ended.
#[derive(Deserialize, ToSchema)]
pub(super) struct PistonAnswer {
    language: String,
    version: String,
    /// That of the compiler, if that failed.
    run: PistonStage,
    compile: Option<PistonStage>,
}

/// How one stage of it ended.
#[derive(Deserialize, ToSchema)]
pub(super) struct PistonStage {
    stdout: String,
    stderr: String,
    /// Both, in the order in which they came.
    output: String,
    code: Option<i32>,
    signal: Option<String>,
    message: Option<String>,
    /// `RE`, `SG`, `TO`, `OL` or `EL`, if it failed.
    status: Option<String>,
    /// Milliseconds.
    cpu_time: Option<u64>,
    /// Milliseconds.
    wall_time: u64,
    memory: Option<u64>,
}

/// A language of this machine.
#[derive(Deserialize, ToSchema)]
pub(super) struct PistonRuntime {
    language: String,
    version: String,
    aliases: Vec<String>,
    /// The program that runs it, if that has another name.
    #[serde(default)]
    runtime: String,
}

/// How a program did with all of its inputs.
#[derive(Deserialize, ToSchema)]
pub(super) struct Graded {
    language: String,
    /// Whether every case passed.
    is_correct: bool,
    counts: Counts,
    /// How it was compiled, if it was.
    compile: Option<Compiled>,
    /// How often it was compiled for this request: 0 or 1.
    compilations: u64,
    /// In the order in which they came.
    cases: Vec<GradedCase>,
}

#[derive(Deserialize, ToSchema)]
pub(super) struct Counts {
    passed: u64,
    wrong: u64,
    failed: u64,
    skipped: u64,
}

#[derive(Deserialize, ToSchema)]
pub(super) struct Compiled {
    verdict: String,
    exit_code: Option<i32>,
    signal: Option<i32>,
    stdout: String,
    stderr: String,
    is_output_left_out: bool,
    usage: GradedUsage,
    /// Whether it was compiled for an earlier request.
    is_reused: bool,
}

/// One case. One that was skipped has its place, and nothing else.
#[derive(Deserialize, ToSchema)]
pub(super) struct GradedCase {
    index: u64,
    /// `passed`, `wrong`, `failed` or `skipped`.
    outcome: String,
    /// The id that it came with.
    #[serde(default)]
    id: String,
    verdict: Option<String>,
    exit_code: Option<i32>,
    signal: Option<i32>,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
    #[serde(default)]
    is_output_left_out: bool,
    usage: Option<GradedUsage>,
    /// The first place where it is wrong.
    difference: Option<GradedDifference>,
}

#[derive(Deserialize, ToSchema)]
pub(super) struct GradedUsage {
    wall_ms: f64,
    cpu_ms: Option<f64>,
    peak_memory_bytes: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
pub(super) struct GradedDifference {
    /// What the number counts: `line` or `token`.
    unit: String,
    /// Which one, from 1.
    number: u64,
    expected: Option<String>,
    got: Option<String>,
}
