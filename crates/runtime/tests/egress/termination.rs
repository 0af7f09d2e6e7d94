//! HTTPS that the proxy opens to set a credential: ordinary clients believe it there, the host gets
//! what the guest never has, and nobody else believes it.

use belljar_runtime::NetworkVerdict;
use belljar_testing::data;

use crate::world::{SECRET, World};

/// What a host has heard when the proxy has set the header and nothing of the guest's was left.
fn set() -> String {
    format!("Token {SECRET}")
}

/// Looks for the secret in everything a guest can read: `found` is where it is. The script spells
/// it backwards, so that it is not itself what is found.
fn search() -> String {
    let backwards: String = SECRET.chars().rev().collect();
    format!(
        "needle = '{backwards}'[::-1].encode()\n\
         places = [f'/proc/{{p}}/{{f}}' for p in os.listdir('/proc') if p.isdigit() for f in ('environ', 'cmdline')]\n\
         for top in ('/workspace', '/tmp', '/run', '/etc', '/tools', '/dev/shm', '/data'):\n    places += [os.path.join(d, f) for d, _, files in os.walk(top) for f in files]\n\
         found = [k for k, v in os.environ.items() if needle in (k + v).encode()]\n\
         looked = 0\n\
         for place in places:\n    try:\n        with open(place, 'rb') as file: found += [place] if needle in file.read() else []\n        looked += 1\n    except OSError: pass\n"
    )
}

#[tokio::test]
async fn urllib_and_curl_send_a_credential_they_do_not_have() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox_opening_tls("api.test").await;
    // No context, no bundle: whatever a client does by itself is enough.
    let script = "import shutil, subprocess, urllib.request\nurl = f'https://api.test:{HTTPS}/'\n\
                  with urllib.request.urlopen(urllib.request.Request(url, headers={'X-Key': 'mine'})) as r: seen = [r.read().decode(), str(r.headers)]\n\
                  with urllib.request.urlopen(url) as r: seen += [r.read().decode()]\n\
                  if shutil.which('curl'):\n    p = subprocess.run(['curl', '-sSi', '-H', 'X-Key: mine', '-H', 'x-key: again', url], capture_output=True, text=True)\n    seen += [p.stdout + p.stderr]\n";
    let script = format!(
        "{script}{}found += [s for s in seen if needle.decode() in s]\nemit_result([len(seen), [seen[0], seen[2]], found, looked > 5])",
        search()
    );
    let result = world.run(&sandbox, &script).await;
    let (count, bodies, found, looked): (usize, Vec<String>, Vec<String>, bool) =
        serde_json::from_str(data(&result)).unwrap();
    assert_eq!((bodies, found, looked), (vec!["hello".to_owned(); 2], Vec::new(), true));
    let requests = count - 1;
    assert_eq!(world.take_keys(), vec![set(); requests], "one header, the proxy's");
    let [line] = &result.network[..] else { panic!("{:#?}", result.network) };
    assert_eq!(
        (&line.verdict, line.count),
        (&NetworkVerdict::Allowed, requests as u64),
        "each request is counted"
    );
}

