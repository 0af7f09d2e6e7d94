//! What a guest finds around it. The attack suite proper has a room of its own; these are the walls
//! themselves.

use std::collections::BTreeMap;

use belljar_core::config::Protection;
use belljar_runtime::{FileResource, SandboxConfig};
use belljar_testing::{config, data, has, run, runtime, sandbox_with};

#[tokio::test]
async fn a_guest_is_nobody_with_no_rights() {
    let result = belljar_testing::run_one!(
        "s = dict([p.strip() for p in l.split(':\\t', 1)] for l in open('/proc/self/status') if ':\\t' in l)\n\
         emit_result([os.getuid(), os.getgid(), s['CapEff'], s['CapPrm'], s['CapBnd'], s['NoNewPrivs'], s['Seccomp'], os.uname().nodename])"
    );
    assert_eq!(
        data(&result),
        r#"[1000,1000,"0000000000000000","0000000000000000","0000000000000000","1","2","belljar"]"#
    );
}

#[tokio::test]
async fn the_hosts_files_are_absent() {
    if !belljar_testing::only_on(
        "native",
        "an image has directories of these names; tests/docker looks at what they are",
    ) {
        return;
    }
    let result = belljar_testing::run_one!(
        "paths = ['/root', '/home', '/var', '/srv', '/boot', '/sys', '/etc/shadow', '/run/docker.sock', '/work', '/usr/local', '/usr/src']\n\
         emit_result([[p for p in paths if os.path.exists(p)], sorted(os.listdir('/'))])"
    );
    let (found, root): (Vec<String>, Vec<String>) = serde_json::from_str(data(&result)).unwrap();
    assert_eq!(found, Vec::<String>::new());
    assert!(root.iter().all(|name| !["root", "home", "var", "sys"].contains(&name.as_str())), "{root:?}");
}

