//! A cell reaches the hosts of its policy and no others. The host here is an address, so that no
//! engine needs to be told how names are resolved.

use belljar_runtime::{NetworkVerdict, Sandbox, SandboxConfig};

use super::claim::claims;
use super::subject::Subject;
use crate::bypass::{ALLOWED, Host, policy};
use crate::running::{config, data, run};

claims! {
    egress_is_promised,
    an_allowed_host_is_reached_and_on_record,
    other_hosts_and_ports_are_refused_and_on_record,
    nothing_but_the_proxy_is_reached,
}

async fn egress_is_promised(subject: &Subject) {
    assert!(subject.engine().capabilities().egress_policy, "`egress_policy` is false");
}

async fn allowed(subject: &Subject, host: &Host) -> Sandbox {
    subject.sandbox_with(SandboxConfig { network_policy: policy(&[host.port]), ..config() }).await
}

/// The status of a request, as a script sees it that asks the proxy for every host.
fn get(url: &str) -> String {
    format!(
        "import urllib.request, urllib.error\n\
         for name in ('no_proxy', 'NO_PROXY'): os.environ.pop(name, None)\n\
         try: emit_result(urllib.request.urlopen('{url}').status)\n\
         except urllib.error.HTTPError as error: emit_result(error.code)"
    )
}

async fn an_allowed_host_is_reached_and_on_record(subject: &Subject) {
    let host = Host::start().await;
    let sandbox = allowed(subject, &host).await;
    let result = run(&sandbox, &get(&format!("http://{ALLOWED}:{}/", host.port))).await;
    assert_eq!(data(&result), "200");
    let [decision] = &result.network[..] else { panic!("{:?}", result.network) };
    assert_eq!((decision.port, &decision.verdict), (host.port, &NetworkVerdict::Allowed));
    assert!(decision.bytes_received > 0 && host.heard().starts_with("GET / "), "{decision:?}");
}

async fn other_hosts_and_ports_are_refused_and_on_record(subject: &Subject) {
    let (host, stranger) = (Host::start().await, Host::start().await);
    let sandbox = allowed(subject, &host).await;
    for url in [
        format!("http://evil.test:{}/", host.port),
        format!("http://{ALLOWED}:{}/", stranger.port),
        format!("http://127.0.0.1:{}/", host.port),
        "http://169.254.169.254/".to_owned(),
    ] {
        let result = run(&sandbox, &get(&url)).await;
        assert_eq!(data(&result), "403", "{url}");
        let denied =
            |decision: &belljar_runtime::Decision| matches!(decision.verdict, NetworkVerdict::Denied { .. });
        assert!(
            result.network.len() == 1 && result.network.iter().all(denied),
            "{url}: {:?}",
            result.network
        );
    }
    assert_eq!((host.heard(), stranger.heard()), (String::new(), String::new()));
}

async fn nothing_but_the_proxy_is_reached(subject: &Subject) {
    let host = Host::start().await;
    let sandbox = allowed(subject, &host).await;
    let script = format!(
        "import socket\nout = []\nfor at in [('{ALLOWED}', {}), ('1.1.1.1', 53)]:\n\
         \x20   try: socket.create_connection(at, timeout=5); out.append(at)\n    except OSError: pass\nemit_result(out)",
        host.port
    );
    assert_eq!(data(&run(&sandbox, &script).await), "[]");
    assert_eq!(host.heard(), "");
}
