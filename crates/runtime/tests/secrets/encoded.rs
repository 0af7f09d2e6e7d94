//! Scripts that let a secret slip in an encoding, as Python's own modules write it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use belljar_runtime::{
    EventKind, ExecutionRequest, HostTool, Runtime, SandboxConfig, Secret, Secrets, ToolRegistry,
};
use belljar_testing::{HANG, build, config, data, run};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{NAME, granted};

/// With what URLs escape, what the alphabets of base64 differ in, and what JSON escapes.
const VALUE: &str = "s3cr/et? +v\u{e4}lue\"\u{fb}\u{ff}>>>~~~";

/// What a host tool knows, and no cell.
const HOSTS: &str = "host-key-1234";

/// Every encoding, as an expression of `key`.
const ENCODINGS: [&str; 22] = [
    "base64.b64encode(key.encode()).decode()",
    "base64.b64encode(key.encode()).decode().rstrip('=')",
    "base64.urlsafe_b64encode(key.encode()).decode()",
    "base64.standard_b64encode(('u:' + key).encode()).decode()",
    "base64.b64encode(('user:' + key + '@host').encode()).decode()",
    "base64.b64encode(('x' + key + 'y').encode()).decode()",
    "base64.urlsafe_b64encode(('ab' + key).encode()).decode().rstrip('=')",
    "base64.encodebytes((key * 3).encode()).decode()",
    "binascii.b2a_base64(key.encode()).decode()",
    "binascii.hexlify(key.encode()).decode()",
    "binascii.hexlify(key.encode()).decode().upper()",
    "key.encode().hex()",
    "'0x0' + key.encode().hex()",
    "base64.b16encode(key.encode()).decode()",
    "urllib.parse.quote(key)",
    "urllib.parse.quote(key, safe='')",
    "urllib.parse.quote_plus(key)",
    "urllib.parse.quote(key).replace('%C3%A4', '%c3%a4')",
    "urllib.parse.urlencode({'q': key})",
    "urllib.parse.urlencode({'q': key}, quote_via=urllib.parse.quote)",
    "json.dumps({'key': key})",
    "json.dumps(key, ensure_ascii=False)",
];

/// Ways to say what is in `said`.
const WAYS: [&str; 8] = [
    "print(said)\nemit_result(1)",
    "import sys\nsys.stderr.write(said)\nemit_result(1)",
    // In two prints, with a frame between them so that the host cannot take them for one.
    "print(said[:9], end='', flush=True)\nemit_intermediate('cut', 1)\nprint(said[9:])\nemit_result(1)",
    "emit_result({'data': [said], said: 1})",
    "emit_intermediate('label ' + said, said)\nemit_log(said)\nemit_result(1)",
    "raise ValueError('bad: ' + said)",
    "display({'text/plain': said, 'text/html': f'<b>{said}</b>', 'application/json': {'k': said}}, raw=True)\nemit_result(1)",
    "name = 'out/' + said[:200].strip() + '.txt'\nos.makedirs(os.path.dirname(name))\nopen(name, 'w').write('x')\nemit_result(said)",
];

const PRELUDE: &str = "import base64, binascii, urllib.parse, json\n";

/// A part of the encoding that has bits of the value alone, for each line of it.
fn parts(encoded: &str) -> Vec<String> {
    let long = encoded.split_whitespace().filter(|part| part.chars().count() > 14);
    // Neither end: there the value has neighbours.
    long.map(|part| part.chars().skip(part.chars().count() / 2).take(8).collect()).collect()
}

