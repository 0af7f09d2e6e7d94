//! Both spellings read alike, and every bad document is refused with key and place.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::config::{ExecutionMode, FileResource, Injection, NetworkPolicy, Protection, ResourceLimits};

const EXAMPLE: &str = r#"
        name = "secure_analytics"
        python_version = "3.11"
        dependencies = ["pandas", "scipy", "httpx"]
        secrets = ["STRIPE_KEY", "DB_PASSWORD"]
        execution_mode = "interactive"
        pool_size = 5
        scratch_size_mb = 128

        [resource_limits]
        cpu_quota = 0.5
        memory_mb = 512
        memory_swap_mb = 1024
        pids_limit = 32
        execution_timeout_sec = 60
        max_output_bytes = 1048576

        [network_policy]
        allowed_hosts = ["api.stripe.com", "1.2.3.4"]
        default_port = 443
        [network_policy.allowed_ports]
        "api.stripe.com" = [443]
        "1.2.3.4" = [8080]

        [[resources]]
        host_path = "/app/data/docs"
        container_path = "/data/docs"
        read_only = true
        docker_host_path = "/srv/prod/agent_docs"
    "#;

fn example() -> SandboxConfig {
    SandboxConfig {
        name: "secure_analytics".into(),
        python_version: Some("3.11".parse().unwrap()),
        dependencies: vec!["pandas".into(), "scipy".into(), "httpx".into()],
        resources: vec![FileResource {
            docker_host_path: Some("/srv/prod/agent_docs".into()),
            ..FileResource::new("/app/data/docs", "/data/docs")
        }],
        network_policy: NetworkPolicy {
            allowed_hosts: vec!["api.stripe.com".into(), "1.2.3.4".into()],
            allowed_ports: [("api.stripe.com".into(), vec![443]), ("1.2.3.4".into(), vec![8080])].into(),
            ..NetworkPolicy::default()
        },
        resource_limits: ResourceLimits {
            memory_mb: 512,
            memory_swap_mb: 1024,
            pids_limit: 32,
            execution_timeout_sec: 60.0,
            ..ResourceLimits::default()
        },
        secrets: vec!["STRIPE_KEY".into(), "DB_PASSWORD".into()],
        execution_mode: ExecutionMode::Interactive,
        pool_size: 5,
        scratch_size_mb: 128,
        ..SandboxConfig::default()
    }
}

#[test]
fn the_reference_example_reads_in_both_spellings() {
    let config = SandboxConfig::from_toml(EXAMPLE).unwrap();
    assert_eq!(config, example());
    assert_eq!(config.network_policy.allowlist_env(), "api.stripe.com:443,1.2.3.4:8080");
    let kebab: String = EXAMPLE
        .lines()
        .map(|line| match line.split_once(" = ") {
            Some((key, value)) => format!("{} = {value}\n", key.replace('_', "-")),
            None => {
                format!("{}\n", line.replace("d_p", "d-p").replace("e_l", "e-l").replace("k_p", "k-p"))
            }
        })
        .collect();
    assert!(
        kebab.contains("[network-policy.allowed-ports]") && kebab.contains("docker-host-path"),
        "{kebab}"
    );
    assert_eq!(SandboxConfig::from_toml(&kebab).unwrap(), example());
}

#[test]
fn every_key_has_a_kebab_spelling() {
    let config = SandboxConfig { base_image: Some("python:3.11".into()), ..example() };
    let json = config.to_json().unwrap();
    let kebab: String = json
        .lines()
        .map(|line| match line.split_once("\": ") {
            Some((key, value)) => format!("{}\": {value}\n", key.replace('_', "-")),
            None => format!("{line}\n"),
        })
        .collect();
    assert_ne!(json, kebab);
    assert_eq!(SandboxConfig::from_json(&kebab).unwrap(), config);
}

#[test]
fn an_empty_document_is_the_default_config() {
    assert_eq!(SandboxConfig::from_toml(""), Ok(SandboxConfig::default()));
    assert_eq!(SandboxConfig::from_json("{}"), Ok(SandboxConfig::default()));
}