#[tokio::test]
async fn only_the_scratch_places_can_be_written_to() {
    let result = belljar_testing::run_one!(
        "ok = []\nfor d in ['/', '/etc', '/usr', '/usr/bin', '/opt', '/opt/pydeps', '/tools', '/run', '/run/belljar', '/dev', '/proc', '/workspace', '/tmp', '/dev/shm']:\n\
         \x20   try:\n        open(d + '/probe', 'w').close(); ok.append(d)\n    except OSError: pass\nemit_result(ok)"
    );
    assert_eq!(data(&result), r#"["/workspace","/tmp","/dev/shm"]"#);
}

#[tokio::test]
async fn there_is_no_network_but_loopback() {
    let result = belljar_testing::run_one!(
        "import socket\ndef talk(address):\n    s = socket.socket(); s.settimeout(5)\n    try: s.connect(address); return 'connected'\n    except OSError as e: return type(e).__name__ + str(e.errno)\n\
         listener = socket.create_server(('127.0.0.1', 0))\n\
         emit_result([[n for _, n in [(0, l.split(':')[0].strip()) for l in open('/proc/net/dev').readlines()[2:]]], talk(('10.1.2.3', 80)), talk(listener.getsockname())])"
    );
    // 101 is ENETUNREACH: there is no route at all, not even one that is refused.
    assert_eq!(data(&result), r#"[["lo"],"OSError101","connected"]"#);
}

#[tokio::test]
async fn a_guest_sees_only_its_own_processes_and_descriptors() {
    let result = belljar_testing::run_one!(
        "emit_result([sorted(int(p) for p in os.listdir('/proc') if p.isdigit()) == [1, os.getpid()], [int(f) for f in os.listdir('/proc/self/fd') if int(f) not in (0, 1, 2, 900)][1:]])"
    );
    // PID 1 reaps, the other is the script; the one descriptor beyond is listdir's own.
    assert_eq!(data(&result), "[true,[]]");
}

#[tokio::test]
async fn the_ways_out_are_closed() {
    let result = belljar_testing::run_one!(
        "import ctypes, socket\nlibc = ctypes.CDLL(None, use_errno=True)\n\
         def call(f, *a):\n    ctypes.set_errno(0)\n    return 'ok' if f(*a) >= 0 else ctypes.get_errno()\n\
         out = {'unshare': call(libc.unshare, 0x10000000), 'mount': call(libc.mount, b'none', b'/tmp', b'tmpfs', 0, None),\n\
         'umount': call(libc.umount2, b'/proc', 2), 'chroot': call(libc.chroot, b'/tmp'), 'ptrace': call(libc.ptrace, 16, 1, 0, 0),\n\
         'setns': call(libc.setns, 0, 0), 'kill1': call(libc.kill, 1, 9), 'keyctl': call(libc.syscall, 250, 0, 0, 0, 0, 0),\n\
         'bpf': call(libc.syscall, 321, 0, 0, 0), 'io_uring': call(libc.syscall, 425, 1, 0)}\n\
         for name, family, kind in [('netlink', 16, 3), ('packet', 17, 3), ('vsock', 40, 1), ('raw', 2, 3)]:\n\
         \x20   try: socket.socket(family, kind); out[name] = 'ok'\n    except OSError as e: out[name] = e.errno\nemit_result(out)"
    );
    let out: BTreeMap<String, serde_json::Value> = serde_json::from_str(data(&result)).unwrap();
    for (name, answer) in &out {
        let expected = match name.as_str() {
            // To PID 1 of its own namespace a signal without a handler is as good as not sent.
            "kill1" => serde_json::json!("ok"),
            "io_uring" => serde_json::json!(38),
            _ => serde_json::json!(1),
        };
        assert_eq!(*answer, expected, "{name} in {out:?}");
    }
}

#[tokio::test]
async fn landlock_is_in_force_where_the_kernel_has_it() {
    let Some(runtime) = runtime() else { return };
    if !has(&runtime, "landlock") {
        return;
    }
    let sandbox = sandbox_with(&runtime, config()).await;
    // Own files in /proc may be written to as far as permissions go; Landlock is what says no.
    let result =
        run(&sandbox, "try: open('/proc/self/comm', 'w')\nexcept OSError as e: emit_result(e.errno)").await;
    assert_eq!(data(&result), "13");
}

#[tokio::test]
async fn granted_files_show_up_and_are_read_only_unless_said_otherwise() {
    let Some(runtime) = runtime() else { return };
    let host = tempfile::tempdir().unwrap();
    let open_to_all = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    for name in ["docs", "out"] {
        std::fs::create_dir(host.path().join(name)).unwrap();
    }
    std::fs::write(host.path().join("docs/a.txt"), "granted").unwrap();
    open_to_all(host.path(), 0o755);
    open_to_all(&host.path().join("out"), 0o777);
    let resource = |name: &str, read_only| FileResource {
        host_path: host.path().join(name),
        container_path: format!("/data/{name}"),
        read_only,
        docker_host_path: None,
    };
    let resources = vec![resource("docs", true), resource("out", false)];
    let sandbox = sandbox_with(&runtime, SandboxConfig { resources, ..config() }).await;
    let script = "text = open('/data/docs/a.txt').read()\ntry: open('/data/docs/b', 'w'); wrote = True\nexcept OSError: wrote = False\n\
                  open('/data/out/result.txt', 'w').write('from inside')\nemit_result([text, wrote])";
    assert_eq!(data(&run(&sandbox, script).await), r#"["granted",false]"#);
    assert_eq!(std::fs::read_to_string(host.path().join("out/result.txt")).unwrap(), "from inside");
}

#[tokio::test]
async fn a_resource_that_is_not_there_is_an_error_that_names_it() {
    let Some(runtime) = runtime() else { return };
    let resources = vec![FileResource {
        host_path: "/nowhere/at/all".into(),
        container_path: "/data/docs".into(),
        read_only: true,
        docker_host_path: None,
    }];
    let error =
        runtime.sandbox(SandboxConfig { resources, ..config() }).await.err().expect("it cannot be mounted");
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}

#[tokio::test]
async fn a_required_protection_is_there_or_the_config_is_refused_by_its_name() {
    let Some(runtime) = runtime() else { return };
    for protection in Protection::ALL {
        let name = protection.name();
        for layer in protection.layers().iter().map(|layer| layer.name()) {
            let known = runtime.capabilities().protections.iter().any(|known| known.name == layer);
            assert!(known, "{layer} can be required, but nobody looks whether it is there");
        }
        let is_there = protection.layers().iter().all(|layer| runtime.capabilities().has(layer.name()));
        let made = runtime.sandbox(SandboxConfig { require: vec![protection], ..config() }).await;
        match made {
            Ok(_) => assert!(is_there, "{name} is missing and was not asked for"),
            Err(error) => assert!(!is_there && error.to_string().contains(name), "{error}"),
        }
    }
}

#[tokio::test]
async fn scratch_space_is_bounded() {
    let result = belljar_testing::run_one!(
        "out = {}\nfor d in ['/workspace', '/tmp', '/dev/shm']:\n    try:\n        with open(d + '/big', 'wb') as f:\n            for _ in range(100): f.write(b'x' * (1 << 20))\n        out[d] = 'no limit'\n    except OSError as e: out[d] = e.errno\n    os.unlink(d + '/big')\nemit_result(out)"
    );
    assert_eq!(data(&result), r#"{"/workspace":28,"/tmp":28,"/dev/shm":28}"#);
}