#[tokio::test]
async fn no_encoding_is_seen_wherever_it_is_said() {
    let Some((_runtime, sandbox)) = granted(VALUE).await else { return };
    let (_other_runtime, other) = granted("another-value").await.unwrap();
    let literal = serde_json::to_string(VALUE).unwrap();
    for encoding in ENCODINGS {
        // What it looks like, from a sandbox that has nothing to hide.
        let shown = run(&other, &format!("{PRELUDE}key = {literal}\nemit_result({encoding})")).await;
        let parts = parts(&shown.final_data.unwrap().to::<String>().unwrap());
        assert!(!parts.is_empty(), "{encoding} gives nothing to look for");
        for way in WAYS {
            let script = format!("{PRELUDE}key = os.environ['{NAME}']\nsaid = {encoding}\n{way}");
            let mut events = Vec::new();
            let request = ExecutionRequest::new(script).collecting(["**"]);
            let running = sandbox.run_with(request, |event| events.push(event));
            let result = tokio::time::timeout(HANG, running).await.expect("the run hangs").unwrap();
            let said = serde_json::to_string(&(&result, &events)).unwrap();
            assert!(said.contains("***"), "{encoding}, {way}: nothing was hidden in {said}");
            for part in &parts {
                let json = serde_json::to_string(part).unwrap();
                for form in [part.as_str(), json.trim_matches('"')] {
                    assert!(!said.contains(form), "{encoding}, {way}: {form} is in {said}");
                }
            }
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Given {
    what: Value,
}

fn encodings(value: &str) -> [String; 3] {
    let hexadecimal = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let url = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
    [URL_SAFE.encode(value), hexadecimal, url]
}

#[tokio::test]
async fn no_encoding_passes_between_a_script_and_a_tool() {
    let secrets = Secrets::new().with(NAME, Secret::new(VALUE)).with("HOST_KEY", Secret::new(HOSTS));
    let Some(runtime) = build(Runtime::builder().secrets(secrets)) else { return };
    // It gives back what it got, and what it knows itself.
    let tell = HostTool::new("tell", "Tells", |it: Given| async move {
        Ok::<_, String>(json!({ "got": it.what, "hosts": encodings(HOSTS), "cells": encodings(VALUE) }))
    });
    let fail = HostTool::new("fail", "Fails", |_: Given| async move {
        Err::<(), _>(format!("no: {}", encodings(HOSTS)[1]))
    });
    let tools = ToolRegistry::new().with(tell.secret("HOST_KEY")).unwrap().with(fail).unwrap();
    let config = SandboxConfig { secrets: vec![NAME.into()], ..config() };
    let sandbox = runtime.sandbox(tools.for_config(config)).await.unwrap();
    for encoding in ENCODINGS {
        let script = format!(
            "{PRELUDE}key = os.environ['{NAME}']\nsaid = {encoding}\n\
             told = tell(what=[said, {{'a': said}}]).data\n\
             emit_result([told, fail(what=1).message, said in told['got'], 'HOST_KEY' in os.environ])"
        );
        let mut events = Vec::new();
        let running = sandbox.run_with(script.as_str(), |event| events.push(event));
        let result = tokio::time::timeout(HANG, running).await.expect("the run hangs").unwrap();
        let said: Value = result.final_data.as_ref().unwrap_or_else(|| panic!("{result:#?}")).to().unwrap();
        assert!(said[0]["got"][0].as_str().unwrap().contains("***"), "{encoding}: {said}");
        for hidden in ["hosts", "cells"] {
            let texts = said[0][hidden].as_array().unwrap();
            let is_hidden = |text: &Value| text.as_str().unwrap().trim_end_matches('=') == "***";
            assert!(texts.iter().all(is_hidden), "{encoding}: {said}");
        }
        assert_eq!((&said[1], &said[2], &said[3]), (&json!("no: ***"), &json!(false), &json!(false)));
        assert!(events.iter().any(|event| matches!(event.kind, EventKind::ToolCall { .. })));
        let told = serde_json::to_string(&events).unwrap();
        for part in encodings(HOSTS).iter().chain(&encodings(VALUE)) {
            assert!(!told.contains(&part[12..17]), "{part} is in {told}");
        }
    }
}

#[tokio::test]
async fn a_secret_of_a_tool_reaches_only_the_cells_that_have_the_tool() {
    let secrets = Secrets::new().with("TOOL_KEY", Secret::new("tool-key-1234"));
    let Some(runtime) = build(Runtime::builder().secrets(secrets)) else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("weather.py");
    let equipped = |secrets: &str| {
        let text = "import os\ndef length(): return len(os.environ['TOOL_KEY'])\n";
        let block = format!("# /// script\n# [tool.belljar]\n# secrets = [{secrets}]\n# ///\n");
        std::fs::write(&file, block + text).unwrap();
        ToolRegistry::new().guest(&file).unwrap().for_config(config())
    };
    let refused = runtime.sandbox(equipped("'NOBODYS', 'TOOL_KEY', 'NOT_THERE'")).await;
    let error = refused.err().expect("a value is missing").to_string();
    let missing = "have no value: NOBODYS (tool file weather.py), NOT_THERE (tool file weather.py).";
    assert!(error.contains(missing), "{error}");
    let with = runtime.sandbox(equipped("'TOOL_KEY'")).await.unwrap();
    let result = run(&with, "print(os.environ['TOOL_KEY'])\nemit_result(length())").await;
    assert_eq!((result.stdout.as_str(), data(&result)), ("***\n", "13"));
    let without = runtime.sandbox(config()).await.unwrap();
    assert_eq!(data(&run(&without, "emit_result(os.environ.get('TOOL_KEY'))").await), "null");
}

#[tokio::test]
async fn a_secret_of_a_host_tool_must_have_a_value() {
    let Some(runtime) = build(Runtime::builder()) else { return };
    let tool = HostTool::new("tell", "Tells", |it: Given| async move { Ok::<_, String>(it.what) });
    let tools = ToolRegistry::new().with(tool.secret("HOST_KEY")).unwrap();
    let error = runtime.sandbox(tools.for_config(config())).await.err().expect("it is missing").to_string();
    assert!(error.contains("have no value: HOST_KEY (tool tell)."), "{error}");
}
