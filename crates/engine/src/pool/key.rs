//! Whether two blueprints may share cells.

use std::fmt::{self, Write as _};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

use belljar_core::Secret;
use sha2::{Digest, Sha256};

use crate::engine::Blueprint;
use crate::guest;

/// A fingerprint of what a template is made from: the engine's name, the whole config, every tool's
/// name and source, what is seen of the host's tools, and the secrets that its proxy injects. A
/// cell made under one key is never handed out under another.
///
/// * The config's `name` is part of it. Names are labels: two configs of one name have two keys,
///   and so do two names of one config, because errors, containers and images carry the name.
/// * An engine's own settings are not: all templates of a pool come from the same engine, and its
///   settings do not change.
/// * What the engine finds while it prepares is not: the interpreter, the dependency layer or
///   image, the files that are granted. It belongs to the template, which keeps it until it ends. A
///   newer interpreter is found by the next preparation.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolKey(String);

impl PoolKey {
    /// The key of a blueprint on an engine. The config's own serialised form is hashed, so a field
    /// that is added to it is in the key by itself.
    pub fn of(engine: &str, blueprint: &Blueprint) -> Self {
        let config = serde_json::to_string(&blueprint.config).expect("a config is plain data");
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            // With its length, so that no two lists of parts look the same end to end.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        };
        add("belljar-pool-1");
        add(engine);
        add(&config);
        for tool in &blueprint.tools {
            add(&tool.file_name);
            add(&tool.source);
        }
        for tool in &blueprint.host_tools {
            add(&guest::face(tool).to_string());
        }
        if let Some(workspaces) = &blueprint.workspaces {
            add(&workspaces.to_string_lossy());
        }
        add(if blueprint.has_terminals { "terminals" } else { "" });
        for (name, value) in &blueprint.injected {
            add(name);
            add(&secret_fingerprint(value));
        }
        let text = hash.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Self(text)
    }
}

/// Tells secrets apart. It is of use in this process only: a key may be shown, and nobody may find
/// out a secret by trying.
fn secret_fingerprint(value: &Secret) -> String {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::new).hash_one(value.expose()).to_string()
}

impl fmt::Display for PoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0[..12])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use belljar_core::config::SandboxConfig;
    use serde_json::Value;

    use super::*;
    use crate::engine::ToolSource;

    fn blueprint() -> Blueprint {
        let tools = vec![ToolSource { file_name: "a.py".into(), source: "def a(): pass\n".into() }];
        Blueprint { tools, ..Blueprint::new(SandboxConfig::default()) }
    }

    /// Another value of the same kind.
    fn other(path: &str, value: &Value) -> Value {
        match value {
            Value::Null if path.ends_with("python_version") => "3.12".into(),
            Value::Null if path.ends_with("preload") => serde_json::json!(["json"]),
            Value::Null if path.ends_with("cpu_time_sec") => 1.5.into(),
            Value::Null => "something".into(),
            Value::Bool(value) => (!value).into(),
            Value::Number(number) if path.ends_with("memory_swap_mb") => {
                (number.as_i64().unwrap() + 4097).into()
            }
            Value::Number(number) => match number.as_u64() {
                Some(number) => (number + 1).into(),
                None => (number.as_f64().unwrap() + 0.25).into(),
            },
            Value::String(_) if path.ends_with("execution_mode") => "interactive".into(),
            Value::String(text) => format!("{text}x").into(),
            Value::Array(_) if path.ends_with("resources") => {
                serde_json::json!([{"host_path": "/a", "container_path": "/data/a"}])
            }
            Value::Array(_) if path.ends_with("require") => serde_json::json!(["seccomp"]),
            Value::Array(_) if path.ends_with("inject") => {
                serde_json::json!([{"host": "a.example", "header": "X-Key", "secret": "KEY"}])
            }
            Value::Array(_) => serde_json::json!(["other.example"]),
            Value::Object(_) if path.ends_with("allowed_ports") => serde_json::json!({"x.example": [1]}),
            Value::Object(_) => serde_json::json!({"X": "y"}),
        }
    }

    /// Every field of a config by its path, with a config in which only that field differs.
    fn variants() -> BTreeMap<String, SandboxConfig> {
        let whole = serde_json::to_value(SandboxConfig::default()).unwrap();
        let mut found = BTreeMap::new();
        for (field, value) in whole.as_object().unwrap() {
            let nested =
                value.as_object().filter(|_| ["network_policy", "resource_limits"].contains(&field.as_str()));
            let paths: Vec<Vec<&str>> = match nested {
                Some(inner) => inner.keys().map(|key| vec![field.as_str(), key.as_str()]).collect(),
                None => vec![vec![field.as_str()]],
            };
            for path in paths {
                let name = path.join(".");
                let mut changed = whole.clone();
                let place = path.iter().fold(&mut changed, |value, key| &mut value[*key]);
                *place = other(&name, place);
                found.insert(
                    name.clone(),
                    serde_json::from_value(changed).unwrap_or_else(|e| panic!("{name}: {e}")),
                );
            }
        }
        found
    }

    #[test]
    fn changing_any_field_of_a_config_changes_the_key() {
        let base = PoolKey::of("native", &blueprint());
        let variants = variants();
        assert!(variants.len() >= 20, "the walk missed fields: {:?}", variants.keys());
        let mut seen = BTreeMap::from([(base, "nothing".to_owned())]);
        for (field, config) in variants {
            let key = PoolKey::of("native", &Blueprint { config, ..blueprint() });
            if let Some(same) = seen.insert(key, field.clone()) {
                panic!("changing {field} gives the same key as changing {same}");
            }
        }
    }

    #[test]
    fn changing_a_tool_or_the_engine_changes_the_key() {
        let base = PoolKey::of("native", &blueprint());
        assert_eq!(base, PoolKey::of("native", &blueprint()));
        assert_ne!(base, PoolKey::of("docker", &blueprint()));
        for (name, source) in [("b.py", "def a(): pass\n"), ("a.py", "def a(): return 1\n")] {
            let tools = vec![ToolSource { file_name: name.into(), source: source.into() }];
            assert_ne!(base, PoolKey::of("native", &Blueprint { tools, ..blueprint() }));
        }
        assert_ne!(base, PoolKey::of("native", &Blueprint { tools: Vec::new(), ..blueprint() }));
        let injecting = |value| {
            let injected = [("KEY".to_owned(), Secret::new(value))].into();
            PoolKey::of("native", &Blueprint { injected, ..blueprint() })
        };
        assert_eq!(injecting("one"), injecting("one"));
        assert!(base != injecting("one") && injecting("one") != injecting("two"));
    }
}
