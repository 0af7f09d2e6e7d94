//! Containers have no network; with a policy, a proxy in a container of its own serves a listener
//! on their loopback.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;

use belljar_core::config::Injection;
use belljar_engine::docker::Docker;
use belljar_runtime::{NetworkPolicy, NetworkVerdict, Runtime, SandboxConfig, Secret};
use serde_json::json;

use crate::world::{
    answer, config, containers, docker, eventually, inspect, inspect_if_there, run, runtime, runtime_from,
    runtime_with, sandbox, volumes,
};

/// Where hosts of this test live, and how the proxy gets there: on the network of the daemon's
/// host.
const HOME: &str = "127.0.0.99";

/// A plain server on the daemon's host that tells its name; its port.
fn server(name: &'static str) -> u16 {
    let listener = TcpListener::bind((HOME, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut request = [0u8; 4096];
            let _ = stream.read(&mut request);
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{name}",
                name.len()
            );
        }
    });
    port
}

fn options() -> Docker {
    let known = ["one.test", "two.test"].map(|name| (name.to_owned(), HOME.parse().unwrap()));
    Docker::new().egress_network("host").known_hosts(known)
}

fn allowing(name: &str, host: &str, port: u16) -> SandboxConfig {
    let hosts = [host.to_owned(), HOME.to_owned()];
    let network_policy = NetworkPolicy {
        allowed_ports: hosts.iter().map(|host| (host.clone(), vec![port])).collect::<BTreeMap<_, _>>(),
        allowed_hosts: hosts.into(),
        ..NetworkPolicy::default()
    };
    SandboxConfig { network_policy, ..config(name) }
}

fn ask(host: &str, port: u16) -> String {
    format!(
        "import urllib.request, urllib.error
def ask(url):
    try: return urllib.request.urlopen(url, timeout=30).read().decode()
    except urllib.error.HTTPError as error: return error.code
    except OSError as error: return type(error).__name__
emit_result(ask('http://{host}:{port}/'))"
    )
}

#[tokio::test]
async fn an_isolated_container_has_no_interface_but_lo_and_no_route() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox(&runtime, config("alone")).await;
    let script = "import socket
def attempt(family, address):
    s = socket.socket(family); s.settimeout(5)
    try: s.connect(address); return 'connected'
    except OSError as error: return error.errno
emit_result([[l.split(':')[0].strip() for l in open('/proc/net/dev').readlines()[2:]], open('/proc/net/route').readlines()[1:], attempt(2, ('172.17.0.1', 22)), attempt(2, ('8.8.8.8', 53)), attempt(10, ('fd00::1', 80))])";
    let unreachable = 101;
    assert_eq!(answer(&sandbox, script).await, json!([["lo"], [], unreachable, unreachable, unreachable]));
}

#[tokio::test]
async fn allowed_hosts_are_reached_others_are_refused_and_both_are_told() {
    let port = server("one");
    let Some(runtime) = runtime_with(options()) else { return };
    let config = allowing("allowed", "one.test", port);
    let sandbox = sandbox(&runtime, config.clone()).await;
    assert_eq!(answer(&sandbox, &ask("one.test", port)).await, "one");
    let mut denied = Vec::new();
    let refused =
        sandbox.run_with(ask("two.test", port), |event| denied.push(format!("{event:?}"))).await.unwrap();
    assert_eq!(refused.final_data.unwrap().as_str(), "403");
    let [decision] = &refused.network[..] else { panic!("{:?}", refused.network) };
    assert_eq!((decision.host.as_str(), decision.port), ("two.test", port));
    assert!(matches!(decision.verdict, NetworkVerdict::Denied { .. }), "{decision:?}");
    assert!(denied.iter().any(|event| event.contains("Denied")), "{denied:?}");
    // A container itself has no network, and the proxy is as confined as the cells but for that.
    // Those that were talked from are gone, or going.
    let mut held = sandbox.session().await.unwrap();
    held.step("1").await.unwrap();
    let cell = containers(&config, "cell").into_iter().find_map(|id| inspect_if_there(&id)).unwrap();
    assert_eq!(cell["HostConfig"]["NetworkMode"], "none");
    assert_eq!(cell["Mounts"][0]["RW"], false);
    let proxy = inspect(&containers(&config, "proxy")[0]);
    assert_eq!(
        (&proxy["HostConfig"]["ReadonlyRootfs"], &proxy["Config"]["User"]),
        (&json!(true), &json!("65534:65534"))
    );
    assert_eq!(proxy["HostConfig"]["CapDrop"], json!(["ALL"]));
    assert!(!proxy.to_string().contains("one.test"), "what a proxy is told is not for everybody to inspect");
}

#[tokio::test]
async fn two_configs_have_two_proxies_and_their_lists_never_mix() {
    let (first, second) = (server("one"), server("two"));
    let Some(runtime) = runtime_with(options()) else { return };
    let (one, two) = (allowing("mixone", "one.test", first), allowing("mixtwo", "two.test", second));
    let (a, b) = (sandbox(&runtime, one.clone()).await, sandbox(&runtime, two.clone()).await);
    assert_eq!(answer(&a, &ask("one.test", first)).await, "one");
    assert_eq!(answer(&a, &ask("two.test", second)).await, 403);
    assert_eq!(answer(&b, &ask("two.test", second)).await, "two");
    assert_eq!(answer(&b, &ask("one.test", first)).await, 403);
    assert_ne!(containers(&one, "proxy"), containers(&two, "proxy"));
    assert_ne!(volumes(&one), volumes(&two));
}

