//! `belljar tools`: what a model is told of Python files.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use crate::belljar::{Outcome, belljar};

const WEATHER: &str = "# /// script\n# [tool.belljar]\n# secrets = ['WEATHER_KEY']\n# ///\n\
    raise SystemExit('nothing of this runs')\n\n\
    def temperature(city: str, unit='C') -> float:\n    \"\"\"Measures.\n\n    Args:\n        city: Where.\n    \"\"\"\n";

struct Place(TempDir);

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(place.path().join(name), text).unwrap();
        }
        Self(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `belljar tools WORDS… NAME`.
    fn tools(&self, words: &[&str], name: &str) -> Outcome {
        let path = self.path(name);
        belljar(&[&["tools"], words, &[path.to_str().unwrap()]].concat(), "")
    }
}

#[test]
fn tools_of_a_directory_are_listed() {
    let place = Place::new(&[("weather.py", WEATHER), ("sums.py", "def add(a, b): ...\n")]);
    let outcome = place.tools(&["list"], "");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    insta::assert_snapshot!(outcome.stdout);
    let listed = place.tools(&["list", "--json"], "").json();
    assert_eq!(listed["tools"][1]["name"], "temperature");
    assert_eq!(listed["tools"][1]["secrets"], json!(["WEATHER_KEY"]));
    assert_eq!(listed["tools"][1]["parameters"][0]["description"], "Where.");
}

#[test]
fn tools_are_told_in_each_form() {
    let place = Place::new(&[("weather.py", WEATHER)]);
    let schema = |form: &str| place.tools(&["schema", "--form", form], "weather.py").json();
    let city = json!({ "type": "string", "description": "Where." });
    assert_eq!(schema("openai")[0]["function"]["parameters"]["properties"]["city"], city);
    assert_eq!(schema("anthropic")[0]["input_schema"]["properties"]["city"], city);
    assert_eq!(schema("mcp")[0]["inputSchema"]["properties"]["city"], city);
    assert_eq!(place.tools(&["schema"], "weather.py").json(), schema("openai"));
    let prompt = place.tools(&["prompt"], "weather.py").stdout;
    assert!(
        prompt.contains("\ntemperature(city: str, unit: Any = \"C\") -> Any\n    Measures.\n"),
        "{prompt}"
    );
    let stubs = place.tools(&["stubs"], "weather.py").stdout;
    assert!(stubs.contains("\ndef temperature(city: str, unit: Any = \"C\") -> Any:\n"), "{stubs}");
}

#[test]
fn tools_that_cannot_be_told_are_refused_with_their_place() {
    let hostile = "def f(): '\\x1b]0;t\\x07'\ndef emit_result(): ...\n";
    let place = Place::new(&[("bad.py", "x = 1\ndef f(:\n"), ("hostile.py", hostile), ("notes.txt", "")]);
    for (name, said) in [
        ("bad.py", "error: tool file bad.py, line 2: SyntaxError"),
        ("hostile.py", "error: hostile.py, line 2 defines emit_result, and so does every script"),
        ("gone.py", "error: tool file "),
    ] {
        let outcome = place.tools(&["list"], name);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:#?}");
        assert!(outcome.stderr.contains(said), "{outcome:#?}");
    }
    assert_eq!(belljar(&["tools", "list"], "").code, Some(2));
}
