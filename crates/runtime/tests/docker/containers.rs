//! Hardening, seen from both sides.

use serde_json::json;

use crate::world::{answer, config, containers, inspect, runtime, sandbox};

#[tokio::test]
async fn a_container_is_hardened_by_the_daemons_own_word() {
    let Some(runtime) = runtime() else { return };
    let mut config = config("hardened");
    config.resource_limits.memory_mb = 100;
    config.resource_limits.pids_limit = 20;
    let _sandbox = sandbox(&runtime, config.clone()).await;
    let container = inspect(&containers(&config, "cell")[0]);
    let host = &container["HostConfig"];
    for (field, expected) in [
        ("ReadonlyRootfs", json!(true)),
        ("CapDrop", json!(["ALL"])),
        ("CapAdd", json!(null)),
        ("Privileged", json!(false)),
        ("SecurityOpt", json!(["no-new-privileges"])),
        ("NetworkMode", json!("none")),
        ("IpcMode", json!("private")),
        ("PidMode", json!("")),
        ("UsernsMode", json!("")),
        ("Init", json!(false)),
        ("AutoRemove", json!(true)),
        // It counts both together, so there is no swap.
        ("MemorySwap", host["Memory"].clone()),
        ("PidsLimit", json!(22)),
        ("CpuQuota", json!(100_000)),
        ("CpuPeriod", json!(100_000)),
        ("Devices", json!([])),
        ("LogConfig", json!({"Type": "none", "Config": {}})),
    ] {
        assert!(
            host[field] == expected || host[field].is_null() && expected == json!([]),
            "{field}: {}",
            host[field]
        );
    }
    // The config's, and something for the supervisor.
    let memory = host["Memory"].as_i64().unwrap() >> 20;
    assert!((100..=120).contains(&memory), "{memory} MiB");
    assert_eq!(container["Config"]["User"], "1000:1000");
    assert_eq!(container["Config"]["Tty"], false);
    assert_eq!(container["Mounts"], json!([]), "nothing of the daemon's host is in it");
    let scratch = host["Tmpfs"].as_object().unwrap();
    assert_eq!(scratch.keys().collect::<Vec<_>>(), ["/dev/shm", "/tmp", "/workspace"]);
    assert!(scratch.values().all(|options| options.as_str().unwrap().contains("nosuid,nodev,size=64m")));
    let networks = container["NetworkSettings"]["Networks"].as_object().unwrap();
    assert_eq!(networks.keys().collect::<Vec<_>>(), ["none"]);
}

#[tokio::test]
async fn a_container_is_hardened_as_seen_from_inside() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox(&runtime, config("inside")).await;
    let script = "import resource
status = dict(l.split(':\\t', 1) for l in open('/proc/self/status').read().splitlines() if ':\\t' in l)
interfaces = [l.split(':')[0].strip() for l in open('/proc/net/dev').readlines()[2:]]
routes = open('/proc/net/route').readlines()[1:]
def writable(path):
    try: open(path + '/probe', 'w').close(); return True
    except OSError: return False
emit_result({
    'ids': [os.getuid(), os.getgid(), os.getgroups()],
    'caps': [status[c] for c in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')],
    'no_new_privs': status['NoNewPrivs'], 'seccomp': status['Seccomp'], 'filters': int(status.get('Seccomp_filters', 3)) >= 3,
    'interfaces': interfaces, 'routes': routes,
    'writable': [p for p in ('/', '/etc', '/usr', '/opt/belljar', '/opt/pydeps', '/tools', '/run', '/run/belljar', '/home', '/workspace', '/tmp', '/dev/shm') if writable(p)],
    'pid_1': [os.access('/proc/1/mem', os.R_OK), os.access('/proc/1/environ', os.R_OK)],
    'files': resource.getrlimit(resource.RLIMIT_NOFILE),
})";
    let zero = "0000000000000000";
    assert_eq!(
        answer(&sandbox, script).await,
        json!({
            "ids": [1000, 1000, [1000]],
            "caps": [zero, zero, zero, zero, zero],
            "no_new_privs": "1", "seccomp": "2", "filters": true,
            "interfaces": ["lo"], "routes": [],
            "writable": ["/workspace", "/tmp", "/dev/shm"],
            "pid_1": [false, false],
            "files": [1024, 1024],
        })
    );
}
