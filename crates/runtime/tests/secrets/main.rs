//! A secret's value is in no log, event, result, error, `Debug` output or process argument, and in
//! no process that need not have it.
//!
//! The scripts here were granted the value and let it slip in the ways scripts do. One that means
//! to can always encode it first: see the docs of `runtime::mask` for where that line is.

#![expect(clippy::disallowed_methods, reason = "a test has a tokio runtime to itself")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod encoded;
mod journal;
mod many;
mod processes;
mod refused;
mod said;
mod shown;

use std::collections::BTreeMap;

use belljar_runtime::{Runtime, Sandbox, SandboxConfig, Secret};

/// The name every test grants its secret under.
const NAME: &str = "API_KEY";

/// A runtime that knows one secret, and a sandbox that was granted it; `None` where no cell can be
/// made.
async fn granted(value: &str) -> Option<(Runtime, Sandbox)> {
    belljar_testing::runtime()?;
    let secrets = BTreeMap::from([(NAME.to_owned(), Secret::new(value))]);
    let runtime = belljar_testing::build(Runtime::builder().secrets(secrets)).unwrap();
    let config = SandboxConfig { secrets: vec![NAME.into()], ..belljar_testing::config() };
    let sandbox = belljar_testing::sandbox_with(&runtime, config).await;
    Some((runtime, sandbox))
}

/// The forms in which a value would be seen: as it is, as Rust shows it, and as JSON holds it.
fn forms(value: &str) -> Vec<String> {
    let shown = format!("{value:?}");
    let json = serde_json::to_string(value).unwrap();
    [value, shown.trim_matches('"'), json.trim_matches('"')].map(String::from).to_vec()
}

#[track_caller]
fn assert_absent(value: &str, place: &str, text: &str) {
    for form in forms(value) {
        assert!(!text.contains(&form), "the secret is in {place}: {text}");
    }
}