#[tokio::test]
async fn a_guest_finds_no_door_to_the_proxy() {
    let port = server("one");
    let Some(runtime) = runtime_with(options()) else { return };
    let sandbox = sandbox(&runtime, allowing("intruder", "one.test", port)).await;
    // It cannot list the directory, make something in it, or find the name of a door in what it is
    // a copy of that still opens one.
    let script = "import gc, socket
def attempt(work):
    try: work(); return 'done'
    except OSError as error: return error.errno
home = '/run/belljar-egress'
def connect(name):
    with socket.socket(socket.AF_UNIX) as s: s.connect(name)
names = {name for value in gc.get_objects() if isinstance(value, dict) for name in value.values() if isinstance(name, str) and name.startswith(home)}
emit_result([attempt(lambda: os.listdir(home)), attempt(lambda: open(home + '/x', 'w')), [attempt(lambda: connect(name)) for name in names], attempt(lambda: connect(home + '/proxy.sock'))])";
    for _ in 0..2 {
        let said = answer(&sandbox, script).await;
        assert_eq!(said[0], 13, "{said}");
        assert!([13, 30].contains(&said[1].as_i64().unwrap()), "{said}");
        assert!(said[2].as_array().unwrap().iter().all(|attempt| attempt != "done"), "{said}");
        assert_eq!(said[3], 2, "{said}");
    }
    assert_eq!(answer(&sandbox, &ask("one.test", port)).await, "one");
}

#[tokio::test]
async fn guests_that_knock_everywhere_do_not_keep_another_container_waiting() {
    let port = server("one");
    let Some(runtime) = runtime_with(options()) else { return };
    let config = allowing("knocking", "one.test", port);
    let first = sandbox(&runtime, config).await;
    let mut session = first.session().await.unwrap();
    // Silent connections to whatever socket there is, kept open.
    let script = "import socket
kept = []
for name in (os.listdir('/run/belljar-egress') if os.access('/run/belljar-egress', os.R_OK) else ['proxy.sock']):
    for _ in range(500):
        s = socket.socket(socket.AF_UNIX); s.setblocking(False)
        try: s.connect('/run/belljar-egress/' + name); kept.append(s)
        except OSError: break
emit_result(len(kept))";
    assert_eq!(session.step(script).await.unwrap().final_data.unwrap().as_str(), "0");
    // The session holds its container, so this is another one, and has to be introduced.
    let began = std::time::Instant::now();
    assert_eq!(answer(&first, &ask("one.test", port)).await, "one");
    assert!(began.elapsed().as_secs() < 15, "after {:?}", began.elapsed());
}

#[tokio::test]
async fn a_proxy_that_dies_lets_nobody_out_and_is_followed_by_another() {
    let port = server("one");
    let Some(runtime) = runtime_with(options()) else { return };
    let config = allowing("crash", "one.test", port);
    let sandbox = sandbox(&runtime, config.clone()).await;
    let mut session = sandbox.session().await.unwrap();
    let step = session.step(ask("one.test", port)).await.unwrap();
    assert_eq!(step.final_data.unwrap().as_str(), "\"one\"");
    let first = containers(&config, "proxy");
    // While a script is on its way: what it asks for after that is refused by the kernel, not let
    // through.
    let mut run = sandbox.stream(format!(
        "emit_log('begun')\nwhile not os.path.exists('/workspace/never'):\n    {}\n    time.sleep(0.05)",
        "import urllib.request\n    try: urllib.request.urlopen('http://one.test:PORT/', timeout=5)\n    except OSError as error:\n        emit_result(type(error).__name__); break"
            .replace("PORT", &port.to_string())
    ));
    assert!(run.next().await.is_some());
    docker(&["kill", &first[0]]);
    let result = tokio::time::timeout(crate::world::HANG, run.result()).await.expect("it hangs").unwrap();
    assert!(
        ["\"URLError\"", "\"RemoteDisconnected\"", "\"ConnectionResetError\""]
            .contains(&result.final_data.as_ref().unwrap().as_str()),
        "{result:#?}"
    );
    eventually("another proxy is there", || {
        let now = containers(&config, "proxy");
        !now.is_empty() && now != first
    })
    .await;
    // The session held its container all the while, and is introduced to the new one.
    let step =
        tokio::time::timeout(crate::world::HANG, session.step(ask("one.test", port))).await.unwrap().unwrap();
    assert_eq!(step.final_data.unwrap().as_str(), "\"one\"");
    assert_eq!(run_to_end(&sandbox, port).await, "one");
}

