//! What is to be graded.

use std::time::Duration;

use belljar::files::{FileContent, InputFile, Stdin};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::super::compare::Comparison;
use super::super::job::{Given, Input, Job, Limits, Place};
use super::super::languages::Tongue;
use crate::openapi::request::{InputFile as DescribedFile, Stdin as DescribedStdin};
use crate::problem::Problem;
use crate::runs::{from_json, invalid};

/// A program, and what it is tried with.
pub(super) struct Grading {
    pub(super) job: Job,
    pub(super) stop_on: StopOn,
    pub(super) cases: Vec<Case>,
}

pub(super) struct Case {
    pub(super) id: Option<String>,
    pub(super) input: Input,
    pub(super) expected: Option<String>,
    pub(super) compare: Comparison,
}

/// When no more cases are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopOn {
    #[default]
    Never,
    FirstFailure,
}

/// A program, and what it is tried with, as it is written.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GradeRequest)]
pub(super) struct Written {
    language: String,
    source: String,
    #[serde(default)]
    #[schema(value_type = Vec<DescribedFile>)]
    files: Vec<InputFile>,
    #[serde(default)]
    compile: WrittenCompile,
    #[serde(default)]
    limits: WrittenLimits,
    #[serde(default)]
    compare: Option<WrittenComparison>,
    #[serde(default)]
    stop_on: StopOn,
    #[schema(min_items = 1, max_items = 1000)]
    cases: Vec<WrittenCase>,
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = GradeCompile)]
struct WrittenCompile {
    flags: Vec<String>,
    timeout: Option<f64>,
}

#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = GradeLimits)]
struct WrittenLimits {
    timeout: Option<f64>,
    cpu_time: Option<f64>,
    memory_mb: Option<u64>,
    output_bytes: Option<u64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GradeCase)]
struct WrittenCase {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    #[schema(value_type = DescribedStdin)]
    stdin: Stdin,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    #[schema(value_type = Vec<DescribedFile>)]
    files: Vec<InputFile>,
    #[serde(default)]
    expected: Option<String>,
    #[serde(default)]
    compare: Option<WrittenComparison>,
    #[serde(default)]
    limits: WrittenLimits,
}

/// A word, or an object for those with numbers.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = GradeComparison)]
enum WrittenComparison {
    Word(String),
    Whole(Comparison),
}

/// How many cases one request may have.
const MOST_CASES: usize = 1000;
/// How long a run or a compilation may take that does not say: what other graders give.
const USUAL: f64 = 10.0;
/// A day.
const LONGEST: f64 = 86_400.0;
/// How much of each stream of a case is kept, if nothing is said.
const USUAL_OUTPUT: u64 = 1 << 20;

impl Grading {
    pub(super) fn read(fields: Map<String, Value>, longest: Option<f64>) -> Result<Self, Problem> {
        let written: Written = from_json(Value::Object(fields))?;
        let known = || {
            let names = belljar::workspace::Language::all().iter().map(|language| language.name());
            let names = names.collect::<Vec<_>>().join(", ");
            invalid(format!("unknown language {:?}; this server knows {names}", written.language))
                .at("language")
        };
        let tongue = Tongue::named(&written.language).ok_or_else(known)?;
        if written.cases.is_empty() || written.cases.len() > MOST_CASES {
            return Err(invalid(format!("there must be 1 to {MOST_CASES} cases")).at("cases"));
        }
        let compile = time(written.compile.timeout, longest, "compile.timeout")?;
        let job = Job {
            tongue,
            source: written.source,
            name: None,
            files: given(written.files, "files")?,
            compiles_all: true,
            flags: written.compile.flags,
            compile_limits: Limits::of(compile),
        };
        let usual = written.compare.as_ref().map(|it| comparison(it, "compare")).transpose()?;
        let read = |(number, case): (usize, WrittenCase)| {
            let at = |field: &str| format!("cases[{number}].{field}");
            let compare = case.compare.as_ref().map(|it| comparison(it, &at("compare"))).transpose()?;
            let limits = limits(&case.limits, &written.limits, longest, &at("limits"))?;
            Ok(Case {
                id: case.id,
                input: Input {
                    stdin: match case.stdin {
                        Stdin::Bytes(bytes) => bytes,
                        _ => Bytes::new(),
                    },
                    args: case.args,
                    files: given(case.files, &at("files"))?,
                    fetch: Vec::new(),
                    limits,
                    in_order: false,
                },
                expected: case.expected,
                compare: compare.or(usual).unwrap_or_default(),
            })
        };
        let cases = written.cases.into_iter().enumerate().map(read).collect::<Result<_, Problem>>()?;
        Ok(Self { job, stop_on: written.stop_on, cases })
    }
}

