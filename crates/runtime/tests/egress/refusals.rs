//! What is not allowed is refused, told to the script, told to its caller, and reaches nobody.

use belljar_runtime::{EventKind, NetworkVerdict};
use belljar_testing::{config, data, run, sandbox_with};

use crate::world::World;

#[tokio::test]
async fn a_denial_is_an_answer_that_can_be_read_an_event_and_a_line_in_the_result() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = format!(
        "import urllib.request, urllib.error\ntry: urllib.request.urlopen('http://evil.test:{}/')\n\
         except urllib.error.HTTPError as e: emit_result([e.code, json.loads(e.read())])",
        world.http
    );
    let mut denials = Vec::new();
    let result = sandbox
        .run_with(script, |event| {
            if let EventKind::Denied { target, .. } = event.kind {
                denials.push(target);
            }
        })
        .await
        .unwrap();
    let (code, body): (u16, serde_json::Value) = serde_json::from_str(data(&result)).unwrap();
    let target = format!("evil.test:{}", world.http);
    assert_eq!((code, body["denied"].as_str()), (403, Some(target.as_str())), "{body}");
    assert!(body["rule"].is_string() && body["allowed"].is_array(), "{body}");
    assert_eq!(denials, [target]);
    assert!(matches!(result.network[..], [ref one] if matches!(one.verdict, NetworkVerdict::Denied { .. })));
}

#[tokio::test]
async fn two_sandboxes_reach_only_their_own_hosts() {
    let Some(world) = World::new().await else { return };
    let (first, second) = (world.sandbox("api.test").await, world.sandbox("other.test").await);
    let script = "import urllib.request, urllib.error\ndef ask(host):\n    try: return urllib.request.urlopen(f'http://{host}:{HTTP}/').status\n    except urllib.error.HTTPError as e: return e.code\n\
                  emit_result([ask('api.test'), ask('other.test')])";
    let (first, second) = tokio::join!(world.run(&first, script), world.run(&second, script));
    assert_eq!((data(&first), data(&second)), ("[200,403]", "[403,200]"));
}

#[tokio::test]
async fn there_is_no_other_way_out() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    // No route, no resolver, no address of the host's, though the proxy could reach all of them.
    let script = "import socket\nout = []\nfor address in [('127.0.0.88', HTTP), ('10.0.0.1', 80), ('169.254.169.254', 80), ('1.1.1.1', 53)]:\n    s = socket.socket(); s.settimeout(10)\n    try: s.connect(address); out.append('connected')\n    except OSError as e: out.append(e.errno)\n\
                  try: socket.getaddrinfo('api.test', 80); out.append('resolved')\nexcept OSError: out.append('unknown')\nemit_result(out)";
    // Refused where only loopback could answer, unreachable elsewhere.
    assert_eq!(data(&world.run(&sandbox, script).await), r#"[111,101,101,101,"unknown"]"#);
}

#[tokio::test]
async fn a_tunnel_carries_tls_to_the_named_host_and_nothing_else() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox("api.test").await;
    let script = "import socket, ssl\ndef tunnel():\n    s = socket.create_connection(('127.0.0.1', 3128)); s.settimeout(60)\n    s.sendall(f'CONNECT api.test:{HTTPS} HTTP/1.1\\r\\nHost: api.test:{HTTPS}\\r\\n\\r\\n'.encode())\n    head = b''\n    while not head.endswith(b'\\r\\n\\r\\n'): head += s.recv(1)\n    return s\n\
                  def greet(name):\n    context = ssl.create_default_context(cafile=CA); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE\n    try: context.wrap_socket(tunnel(), server_hostname=name); return 'shaken'\n    except OSError: return 'cut'\n\
                  plain = tunnel(); plain.sendall(b'GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n')\ntry: answer = plain.recv(1000)\nexcept OSError: answer = b''\n\
                  emit_result([greet('api.test'), greet('evil.test'), greet(None), b'hello' in answer])";
    assert_eq!(data(&world.run(&sandbox, script).await), r#"["shaken","cut","cut",false]"#);
}

#[tokio::test]
async fn a_config_that_allows_nobody_has_no_listener_and_no_variables() {
    let Some(runtime) = belljar_testing::runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import socket\ns = socket.socket()\ntry: s.connect(('127.0.0.1', 3128)); answer = 'connected'\nexcept OSError as e: answer = e.errno\n\
                  emit_result([answer, [k for k in os.environ if 'proxy' in k.lower()]])";
    assert_eq!(data(&run(&sandbox, script).await), "[111,[]]");
}
