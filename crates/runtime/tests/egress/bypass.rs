//! The proxy's own corpus of ways around it, from inside a real cell: the same lines, the same
//! expectations, and between them a guest's sockets, the listener made in its network, and the
//! engine.
//!
//! What needs no proxy to be refused (packet and raw sockets, other families, other cells' ports)
//! is the escape suite's; here are those shapes that a cell with a way out could have and one
//! without cannot.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, Mutex};

use belljar_engine::docker::Docker;
use belljar_engine::egress::{Resolve, Resolving, Roots};
use belljar_engine::native::Native;
use belljar_runtime::{NetworkVerdict, Runtime, Sandbox, SandboxConfig, Secret, Session};
use belljar_testing::bypass::{
    ALLOWED, Case, Host, Opening, Shape, cases, denial, policy_with_credentials, refusal, silence,
};
use belljar_testing::{HANG, build_with, config, data, engine, only_on, run};

/// Answers every name with what it was told last.
#[derive(Clone, Default)]
struct Leads(Arc<Mutex<Vec<IpAddr>>>);

impl Resolve for Leads {
    fn resolve<'a>(&'a self, _: &'a str) -> Resolving<'a> {
        let addresses = self.0.lock().unwrap().clone();
        Box::pin(async move { Ok(addresses) })
    }
}

/// Sends bytes to the proxy and says what came back, in hexadecimal.
const DRIVER: &str = r"
import socket
def until_granted(s, http):
    head = b''
    while (not head.endswith(b'\r\n\r\n')) if http else len(head) < 12:
        byte = s.recv(1)
        if not byte: return head
        head += byte
    for line in head.lower().split(b'\r\n') if http else ():
        if line.startswith(b'content-length:'):
            for _ in range(int(line.split(b':')[1])): s.recv(1)
    return head
def attack(opening, http, message):
    granted, seen = b'', b''
    with socket.create_connection(('127.0.0.1', 3128)) as s:
        if opening:
            s.sendall(bytes.fromhex(opening))
            granted = until_granted(s, http)
        try:
            s.sendall(bytes.fromhex(message))
            s.shutdown(socket.SHUT_WR)
        # It may be refused while it is still being sent.
        except OSError: pass
        try:
            while piece := s.recv(65536): seen += piece
        except OSError: pass
    emit_result([granted.hex(), seen.hex()])
";

/// Where a case that is about an address has its name: on docker names are known beforehand, and
/// this is one below a suffix.
fn leading(case: &Case) -> String {
    match engine() {
        "docker" => format!("{}.wild.test", case.id),
        _ => "good.test".to_owned(),
    }
}

/// What a proxy in a container is told of names, because it has no resolver of ours.
fn known_hosts() -> BTreeMap<String, IpAddr> {
    let allowed = ["good.test", "vault.test", "keyed.test", "plain.test", "evil.test"];
    let mut known: BTreeMap<_, _> = allowed.map(|name| (name.to_owned(), ALLOWED)).into();
    for case in cases().iter().filter(|case| case.action == "leads" && !case.sent.contains(' ')) {
        known.insert(leading(case), case.sent.parse().unwrap());
    }
    known
}

async fn sandbox(host: &Host, leads: &Leads) -> Option<Sandbox> {
    let nobody = rcgen::generate_simple_self_signed(["nobody.test".to_owned()]).unwrap().cert.pem();
    let secrets = BTreeMap::from([("KEY".to_owned(), Secret::new("hunter2-hunter2"))]);
    let native = Native::new().resolver(leads.clone()).roots(Roots::from_pem(&nobody).unwrap());
    let docker = Docker::new().egress_network("host").known_hosts(known_hosts()).roots_pem(nobody);
    let runtime = build_with(Runtime::builder().secrets(secrets), native, docker)?;
    // The usual ports as well, so that a case can be about something else than its port.
    let network_policy = policy_with_credentials(&[80, 443, host.port]);
    Some(runtime.sandbox(SandboxConfig { network_policy, ..config() }).await.unwrap())
}