fn given(files: Vec<InputFile>, field: &str) -> Result<Vec<Given>, Problem> {
    let read = |(number, file): (usize, InputFile)| {
        let at = || format!("{field}[{number}].path");
        let FileContent::Bytes(content) = file.content else {
            return Err(invalid("a file must come with the request").at(at()));
        };
        let place = Place::read(&file.path).map_err(|problem| problem.at(at()))?;
        Ok(Given { place, content, is_executable: file.is_executable })
    };
    files.into_iter().enumerate().map(read).collect()
}

fn time(seconds: Option<f64>, longest: Option<f64>, field: &str) -> Result<Duration, Problem> {
    let most = longest.unwrap_or(LONGEST);
    let seconds = seconds.unwrap_or(USUAL.min(most));
    if !(seconds > 0.0 && seconds <= most) {
        return Err(invalid(format!("must be more than 0 and at most {most} seconds")).at(field));
    }
    Ok(Duration::from_secs_f64(seconds).max(Duration::from_millis(1)))
}

/// The limits of a case: its own, or else those of all.
fn limits(
    own: &WrittenLimits,
    usual: &WrittenLimits,
    longest: Option<f64>,
    field: &str,
) -> Result<Limits, Problem> {
    let at = |name: &str| format!("{field}.{name}");
    let memory_mb = own.memory_mb.or(usual.memory_mb);
    if memory_mb == Some(0) {
        return Err(invalid("must be more than 0; leave it out for what the sandbox has").at(at("memory_mb")));
    }
    let cpu_time = own.cpu_time.or(usual.cpu_time);
    Ok(Limits {
        timeout: time(own.timeout.or(usual.timeout), longest, &at("timeout"))?,
        memory_mb,
        cpu_time: cpu_time.map(|seconds| time(Some(seconds), longest, &at("cpu_time"))).transpose()?,
        output_bytes: Some(own.output_bytes.or(usual.output_bytes).unwrap_or(USUAL_OUTPUT)),
    })
}

fn comparison(written: &WrittenComparison, field: &str) -> Result<Comparison, Problem> {
    let read = match written {
        WrittenComparison::Whole(comparison) => Ok(*comparison),
        WrittenComparison::Word(word) => {
            let whole = serde_json::json!({"how": word});
            serde_json::from_value(whole).map_err(|error| invalid(error.to_string()).at(field))
        }
    }?;
    match read.is_valid() {
        true => Ok(read),
        false => Err(invalid("tolerances must be numbers, 0 or more").at(field)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value) -> Result<Grading, Option<String>> {
        let Value::Object(fields) = body else { panic!("{body}") };
        Grading::read(fields, Some(60.0)).map_err(|problem| problem.field().map(str::to_owned))
    }

    #[test]
    fn what_is_wrong_is_named() {
        let with = |more: Value| {
            let mut body = json!({"language": "c", "source": "", "cases": [{}]});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        assert!(read(with(json!({}))).is_ok());
        for (more, field) in [
            (json!({"language": "cobol"}), "language"),
            (json!({"cases": []}), "cases"),
            (json!({"cases": vec![json!({}); 1001]}), "cases"),
            (json!({"cases": [{"stdin": 3}]}), "cases[0].stdin"),
            (json!({"cases": [{}, {"files": [{"path": "../a", "text": ""}]}]}), "cases[1].files[0].path"),
            (json!({"files": [{"path": "/etc/a", "text": ""}]}), "files[0].path"),
            (json!({"compile": {"timeout": 61}}), "compile.timeout"),
            (json!({"limits": {"timeout": 0}}), "cases[0].limits.timeout"),
            (json!({"limits": {"memory_mb": 0}}), "cases[0].limits.memory_mb"),
            (json!({"compare": "roughly"}), "compare"),
            (json!({"compare": {"how": "floats", "absolute": -1.0}}), "compare"),
            (json!({"stop_on": "sunday"}), "stop_on"),
            (json!({"checker": ""}), "checker"),
        ] {
            assert_eq!(read(with(more.clone())).err().flatten().as_deref(), Some(field), "{more}");
        }
    }

    #[test]
    fn a_case_has_its_own_limits_or_those_of_all() {
        let body = json!({
            "language": "python", "source": "1", "compare": "tokens", "stop_on": "first_failure",
            "limits": {"timeout": 2, "memory_mb": 64},
            "cases": [{"stdin": "é", "limits": {"timeout": 1.5}}, {"compare": {"how": "floats", "absolute": 0.1}}],
        });
        let Ok(grading) = read(body) else { panic!("it is read") };
        let [one, two] = &grading.cases[..] else { panic!("there are two") };
        assert_eq!(one.input.limits.timeout, Duration::from_millis(1500));
        assert_eq!((one.input.limits.memory_mb, two.input.limits.memory_mb), (Some(64), Some(64)));
        assert_eq!(one.compare, Comparison::Tokens);
        assert_eq!(two.compare, Comparison::Floats { absolute: 0.1, relative: 1e-6 });
        assert_eq!((one.input.stdin.as_ref(), grading.stop_on), ("é".as_bytes(), StopOn::FirstFailure));
    }
}