#[test]
fn each_bad_toml_document_is_refused_with_key_and_place() {
    let table = [
        ("pool_sise = 1", "unknown key `pool_sise` at line 1, column 1: did you mean `pool_size`?"),
        ("\n\n  pool-sise = 1", "unknown key `pool-sise` at line 3, column 3: did you mean `pool-size`?"),
        (
            "[resource_limits]\npids_limit = 9\nmemroy_mb = 1",
            "unknown key `resource_limits.memroy_mb` at line 3, column 1: did you mean `memory_mb`?",
        ),
        ("memory-mb = 1", "unknown key `memory-mb` at line 1, column 1: it belongs in `resource_limits`"),
        (
            "[[resources]]\nhost_path = \"/a\"\ncontainer_path = \"/b\"\nwatch = true",
            "unknown key `resources[0].watch` at line 4, column 1: \
                 the keys here are host_path, container_path, read_only, docker_host_path",
        ),
        (
            "pool_size = \"two\"",
            "`pool_size` at line 1, column 13: invalid type: string \"two\", expected usize",
        ),
        (
            "python_version = 3.10",
            "`python_version` at line 1, column 18: invalid type: floating point `3.1`, \
                 expected a quoted Python version such as \"3.11\" or \"3.11.7\", at least 3.9 and below 4",
        ),
        (
            "[[resources]]\nhost_path = \"/a\"",
            "`resources[0]` at line 1, column 1: missing field `container_path`",
        ),
        (
            "require = [\"seccomp\", \"firewall\"]",
            "`require[1]` at line 1, column 23: unknown variant `firewall`",
        ),
        (
            "pool_size = 1\npool-size = 2",
            "`pool_size` at line 1, column 1: given twice; both spellings of a key are one key",
        ),
        (
            "[network_policy.allowed_ports]\n\"a.com\" = [70000]",
            "`network_policy.allowed_ports.a.com[0]` at line 2, column 12: invalid value: integer `70000`",
        ),
        (
            "\"a\\n\\u001b[2Jb\" = 1",
            "unknown key `a\\n\\u{1b}[2Jb` at line 1, column 1: the keys here are name, python_version",
        ),
        (
            "require = [\"fire\\nwall\"]",
            "`require[0]` at line 1, column 12: unknown variant `fire\\nwall`, expected",
        ),
        ("name = ", "syntax error at line 1, column 8: "),
        ("a = 1\na = 2", "syntax error at line 2, column 1: duplicate key"),
        ("pool_size = 10001", "pool_size = 10001 is invalid: must be from 0 to 10000"),
    ];
    for (document, expected) in table {
        let text = SandboxConfig::from_toml(document).unwrap_err().to_string();
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn each_bad_json_document_is_refused_with_key_and_place() {
    let table = [
        ("{\n\"pool_sise\": 1}", "unknown key `pool_sise` at line 2, column 11: did you mean `pool_size`?"),
        (
            r#"{"resource_limits": {"memory_mb": -1}}"#,
            "`resource_limits.memory_mb` at line 1, column 36: invalid value: integer `-1`, expected u64",
        ),
        (
            "[]",
            "syntax error at line 1, column 0: invalid type: sequence, expected a table of keys and values",
        ),
        (
            "7",
            "syntax error at line 1, column 1: invalid type: integer `7`, expected a table of keys and values",
        ),
        (r#"{"resource_limits": []}"#, "`resource_limits` at line 1, column 20: invalid type: sequence"),
        (r#"{"resources": [["/a", "/b"]]}"#, "`resources[0]` at line 1, column 15: invalid type: sequence"),
        ("{", "syntax error at line 1, column 1: EOF while parsing an object"),
        ("{} x", "syntax error at line 1, column 4: trailing characters"),
        (
            r#"{"resource_limits": {"memory_mb": 1}}"#,
            "resource_limits.memory_mb = 1 is invalid: must be from 16",
        ),
    ];
    for (document, expected) in table {
        let text = SandboxConfig::from_json(document).unwrap_err().to_string();
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn an_invalid_config_is_not_written() {
    let config = SandboxConfig::new("no spaces");
    assert!(config.to_toml().is_err() && config.to_json().is_err());
}

fn limits() -> impl Strategy<Value = ResourceLimits> {
    let swap = option::of(1..1000_i64);
    // Thousandths, because the JSON reader is exact only for short decimals.
    let thousandths = (10..1_024_000_u32, 1..86_400_000_u32, option::of(1..86_400_000_u32));
    (thousandths, 16..16_777_216_u64, swap, 4..4_194_304_u32, 1024..1_073_741_824_u64, 16..1_048_576_u32)
        .prop_map(|((cpu, time, cpu_time), memory_mb, swap, pids_limit, max_output_bytes, open_files)| {
            ResourceLimits {
                cpu_quota: f64::from(cpu) / 1000.0,
                memory_mb,
                memory_swap_mb: swap.map_or(-1, |more| memory_mb as i64 + more),
                pids_limit,
                execution_timeout_sec: f64::from(time) / 1000.0,
                cpu_time_sec: cpu_time.map(|time| f64::from(time) / 1000.0),
                max_output_bytes,
                open_files,
            }
        })
}

fn injection(host: &str) -> Injection {
    let [host, header, secret, prefix] = [host, "Authorization", "API_KEY", "Bearer "].map(String::from);
    Injection { host, ports: Vec::new(), header, secret, prefix, terminate_tls: true }
}

fn network() -> impl Strategy<Value = NetworkPolicy> {
    let hosts = vec!["api.example.com", "*.example.org", "10.0.0.1", "2001:db8::1"];
    let ports = || option::of(vec(1..=u16::MAX, 1..4));
    (subsequence(hosts, 0..=4), [ports(), ports(), ports(), ports()], 1..=u16::MAX).prop_map(
        |(hosts, ports, default_port)| NetworkPolicy {
            allowed_ports: hosts
                .iter()
                .zip(ports)
                .filter_map(|(host, list)| Some((host.to_string(), list?)))
                .collect(),
            inject: hosts.iter().take(1).map(|host| injection(host)).collect(),
            plain_hosts: hosts.iter().take(1).map(ToString::to_string).collect(),
            allowed_hosts: hosts.into_iter().map(String::from).collect(),
            default_port,
        },
    )
}

fn resources() -> impl Strategy<Value = Vec<FileResource>> {
    vec(("(/[a-z \"'#.é]{3,8}){1,3}", any::<bool>(), option::of("(/[a-z]{1,4}){1,2}")), 0..3).prop_map(
        |all| {
            let resource =
                |(index, (host, read_only, docker)): (usize, (String, bool, Option<String>))| FileResource {
                    read_only,
                    docker_host_path: docker.map(Into::into),
                    ..FileResource::new(host.replace("..", "x"), format!("/data/{index}"))
                };
            all.into_iter().enumerate().map(resource).collect()
        },
    )
}

prop_compose! {
    fn config()(
        name in "[a-zA-Z0-9_][a-zA-Z0-9._-]{0,63}",
        python_version in option::of((9..20_u32, option::of(0..30_u32))),
        base_image in option::of("[a-z]{1,8}(:[0-9.]{1,4})?"),
        packages in (vec("[a-z][a-z0-9]{0,6}(>=[0-9]{1,2})?", 0..4), any::<bool>()),
        preload in option::of(vec("[a-z_]{1,6}(\\.[a-z_]{1,4})?", 0..3)),
        resources in resources(),
        policy in (network(), limits()),
        told in (btree_map("[A-Z]{1,3}", "[^\\x00]{0,12}", 0..4), btree_map("S_[A-Z]{1,3}", Just(()), 0..3)),
        mode in select(vec![ExecutionMode::Plan, ExecutionMode::Interactive]),
        sizes in (0..=10_000_usize, 1..=1_048_576_u64),
        require in subsequence(Protection::ALL.to_vec(), 0..=Protection::ALL.len()),
    ) -> SandboxConfig {
        let (env, secrets): (BTreeMap<String, String>, BTreeMap<String, ()>) = told;
        SandboxConfig {
            name,
            python_version: python_version.map(|(minor, micro)| {
                micro.map_or(format!("3.{minor}"), |micro| format!("3.{minor}.{micro}")).parse().unwrap()
            }),
            base_image,
            dependencies: packages.0,
            allow_source_builds: packages.1,
            preload,
            resources,
            network_policy: policy.0,
            resource_limits: policy.1,
            secrets: secrets.into_keys().collect(),
            env,
            execution_mode: mode,
            pool_size: sizes.0,
            scratch_size_mb: sizes.1,
            require,
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(config in config()) {
        prop_assert_eq!(SandboxConfig::from_toml(&config.to_toml().unwrap()), Ok(config.clone()));
        prop_assert_eq!(SandboxConfig::from_json(&config.to_json().unwrap()), Ok(config));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = SandboxConfig::from_toml(&text);
        let _ = SandboxConfig::from_json(&text);
    }
}