#[tokio::test]
async fn every_attack_of_the_corpus_is_refused_from_inside_a_cell() {
    let (host, leads) = (Host::start().await, Leads::default());
    let Some(sandbox) = sandbox(&host, &leads).await else { return };
    // One cell for all of them: what one attack leaves behind is there for the next.
    let mut session = sandbox.session().await.unwrap();
    session.step(DRIVER).await.unwrap();
    let (cases, mut failures) = (cases(), Vec::new());
    // A name in a container's proxy has one address.
    let is_possible =
        |case: &&Case| engine() == "native" || case.action != "leads" || !case.sent.contains(' ');
    for case in cases.iter().filter(is_possible) {
        *leads.0.lock().unwrap() = match case.action {
            "leads" => case.sent.split(' ').map(|address| address.parse().unwrap()).collect(),
            _ => vec![ALLOWED],
        };
        if let Err(why) = try_case(case, &mut session, &host).await {
            failures.push(format!("{}: {why}", case.id));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
    assert!(cases.len() >= 370, "only {} cases are left", cases.len());

    // The cell is as it was: what is allowed still passes.
    let ask = format!(
        "import urllib.request\nemit_result(urllib.request.urlopen('http://good.test:{}/').read().decode())",
        host.port
    );
    assert_eq!(data(&session.step(ask.as_str()).await.unwrap()), r#""hello""#);
}

async fn try_case(case: &Case, session: &mut Session, host: &Host) -> Result<(), String> {
    let Shape { opening, message } = Shape::of(case, host.port, &leading(case));
    let (opening, is_http) = match opening {
        None => (Vec::new(), true),
        Some(Opening::Http(opening)) => (opening, true),
        Some(Opening::Socks(opening)) => (opening, false),
    };
    let python = if is_http { "True" } else { "False" };
    let script = format!("attack('{}', {python}, '{}')", to_hex(&opening), to_hex(&message));
    let step = tokio::time::timeout(HANG, session.step(script.as_str())).await;
    let result = step.map_err(|_| "no end")?.map_err(|error| error.to_string())?;
    let said =
        result.final_data.as_ref().ok_or_else(|| format!("{:?} {:?}", result.verdict, result.error))?;
    let (granted, seen): (String, String) = serde_json::from_str(said.as_str()).unwrap();
    let (granted, seen) = (from_hex(&granted), from_hex(&seen));
    let is_granted = match (opening.is_empty(), is_http) {
        (true, _) => granted.is_empty(),
        (_, true) => granted.starts_with(b"HTTP/1.1 200 "),
        (_, false) => granted.starts_with(&[5, 0, 5, 0]),
    };
    if !is_granted {
        return Err(format!("what is allowed was answered by {:?}", String::from_utf8_lossy(&granted)));
    }
    let checked = denial(case, &result.network).and_then(|()| silence(case, &host.take_heard()));
    checked.and_then(|()| refusal(case, &seen)).map_err(|why| format!("{why}; the guest saw {seen:?}"))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[tokio::test]
async fn a_way_out_for_tcp_is_none_for_anything_else() {
    let (host, leads) = (Host::start().await, Leads::default());
    let Some(sandbox) = sandbox(&host, &leads).await else { return };
    // The address and port that are allowed, by UDP.
    let udp = UdpSocket::bind((ALLOWED, host.port)).unwrap();
    udp.set_nonblocking(true).unwrap();
    let script = format!(
        "import socket\nP, out = {}, {{}}\n\
         def attempt(name, work):\n    try: work(); out[name] = 'sent'\n    except OSError as e: out[name] = e.errno\n\
         def send(address, family=socket.AF_INET, kind=socket.SOCK_DGRAM, protocol=0):\n    with socket.socket(family, kind, protocol) as s: s.settimeout(60); s.connect(address); s.send(b'x' * 32); s.recv(1) if family == socket.AF_INET and address[0].startswith('127.') else None\n\
         attempt('udp to the allowed host', lambda: send(('127.0.0.77', P)))\n\
         attempt('udp to the proxy', lambda: send(('127.0.0.1', 3128)))\n\
         attempt('dns', lambda: send(('1.1.1.1', 53)))\n\
         attempt('dns by tcp', lambda: send(('8.8.8.8', 53), kind=socket.SOCK_STREAM))\n\
         attempt('dns of systemd', lambda: send(('127.0.0.53', 53)))\n\
         attempt('quic', lambda: send(('127.0.0.77', 443)))\n\
         attempt('v6', lambda: send(('2606:4700:4700::1111', 443), socket.AF_INET6, socket.SOCK_STREAM))\n\
         attempt('mapped', lambda: send(('::ffff:127.0.0.77', P), socket.AF_INET6, socket.SOCK_STREAM))\n\
         attempt('link-local', lambda: send(('fe80::1', P, 0, 1), socket.AF_INET6, socket.SOCK_STREAM))\n\
         attempt('multicast', lambda: send(('224.0.0.251', 5353)))\n\
         attempt('raw', lambda: send(('127.0.0.77', 0), kind=socket.SOCK_RAW, protocol=socket.IPPROTO_ICMP))\n\
         attempt('ping', lambda: send(('127.0.0.77', 0), protocol=socket.IPPROTO_ICMP))\n\
         emit_result(out)",
        host.port
    );
    let result = run(&sandbox, &script).await;
    let out: std::collections::BTreeMap<String, serde_json::Value> =
        serde_json::from_str(data(&result)).unwrap();
    assert_eq!(out.len(), 12);
    for (what, outcome) in &out {
        assert!(outcome.is_number(), "{what}: {outcome}; all of it: {out:?}");
    }
    assert_eq!(udp.recv(&mut [0; 64]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "it was heard");
    assert_eq!((host.heard().as_str(), result.network.len()), ("", 0));
}

#[tokio::test]
async fn a_name_whose_answer_changes_is_vetted_whenever_it_is_asked_for() {
    if !only_on("native", "a proxy in a container is told its names once") {
        return;
    }
    let (host, leads) = (Host::start().await, Leads::default());
    let Some(sandbox) = sandbox(&host, &leads).await else { return };
    // The same port on an address that is not listed: whoever resolves again ends up here.
    let trap = std::net::TcpListener::bind(("127.0.0.66", host.port)).unwrap();
    trap.set_nonblocking(true).unwrap();
    let mut session = sandbox.session().await.unwrap();
    // With a body, so that each is sent on a connection of its own.
    let ask = format!(
        "import urllib.request, urllib.error\n\
         try: emit_result(urllib.request.urlopen('http://good.test:{}/', data=b'x').status)\n\
         except urllib.error.HTTPError as error: emit_result(error.code)",
        host.port
    );
    for (address, told) in [(ALLOWED, "200"), ("127.0.0.66".parse().unwrap(), "403"), (ALLOWED, "200")] {
        *leads.0.lock().unwrap() = vec![address];
        let result = session.step(ask.as_str()).await.unwrap();
        assert_eq!(data(&result), told, "{address}");
        let denied = matches!(result.network[0].verdict, NetworkVerdict::Denied { .. });
        assert_eq!(denied, told == "403");
    }
    assert_eq!(trap.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "the trap was dialled");
}
