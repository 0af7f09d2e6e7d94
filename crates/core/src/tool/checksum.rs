//! Whether what was made for a sandbox is still right.
//!
//! The checksum covers what a cell holds and may do, and nothing else. So a better description or a
//! larger pool costs no new image.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Parameter, Place, Tool};
use crate::config::SandboxConfig;

/// The checksum of a sandbox, by its config with all that its tools need, and its tools in the
/// order of their names.
pub(super) fn of<'a>(config: &SandboxConfig, tools: impl Iterator<Item = &'a Tool>) -> String {
    // The number of warm cells changes nothing in any of them.
    let config = SandboxConfig { pool_size: 0, ..config.clone() };
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        // With its length, so that no two lists of parts look the same end to end.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    };
    add("belljar-sandbox-1");
    // A field that is added to the config counts by itself.
    add(&serde_json::to_string(&config).expect("a config is plain data"));
    for tool in tools {
        add(&in_a_cell(tool).to_string());
    }
    hash.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What a cell holds of a tool. A guest tool's file is in it, and says itself what it takes. Of any
/// other tool there is a function that passes calls on, written from its parameters.
fn in_a_cell(tool: &Tool) -> Value {
    let Tool { name, parameters, failure, place, .. } = tool;
    match place {
        Place::Guest { file_name, source } => json!(["guest", name, failure, file_name, source]),
        Place::Host | Place::Mcp { .. } => {
            json!(["elsewhere", name, failure, parameters.iter().map(signed).collect::<Vec<_>>()])
        }
    }
}

/// The parts of a parameter that a signature shows.
fn signed(parameter: &Parameter) -> Value {
    let Parameter { name, kind, default, nullable, keyword_only, options, .. } = parameter;
    // In a list: no default is not the same as a null default.
    let default: Vec<_> = default.iter().collect();
    json!([name, kind, parameter.is_required(), default, nullable, keyword_only, options])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tool::{Kind, ToolSet};

    /// Tools with something in every field.
    fn tools() -> Vec<Tool> {
        let parameter = Parameter {
            nullable: true,
            original_name: Some("X-Query".into()),
            ..Parameter::new("query", Kind::Str)
        };
        let parameter =
            parameter.with_description("d").with_default("a").with_options(["a", "b"]).with_example("a");
        let whole = |name: &str| {
            Tool::new(name, "d").with_parameter(parameter.clone()).with_secret("KEY").with_example("e()")
        };
        vec![
            whole("guest").in_guest("g.py", "pass").with_dependency("six"),
            whole("host"),
            whole("remote").on_mcp_server("server", "tool"),
        ]
    }

    fn checksum(config: &SandboxConfig, tools: &[Tool]) -> String {
        let mut set = ToolSet::new();
        set.set_sandbox(config.clone()).unwrap();
        set.set_sandbox(SandboxConfig::new("other")).unwrap();
        for tool in tools {
            let moves = tool.sandbox == "default";
            let sandbox = if moves { &config.name } else { &tool.sandbox };
            set.add(tool.clone().with_sandbox(sandbox)).unwrap_or_else(|error| panic!("{error}"));
        }
        set.sandbox_checksum(&config.name).unwrap()
    }

    /// Does a change of the field make what was built for a sandbox wrong?
    enum Matters {
        Yes,
        No,
    }
    use Matters::{No, Yes};

    /// Every field of a config: another value, whether it matters, and why.
    fn config_fields() -> Vec<(&'static str, Value, Matters, &'static str)> {
        vec![
            ("name", json!("renamed"), Yes, "images, containers and errors carry it"),
            ("python_version", json!("3.12"), Yes, "another interpreter"),
            ("base_image", json!("python:3.12"), Yes, "another image"),
            ("dependencies", json!(["numpy"]), Yes, "other packages"),
            ("allow_source_builds", json!(true), Yes, "other builds of the packages"),
            ("preload", json!(["json"]), Yes, "other modules are loaded"),
            (
                "resources",
                json!([{"host_path": "/a", "container_path": "/data/a"}]),
                Yes,
                "other files are in a cell",
            ),
            ("network_policy.allowed_hosts", json!(["b.example"]), Yes, "a cell may reach other hosts"),
            ("network_policy.allowed_ports", json!({"a.example": [1]}), Yes, "other ports of them"),
            ("network_policy.default_port", json!(80), Yes, "other ports of them"),
            ("network_policy.plain_hosts", json!(["a.example"]), Yes, "it may talk to them otherwise"),
            (
                "network_policy.inject",
                json!([{"host": "a.example", "header": "X-Key", "secret": "INJECTED", "terminate_tls": true}]),
                Yes,
                "they take it for somebody",
            ),
            ("resource_limits.cpu_quota", json!(1.0), Yes, "a cell has other limits"),
            ("resource_limits.memory_mb", json!(512), Yes, "a cell has other limits"),
            ("resource_limits.memory_swap_mb", json!(4096), Yes, "a cell has other limits"),
            ("resource_limits.pids_limit", json!(65), Yes, "a cell has other limits"),
            ("resource_limits.execution_timeout_sec", json!(31.0), Yes, "a cell has other limits"),
            ("resource_limits.cpu_time_sec", json!(1.5), Yes, "a cell has other limits"),
            ("resource_limits.max_output_bytes", json!(2048), Yes, "a cell has other limits"),
            ("resource_limits.open_files", json!(1025), Yes, "a cell has other limits"),
            ("secrets", json!(["TOKEN"]), Yes, "a cell has other variables"),
            ("env", json!({"A": "b"}), Yes, "a cell has other variables"),
            ("execution_mode", json!("interactive"), Yes, "the harness behaves otherwise"),
            ("pool_size", json!(7), No, "more cells of the same kind"),
            ("scratch_size_mb", json!(65), Yes, "a cell has other limits"),
            ("require", json!(["seccomp"]), Yes, "a cell must be made in other ways"),
        ]
    }

    /// Every field of a tool: another value, whether it matters for a guest tool and for one that
    /// runs elsewhere, and why.
    fn tool_fields() -> Vec<(&'static str, Value, [Matters; 2], &'static str)> {
        vec![
            ("name", json!("renamed"), [Yes, Yes], "the global that scripts call"),
            ("description", json!("other"), [No, No], "only models read it"),
            ("parameters", json!([]), [No, Yes], "a guest's file says it itself; others have a signature"),
            ("dependencies", json!(["numpy"]), [Yes, No], "other packages; only guest tools have any"),
            ("secrets", json!(["OTHER"]), [Yes, No], "variables of a cell; the others' stay on the host"),
            ("sandbox", json!("other"), [Yes, Yes], "the tool leaves this sandbox"),
            ("examples", json!(["f()"]), [No, No], "only models read them"),
            ("failure", json!("exception"), [Yes, Yes], "what the function in a cell does"),
        ]
    }

    /// Every field of a parameter of a tool that runs elsewhere.
    fn parameter_fields() -> Vec<(&'static str, Value, Matters, &'static str)> {
        vec![
            ("name", json!("renamed"), Yes, "the signature"),
            ("kind", json!("any"), Yes, "the signature"),
            ("description", json!("other"), No, "only models read it"),
            ("required", json!(true), No, "it has a default, so nobody needs to give it"),
            ("default", json!("b"), Yes, "the signature"),
            ("nullable", json!(false), Yes, "the signature"),
            ("keyword_only", json!(true), Yes, "the signature"),
            ("options", json!(["a", "c"]), Yes, "the signature"),
            ("examples", json!(["b"]), No, "only models read them"),
            ("original_name", json!("Y-Query"), No, "the host turns it back into that name"),
        ]
    }

    /// Fields of `whole` that a table leaves out.
    fn missing(whole: Value, table: &[&str]) -> Vec<String> {
        whole.as_object().unwrap().keys().filter(|field| !table.contains(&field.as_str())).cloned().collect()
    }

    #[test]
    fn exactly_what_matters_of_a_config_changes_the_checksum() {
        let mut base = SandboxConfig::default();
        base.network_policy.allowed_hosts = vec!["a.example".into()];
        let before = checksum(&base, &tools());
        let mut seen = BTreeSet::from([before.clone()]);
        let whole = serde_json::to_value(&base).unwrap();
        let table = config_fields();
        let (nested, plain): (Vec<_>, Vec<_>) = table.iter().partition(|row| row.0.contains('.'));
        let mut names: Vec<_> = plain.iter().map(|row| row.0).collect();
        for part in ["network_policy", "resource_limits"] {
            names.push(part);
            let inside = nested.iter().filter_map(|row| row.0.strip_prefix(part)?.strip_prefix('.'));
            let inside: Vec<_> = inside.collect();
            assert_eq!(
                missing(whole[part].clone(), &inside),
                Vec::<String>::new(),
                "decide whether it matters"
            );
        }
        assert_eq!(missing(whole.clone(), &names), Vec::<String>::new(), "decide whether it matters");
        for (field, value, matters, why) in table {
            let mut changed = whole.clone();
            *field.split('.').fold(&mut changed, |value, key| &mut value[key]) = value;
            let after = checksum(&serde_json::from_value(changed).unwrap(), &tools());
            match matters {
                Yes => assert!(seen.insert(after), "{field}: {why}"),
                No => assert_eq!(after, before, "{field}: {why}"),
            }
        }
    }

    #[test]
    fn exactly_what_matters_of_a_tool_changes_the_checksum() {
        let config = SandboxConfig::default();
        let before = checksum(&config, &tools());
        for (index, tool) in tools().iter().enumerate() {
            let mut seen = BTreeSet::from([before.clone()]);
            let whole = serde_json::to_value(tool).unwrap();
            let names: Vec<_> = tool_fields().iter().map(|row| row.0).chain(["place"]).collect();
            assert_eq!(missing(whole.clone(), &names), Vec::<String>::new(), "decide whether it matters");
            for (field, value, [in_guest, elsewhere], why) in tool_fields() {
                if field == "dependencies" && !tool.place.is_guest() {
                    continue;
                }
                let mut changed = whole.clone();
                changed[field] = value;
                let mut all = tools();
                all[index] = serde_json::from_value(changed).unwrap();
                let after = checksum(&config, &all);
                match if tool.place.is_guest() { in_guest } else { elsewhere } {
                    Yes => assert!(seen.insert(after), "{} {field}: {why}", tool.name),
                    No => assert_eq!(after, before, "{} {field}: {why}", tool.name),
                }
            }
        }
    }

    #[test]
    fn exactly_what_matters_of_a_parameter_changes_the_checksum() {
        let config = SandboxConfig::default();
        let before = checksum(&config, &tools());
        let parameter = Parameter { keyword_only: false, ..tools()[1].parameters[0].clone() };
        let whole = serde_json::to_value(&parameter).unwrap();
        let names: Vec<_> = parameter_fields().iter().map(|row| row.0).collect();
        assert_eq!(missing(whole.clone(), &names), Vec::<String>::new(), "decide whether it matters");
        let mut seen = BTreeSet::from([before.clone()]);
        for (field, value, matters, why) in parameter_fields() {
            let mut changed = whole.clone();
            changed[field] = value;
            if field == "options" {
                changed["examples"] = json!([]);
            }
            let mut all = tools();
            all[1].parameters[0] = serde_json::from_value(changed).unwrap();
            let after = checksum(&config, &all);
            match matters {
                Yes => assert!(seen.insert(after), "{field}: {why}"),
                No => assert_eq!(after, before, "{field}: {why}"),
            }
        }
    }

    #[test]
    fn whether_a_parameter_without_a_default_is_required_matters() {
        let of =
            |parameter| checksum(&SandboxConfig::default(), &[Tool::new("t", "").with_parameter(parameter)]);
        let parameter = || Parameter::new("x", Kind::Any);
        let all = BTreeSet::from([
            of(parameter()),
            of(parameter().optional()),
            of(Parameter { default: Some(Value::Null), ..parameter() }),
        ]);
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn where_a_tool_runs_matters_and_who_runs_it_elsewhere_does_not() {
        let config = SandboxConfig::default();
        let of = |place: Place| checksum(&config, &[Tool { place, ..Tool::new("t", "") }]);
        let guest = |file_name: &str, source: &str| {
            of(Place::Guest { file_name: file_name.into(), source: source.into() })
        };
        let mcp = |server: &str, tool: &str| of(Place::Mcp { server: server.into(), tool: tool.into() });
        let different =
            BTreeSet::from([of(Place::Host), guest("a.py", "1"), guest("b.py", "1"), guest("a.py", "2")]);
        assert_eq!(different.len(), 4, "the file is in a cell");
        let same = BTreeSet::from([of(Place::Host), mcp("a", "t"), mcp("b", "t"), mcp("a", "u")]);
        assert_eq!(same.len(), 1, "the function in a cell asks the host, which knows whom to ask");
    }

    #[test]
    fn what_makes_no_difference_together_makes_none() {
        let config = SandboxConfig::default();
        let tool = |name: &str| Tool::new(name, "").in_guest("t.py", "");
        let one = checksum(&config, &[tool("a").with_dependency("six").with_secret("K"), tool("b")]);
        let other = checksum(&config, &[tool("b").with_dependency("six").with_secret("K"), tool("a")]);
        assert_eq!(one, other, "neither the order nor who needs a package is seen in a cell");
        assert_eq!(one.len(), 64);
    }
}
