//! A credential goes where its config says and no further: by TLS where that is demanded, to its
//! own ports, and never beside one of the guest's making.

use belljar_core::config::Injection;
use belljar_runtime::{NetworkVerdict, SandboxConfig};
use belljar_testing::data;

use crate::world::{HOME, SECRET, World};

#[tokio::test]
async fn a_credential_that_demands_tls_never_leaves_in_clear() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox_opening_tls("api.test").await;
    // Every plain way to ask: both ports, both versions, other spellings, other methods, and as the
    // second on a connection.
    let script = "out = []\n\
                  for port in (HTTP, HTTPS):\n    for name in ('api.test', 'API.test.'):\n        for line in ('GET', 'POST', 'OPTIONS', 'HEAD'):\n            at = f'{name}:{port}'\n            out.append(ask(f'{line} http://{at}/ HTTP/1.1\\r\\nHost: {at}\\r\\nX-Key: mine\\r\\n\\r\\n'.encode()))\n\
                  out.append(ask(f'GET http://api.test:{HTTP}/ HTTP/1.0\\r\\n\\r\\n'.encode()))\n\
                  out.append(ask(request('/', port=HTTP, more='') + request('/', port=HTTP)))\n\
                  emit_result([answer.decode('latin1') for answer in out])";
    let result = world.run(&sandbox, script).await;
    let answers: Vec<String> = serde_json::from_str(data(&result)).unwrap();
    for answer in &answers {
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("TLS"), "{answer}");
    }
    assert_eq!(answers.len(), 18);
    assert_eq!(world.take_keys(), [""; 0], "a request reached a host in clear");
    let denied = |verdict: &NetworkVerdict| matches!(verdict, NetworkVerdict::Denied { .. });
    assert!(result.network.iter().all(|line| denied(&line.verdict)), "{:#?}", result.network);
}

#[tokio::test]
async fn a_credential_belongs_to_the_ports_of_its_entry() {
    let Some(world) = World::new().await else { return };
    // The same host twice: with one port and a credential, and below a suffix with the other.
    let mut config = world.config("api.test", credential("api.test"));
    let ports = &mut config.network_policy.allowed_ports;
    ports.insert("api.test".into(), vec![world.odd.port]);
    config.network_policy.allowed_hosts.push("*.test".into());
    config.network_policy.allowed_ports.insert("*.test".into(), vec![world.http]);
    let sandbox = world.runtime.sandbox(config).await.unwrap();
    let script = "emit_result(ask(request('/echo', port=HTTP)).decode())";
    let result = world.run(&sandbox, script).await;
    assert!(data(&result).contains("200 OK"), "{result:#?}");
    assert_eq!(world.take_keys(), [""], "it went to a port that its entry does not have");
}

#[tokio::test]
async fn names_that_a_server_may_take_for_the_injected_one_are_dropped() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox_with_credential("api.test").await;
    let script = "mine = 'X_Key: mine\\r\\nx_key: mine\\r\\nX_KEY: mine\\r\\nX.Key: mine\\r\\nX-Other: kept\\r\\n'\n\
                  emit_result(ask(request('/all', port=HTTP, more=mine + 'Connection: close\\r\\n')).decode())";
    let answer = world.run(&sandbox, script).await;
    let said: String = serde_json::from_str(data(&answer)).unwrap();
    assert!(said.contains("x-other: kept"), "{said}");
    assert!(!said.contains("mine"), "{said}");
    assert_eq!(world.take_keys(), [format!("Token {SECRET}")]);
}

#[tokio::test]
async fn port_443_is_for_tls_unless_the_host_is_plain() {
    let Some(world) = World::new().await else { return };
    let mut config = world.config("api.test", Vec::new());
    for host in ["api.test".to_owned(), HOME.to_string()] {
        config.network_policy.allowed_ports.get_mut(&host).unwrap().push(443);
    }
    let script = "emit_result([ask(request('/', port=443)).decode(), ask(request('/', host='127.0.0.88', port=443)).decode(), ask(request('/', port=HTTP)).decode()])";
    let sandbox = world.runtime.sandbox(config.clone()).await.unwrap();
    let answers: Vec<String> = serde_json::from_str(data(&world.run(&sandbox, script).await)).unwrap();
    for answer in &answers[..2] {
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("plain_hosts"), "{answer}");
    }
    assert!(answers[2].ends_with("hello"), "{}", answers[2]);
    // Nobody listens there; that it is tried is what counts.
    config.network_policy.plain_hosts = vec!["api.test".into()];
    let sandbox = world.runtime.sandbox(SandboxConfig { name: "plain".into(), ..config }).await.unwrap();
    let answers: Vec<String> = serde_json::from_str(data(&world.run(&sandbox, script).await)).unwrap();
    assert!(answers[0].starts_with("HTTP/1.1 502 "), "{}", answers[0]);
    assert!(answers[1].starts_with("HTTP/1.1 403 "), "the address itself is not listed as plain");
}

fn credential(host: &str) -> Vec<Injection> {
    let [header, secret, prefix] = ["X-Key", "KEY", "Token "].map(String::from);
    vec![Injection { host: host.to_owned(), ports: Vec::new(), header, secret, prefix, terminate_tls: false }]
}
