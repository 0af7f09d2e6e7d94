//! What a model is told of tools: functions of Python files, read without running them, and those
//! of the host's.

use belljar_runtime::{DescribeError, HostTool, Runtime, ToolRegistry};
use belljar_testing::{config, runtime};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

const WEATHER: &str = r#"
# /// script
# dependencies = ["no-such-package-anywhere"]
# [tool.belljar]
# secrets = ["WEATHER_KEY"]
# ///
import os, no_such_module
from typing import Literal, Optional

raise SystemExit("nothing of this runs")

async def temperature(city: str, unit: Literal["C", "F"] = "C", *, at: Optional[int] = None) -> float:
    """Measures how warm it is.

    Args:
        city: Where, by its English name.
        at: Seconds since 1970. Now, if left out.
    """

def cities(*prefixes: str, limit=FEW) -> "list[str]": "Names of all."

def report(data: dict[str, list[float]]) -> ToolResponse: ...

def _private(): ...
"#;

fn registry(files: &[(&str, &str)]) -> ToolRegistry {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    ToolRegistry::new().guest(place.path()).unwrap()
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its shape is looked at")]
struct Price {
    /// What is to be bought.
    item: String,
}

fn price(name: &str) -> HostTool {
    HostTool::new(name, "Looks a price up", |_: Price| async { Ok::<_, String>(1) })
}

async fn refusal(runtime: &Runtime, tools: ToolRegistry) -> DescribeError {
    runtime.describe(&tools.for_config(config())).await.unwrap_err()
}

#[tokio::test]
async fn tools_of_files_and_closures_are_described_alike() {
    let Some(runtime) = runtime() else { return };
    let tools = registry(&[("weather.py", WEATHER)]).with(price("price")).unwrap();
    let set = runtime.describe(&tools.for_config(config())).await.unwrap();
    let names: Vec<_> = set.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["cities", "price", "report", "temperature"]);
    let prompt = set.prompt();
    for said in [
        "\ntemperature(city: str, unit: Literal[\"C\", \"F\"] = \"C\", *, at: int | None = None) -> Any\n",
        "    Returns float.\n\n    city: Where, by its English name.\n    at: Seconds since 1970. Now, if left out.\n",
        "\ncities(*, limit: Any = ...) -> Any\n    Names of all.\n\n    Takes further arguments: *prefixes.\n",
        "\nreport(data: dict[str, list[float]]) -> ToolResponse\n",
        "\nprice(item: str) -> ToolResponse\n    Looks a price up\n\n    item: What is to be bought.\n",
    ] {
        assert!(prompt.contains(said), "{said}\n  is not in\n{prompt}");
    }
    assert!(set.stubs().contains("def temperature(city: str, "), "{}", set.stubs());
    for schema in [
        &set.openai_forms()[3]["function"]["parameters"],
        &set.anthropic_forms()[3]["input_schema"],
        &set.mcp_forms()[3]["inputSchema"],
    ] {
        assert_eq!(schema["properties"]["unit"]["enum"], json!(["C", "F"]), "{schema}");
        assert_eq!(schema["required"], json!(["city"]), "{schema}");
    }
    assert_eq!(set.aggregate_secrets("default").unwrap(), ["WEATHER_KEY"]);
    assert_eq!(set.aggregate_dependencies("default").unwrap(), ["no-such-package-anywhere"]);
}

#[tokio::test]
async fn tools_that_have_one_name_are_an_error_that_names_both() {
    let Some(runtime) = runtime() else { return };
    let two = registry(&[("a.py", "def f(): ...\n"), ("b.py", "x = 1\ndef f(): ...\n")]);
    let text = refusal(&runtime, two).await.to_string();
    assert!(
        text.starts_with("b.py, line 2 defines f, and so does a.py, line 1: a script can call"),
        "{text}"
    );
    let text = refusal(&runtime, registry(&[("a.py", "def emit_result(x): ...\n")])).await.to_string();
    assert!(text.starts_with("a.py, line 1 defines emit_result, and so does every script"), "{text}");
    let error = refusal(&runtime, registry(&[("a.py", "def f(): ...\n")]).with(price("f")).unwrap()).await;
    let text = error.to_string();
    assert!(text.starts_with("a.py, line 1 defines f, and so does the host's program"), "{text}");
}

#[tokio::test]
async fn tools_that_no_model_could_call_are_an_error_with_its_place() {
    let Some(runtime) = runtime() else { return };
    for (text, expected) in [
        ("def f(:\n", "tool file a.py, line 1: SyntaxError"),
        ("def f(): ...\ndef gr\u{fc}n(): ...\n", "a.py, line 2: tool \"gr\u{fc}n\": name = "),
        ("def str(): ...\n", "a.py, line 1: tool \"str\": name = \"str\" is invalid"),
        ("def f(x\u{e4}): ...\n", "a.py, line 1: tool \"f\": parameters[0].name"),
    ] {
        let error = refusal(&runtime, registry(&[("a.py", text)])).await.to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[tokio::test]
async fn tools_can_do_nothing_by_being_described() {
    let Some(runtime) = runtime() else { return };
    let place = tempfile::tempdir().unwrap();
    let proof = place.path().join("proof");
    let open = format!("open({proof:?}, 'w')");
    let hostile = format!(
        "{open}\nemit_result([])\ndef f(x: {open} = {open}) -> {open}: 'Sets \\x1b]0;title\\x07 \\u202e'\n"
    );
    let set = runtime.describe(&registry(&[("a.py", &hostile)]).for_config(config())).await.unwrap();
    assert!(!proof.exists());
    // What a terminal would obey, or a reader not see, is written out in what models are given.
    let shown = set.prompt() + &set.stubs();
    assert!(shown.chars().all(|c| c == '\n' || belljar_core::is_printable(c)), "{shown:?}");
    assert!(shown.contains("\\x1b]0;title"), "{shown}");
    // Nothing to read needs no cell.
    assert!(runtime.describe(&ToolRegistry::new().for_config(config())).await.unwrap().is_empty());
}