#[tokio::test]
async fn a_program_that_is_named_is_the_proxy() {
    let Some(ordinary_runtime) = runtime_with(options()) else { return };
    let port = server("one");
    // A copy of this program, with one byte more, so that its image is another one.
    let program = std::env::temp_dir().join(format!("belljar-proxy-{}", std::process::id()));
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::OpenOptions::new().append(true).open(&program).unwrap().write_all(b"x").unwrap();
    let Some(runtime) = runtime_with(options().proxy_program(&program)) else { return };
    let config = allowing("named", "one.test", port);
    let named = sandbox(&runtime, config.clone()).await;
    assert_eq!(run_to_end(&named, port).await, "one");
    let image = |config: &SandboxConfig| inspect(&containers(config, "proxy")[0])["Image"].to_string();
    let ordinary = allowing("running", "one.test", port);
    let _sandbox = sandbox(&ordinary_runtime, ordinary.clone()).await;
    assert_ne!(image(&config), image(&ordinary));
    std::fs::remove_file(program).unwrap();
    // Any other program is refused before anything is built.
    let Some(runtime) = runtime_with(options().proxy_program("/bin/cat")) else { return };
    let told =
        runtime.sandbox(allowing("other", "one.test", port)).await.err().expect("no proxy").to_string();
    assert!(told.contains("/bin/cat") && told.contains("BELLJAR_PROXY_PROGRAM"), "{told}");
}

async fn run_to_end(sandbox: &belljar_runtime::Sandbox, port: u16) -> String {
    let result = run(sandbox, &ask("one.test", port)).await;
    assert!(result.success(), "{result:#?}");
    result.final_data.unwrap().as_str().trim_matches('"').to_owned()
}

/// Processor time of a container's first process, in seconds; `None` where its daemon is on another
/// machine.
fn processor_time(container: &str) -> Option<f64> {
    let pid = inspect(container)["State"]["Pid"].as_u64()?;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?;
    Some(ticks as f64 / 100.0)
}

#[tokio::test]
async fn a_flood_of_handshakes_costs_the_proxy_no_more_than_the_cell_may_use_itself() {
    let made = rcgen::generate_simple_self_signed(["one.test".to_owned()]).unwrap();
    let builder = Runtime::builder().secrets([("KEY", Secret::new("hunter2-hunter2"))]);
    let options = options().roots_pem(made.cert.pem());
    let Some(runtime) = runtime_from(builder, options) else { return };
    let mut config = allowing("flood", "one.test", 443);
    let [host, header, secret, prefix] = ["one.test", "X-Key", "KEY", ""].map(String::from);
    config.network_policy.inject =
        vec![Injection { host, ports: Vec::new(), header, secret, prefix, terminate_tls: true }];
    config.resource_limits.cpu_quota = 0.25;
    let sandbox = sandbox(&runtime, config.clone()).await;
    let proxy = containers(&config, "proxy").remove(0);
    let Some(before) = processor_time(&proxy) else {
        println!("skipped (the daemon is on another machine)");
        return;
    };
    // One greeting is made once and sent again and again: cheap for the guest, and each is answered
    // with a signature.
    let script = "import socket, ssl, time
context, into, out = ssl.create_default_context(), ssl.MemoryBIO(), ssl.MemoryBIO()
try: context.wrap_bio(into, out, server_hostname='one.test').do_handshake()
except ssl.SSLWantReadError: pass
greeting, count, ended = out.read(), 0, time.monotonic() + 8
connect = b'CONNECT one.test:443 HTTP/1.1\\r\\nHost: one.test:443\\r\\n\\r\\n'
while time.monotonic() < ended:
    many = [socket.create_connection(('127.0.0.1', 3128)) for _ in range(32)]
    for s in many: s.sendall(connect + greeting)
    for s in many: count += len(s.recv(4096)) > 0; s.close()
emit_result(count)";
    assert!(answer(&sandbox, script).await.as_u64().unwrap() > 10);
    let used = processor_time(&proxy).unwrap() - before;
    // A quarter of a processor, and one second that may be saved up.
    assert!(used < 0.25 * 8.0 + 1.0 + 1.0, "{used} s of processor time");
}

/// The kernel counts descriptors that are on their way by user, and guests of all containers are
/// one user.
#[tokio::test]
async fn a_guest_with_descriptors_on_their_way_keeps_no_networked_container_from_starting() {
    let Some(runtime) = runtime_with(options()) else { return };
    let greedy = sandbox(&runtime, config("greedy")).await;
    let script = "import socket, array\nheld, count = [], 0\ntry:\n    while True:\n        held.append(socket.socketpair())\n        for _ in range(4):\n            \
                  held[-1][0].sendmsg([b'.'], [(1, 1, array.array('i', [0] * 250))]); count += 250\nexcept OSError as refused: emit_result([count, refused.errno])";
    let mut session = greedy.session().await.unwrap();
    let took = session.step(script).await.unwrap();
    let took: (u64, i32) = serde_json::from_str(took.final_data.unwrap().as_str()).unwrap();
    assert!(took.0 >= 1000 && took.1 == rustix::io::Errno::TOOMANYREFS.raw_os_error(), "{took:?}");
    let networked = sandbox(&runtime, allowing("networked", "one.test", server("one"))).await;
    assert_eq!(answer(&networked, "emit_result(1)").await, json!(1));
}