#[tokio::test]
async fn requests_and_httpx_send_it_too() {
    let Some(world) = World::new().await else { return };
    let packages = ["requests", "httpx", "aiohttp"];
    let Some(sandbox) = world.sandbox_opening_tls_with_packages("api.test", &packages).await else { return };
    let script = "import httpx, requests\nurl = f'https://api.test:{HTTPS}/'\n\
                  with requests.Session() as s: first = [s.get(url, headers={'X-Key': 'mine'}).text for _ in range(2)]\n\
                  emit_result(first + [httpx.get(url, headers={'X-Key': 'mine'}).text])";
    assert_eq!(data(&world.run(&sandbox, script).await), r#"["hello","hello","hello"]"#);
    assert_eq!(world.take_keys(), vec![set(); 3]);
}

#[tokio::test]
async fn a_sandbox_that_did_not_ask_believes_nobody_new() {
    let Some(world) = World::new().await else { return };
    let (opening, plain) =
        (world.sandbox_opening_tls("api.test").await, world.sandbox_with_credential("api.test").await);
    let other = world.sandbox_opening_tls("other.test").await;
    let script =
        "import ssl\nemit_result([c.hex() for c in ssl.create_default_context().get_ca_certs(True)])";
    let mut believed = Vec::new();
    for sandbox in [&opening, &other, &plain] {
        let certificates: Vec<String> =
            serde_json::from_str(data(&world.run(sandbox, script).await)).unwrap();
        believed.push(certificates);
    }
    let new = |of: usize| believed[of].iter().filter(|one| !believed[2].contains(one)).collect::<Vec<_>>();
    assert_eq!((new(0).len(), new(1).len()), (1, 1), "one authority more than where nothing is opened");
    assert_ne!(new(0), new(1), "each template has an authority of its own");

    // Where nothing is opened the guest speaks to the host itself, whom only its own certificate
    // vouches for.
    let script = "import ssl, urllib.error, urllib.request\nurl = f'https://api.test:{HTTPS}/'\n\
                  try: urllib.request.urlopen(url); answer = 'believed'\nexcept urllib.error.URLError as e: answer = type(e.reason).__name__\n\
                  r = urllib.request.Request(url, headers={'X-Key': 'mine'})\n\
                  emit_result([answer, urllib.request.urlopen(r, context=ssl.create_default_context(cafile=CA)).read().decode()])";
    assert_eq!(data(&world.run(&plain, script).await), r#"["SSLCertVerificationError","hello"]"#);
    assert_eq!(world.take_keys(), ["mine"], "what is not opened is not changed");
}

#[tokio::test]
async fn a_host_nobody_vouches_for_is_a_failure_with_a_reason() {
    let Some(world) = World::of_strangers().await else { return };
    let sandbox = world.sandbox_opening_tls("api.test").await;
    let script = "import urllib.error, urllib.request\ntry: urllib.request.urlopen(f'https://api.test:{HTTPS}/'); emit_result('believed')\n\
                  except urllib.error.HTTPError as e: emit_result([e.code, json.loads(e.read())['reason']])";
    let result = world.run(&sandbox, script).await;
    let (code, reason): (u16, String) = serde_json::from_str(data(&result)).unwrap();
    assert!(code == 502 && reason.starts_with("TLS with the host failed: "), "{code} {reason}");
    assert!(
        matches!(&result.network[..], [one] if matches!(&one.verdict, NetworkVerdict::Failed { reason: said } if *said == reason)),
        "{:?}",
        result.network
    );
    assert!(world.take_keys().is_empty(), "the credential went to a stranger");
}

#[tokio::test]
async fn what_is_inside_is_decided_request_by_request() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox_opening_tls("api.test").await;
    let script = "import socket, ssl\ndef ask(request):\n    s = socket.create_connection(('127.0.0.1', 3128))\n    s.sendall(f'CONNECT api.test:{HTTPS} HTTP/1.1\\r\\nHost: api.test:{HTTPS}\\r\\n\\r\\n'.encode())\n    head = b''\n    while not head.endswith(b'\\r\\n\\r\\n'): head += s.recv(1)\n\
                  \x20   with ssl.create_default_context().wrap_socket(s, server_hostname='api.test') as t:\n        t.sendall(request.encode()); return int(t.recv(65536).split()[1])\n\
                  good = f'api.test:{HTTPS}'\n\
                  emit_result([ask(f'GET / HTTP/1.1\\r\\nHost: {good}\\r\\n\\r\\n'), ask('GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n'), ask(f'GET https://evil.test/ HTTP/1.1\\r\\nHost: {good}\\r\\n\\r\\n'), ask(f'TRACE / HTTP/1.1\\r\\nHost: {good}\\r\\n\\r\\n'), ask(f'CONNECT evil.test:443 HTTP/1.1\\r\\nHost: {good}\\r\\n\\r\\n')])";
    assert_eq!(data(&world.run(&sandbox, script).await), "[200,403,403,403,403]");
    assert_eq!(world.take_keys(), [set()]);
}
