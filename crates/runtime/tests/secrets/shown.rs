//! What our own types show of a secret.

use std::collections::BTreeMap;
use std::sync::Arc;

use belljar_core::wire::{Execute, HostFrame};
use belljar_engine::docker::Docker;
use belljar_engine::native::Native;
use belljar_runtime::{
    Blueprint, ExecutionId, ExecutionMode, ExecutionRequest, ResourceLimits, Runtime, SandboxConfig,
    ScriptExecutor, Secret,
};
use belljar_testing::{build, config, runtime};
use proptest::prelude::*;

use crate::{NAME, assert_absent};

/// Values that no text of ours holds by chance, with anything after the beginning.
fn value() -> impl Strategy<Value = String> {
    ("zQ9[a-zA-Z0-9]{6}", any::<String>()).prop_map(|(beginning, rest)| beginning + &rest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_type_of_ours_shows_a_value(value in value(), name in "[A-Z][A-Z_]{0,8}") {
        let secrets = BTreeMap::from([(name.clone(), Secret::new(value.as_str()))]);
        let config = SandboxConfig { secrets: vec![name.clone()], ..SandboxConfig::default() };
        let mut request = ExecutionRequest::new("emit_result(1)");
        request.required_secrets.push(name.clone());
        let index = format!("https://user:{value}@pypi.example");
        let builder = Runtime::builder().secrets(secrets.clone());
        let native = Native::new().installer_env([("PIP_INDEX_URL", index.as_str())]);
        let docker = Docker::new().installer_env([("PIP_INDEX_URL", index.as_str())]);
        let executor = ScriptExecutor::new("native", ResourceLimits::default(), ExecutionMode::Plan)
            .with_secrets(vec![name.clone()], Arc::new(secrets.clone()));
        let id = ExecutionId::new("id");
        let execute = HostFrame::Execute(Execute {
            execution_id: &id,
            seal: "seal",
            script: &request.script,
            mode: ExecutionMode::Plan,
            name: None,
            args: &[],
        env: &BTreeMap::new(),
        has_stdin: false,
            timeout: 1.0,
            max_output_bytes: 1024,
            required_secrets: &request.required_secrets,
            secrets: &secrets,
        });
        let shown = [
            format!("{:?} {:#?} {}", secrets[&name], secrets[&name], secrets[&name]),
            serde_json::to_string(&secrets).unwrap(),
            format!("{request:?} {request:#?}"),
            format!("{builder:?} {builder:#?}"),
            format!("{native:?} {native:#?} {docker:?} {docker:#?}"),
            format!("{executor:?} {executor:#?}"),
            format!("{execute:?} {execute:#?}"),
            config.to_toml().unwrap() + &config.to_json().unwrap(),
            format!("{:#?}", Blueprint { injected: secrets.clone(), ..Blueprint::new(config) }),
        ];
        for text in shown {
            assert_absent(&value, "what a type shows", &text);
        }
        // That it was there to be shown: the one frame that carries it does.
        prop_assert!(String::from_utf8(execute.to_line()).unwrap().contains(&value[..9]));
    }
}

#[tokio::test]
async fn a_value_too_short_to_hide_is_refused_by_name() {
    if runtime().is_none() {
        return;
    }
    for (value, refused) in [("", false), ("7", true), ("abc", true), ("abcd", false)] {
        let secrets = BTreeMap::from([(NAME.to_owned(), Secret::new(value))]);
        let runtime = build(Runtime::builder().secrets(secrets)).unwrap();
        // An empty value is none, which is another matter.
        let named = Blueprint::new(SandboxConfig { secrets: vec![NAME.into()], ..config() }).lenient();
        let made = runtime.prepare(named, &mut |_| {}).await;
        match made {
            Ok(_) => assert!(!refused, "{value:?} was granted"),
            Err(error) => {
                assert!(refused, "{error}");
                assert_eq!(
                    error.to_string(),
                    "the value of secret API_KEY is too short: must be at least 4 bytes, or it could not be told from ordinary output"
                );
            }
        }
        // Whoever is not granted it need not care.
        assert!(runtime.sandbox(config()).await.is_ok());
    }
}
