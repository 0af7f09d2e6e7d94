//! However a connection to a host ends, it leaves no port of this machine waiting (`TIME_WAIT`).
//! All programs of the machine share the ports.
//!
//! The side that ends first is the one that waits. So the proxy never ends first in the ordinary
//! way, with one exception: a guest has ended its side of a plain tunnel and the host has to hear
//! of it. The template has a limit for those.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use belljar_proxy::{CellEgress, Egress, EgressOptions, Limits};
use rustls::RootCertStore;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::injection::injecting;
use crate::world::{ALLOWED, Script, connector, policy, read_answer, tls_host};

/// How often each way is tried.
const TIMES: usize = 20;

/// Long enough for a loaded machine.
const HANG: Duration = Duration::from_secs(60);

/// The states of all sockets of this machine that are connected to a port of the allowed hosts, as
/// the kernel writes them.
fn sockets_to(port: u16) -> Vec<String> {
    let IpAddr::V4(home) = ALLOWED else { panic!("{ALLOWED}") };
    let remote = format!("{:08X}:{port:04X}", u32::from_ne_bytes(home.octets()));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields.filter(|line| line[2] == remote).map(|line| line[3].to_owned()).collect()
}

/// How many ports are held for connections to a host, once all of them have ended.
async fn held(port: u16) -> usize {
    const TIME_WAIT: &str = "06";
    let ended = async {
        loop {
            let sockets = sockets_to(port);
            if sockets.iter().all(|state| state == TIME_WAIT) {
                return sockets.len();
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(HANG, ended).await.unwrap_or_else(|_| panic!("still there: {:?}", sockets_to(port)))
}

/// What a host does once somebody has connected.
#[derive(Clone, Copy)]
enum Manner {
    /// Reads to the end, then ends too.
    Listens,
    /// Reads to the end, then answers with as many bytes as it has read.
    AnswersAtTheEnd,
    /// Ends once it has read something.
    EndsFirst,
    /// Answers each request like this, and leaves the end to the other side.
    Says(&'static str),
}

async fn host(manner: Manner) -> u16 {
    let listener = TcpListener::bind((ALLOWED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(behave(stream, manner));
        }
    });
    port
}

async fn behave(mut stream: TcpStream, manner: Manner) {
    let mut heard = Vec::new();
    match manner {
        Manner::Listens => drop(stream.read_to_end(&mut heard).await),
        Manner::AnswersAtTheEnd => {
            if stream.read_to_end(&mut heard).await.is_ok() {
                let _ = stream.write_all(&vec![b'x'; heard.len()]).await;
            }
        }
        Manner::EndsFirst => drop(stream.read_buf(&mut heard).await),
        Manner::Says(answer) => {
            while let Ok(1..) = stream.read_buf(&mut heard).await {
                if heard.ends_with(b"\r\n\r\n") {
                    heard.clear();
                    let _ = stream.write_all(answer.as_bytes()).await;
                }
            }
        }
    }
}

/// A template whose cells may dial as often as they like.
fn template(ports: &[u16], limits: Limits) -> Egress {
    let mut options = EgressOptions::new(Script::new(vec![vec![ALLOWED]]));
    options.limits = limits;
    options.limits.saved_dials = 10_000;
    Egress::new(policy(ports), options).unwrap()
}

fn serve(template: &Egress) -> (CellEgress, SocketAddr) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (template.serve(listener).unwrap(), address)
}

async fn tunnel(proxy: SocketAddr, name: &str, port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    let request = format!("CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = read_answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    stream
}

/// One request on its own connection, and what comes back.
async fn ask(proxy: SocketAddr, port: u16, version: &str, more: &str) -> String {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    let request =
        format!("GET http://good.test:{port}/ HTTP/{version}\r\nHost: good.test:{port}\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_hold_no_port_however_their_connection_ends() {
    const LAST: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    const MORE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    // So long that the proxy has all of it before the guest does.
    let long = format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 300005\r\n\r\n{}hello",
        "x".repeat(300_000)
    );
    for (way, answer, version, expected) in [
        ("the host says close after much", &*long.leak(), "1.1", "xhello"),
        ("the host says close", LAST, "1.1", "hello"),
        ("the guest speaks HTTP/1.0", MORE, "1.0", "hello"),
        ("the host speaks HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "1.1", "hello"),
        (
            "chunks, and close",
            "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "1.1",
            "hello",
        ),
        ("the connection may go on", MORE, "1.1", "hello"),
        (
            "an answer too many",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n",
            "1.1",
            "hello",
        ),
        ("garbage", "garbage\r\n\r\n", "1.1", "not HTTP"),
        (
            "another protocol",
            "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            "1.1",
            "403",
        ),
        ("a complaint", "HTTP/1.1 400 Bad Request\r\nContent-Length: 5\r\n\r\nhello", "1.1", "hello"),
    ] {
        let port = host(Manner::Says(answer)).await;
        let (cell, proxy) = serve(&template(&[port], Limits::default()));
        for _ in 0..TIMES {
            let answer = ask(proxy, port, version, "Connection: close\r\n").await;
            assert!(answer.contains(expected), "{way}: {answer}");
        }
        cell.close().await;
        assert_eq!(held(port).await, 0, "{way}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_given_up_hold_no_port() {
    for ends_with_the_run in [false, true] {
        let port = host(Manner::Says("")).await;
        let (cell, proxy) = serve(&template(&[port], Limits::default()));
        let mut kept = Vec::new();
        for _ in 0..TIMES {
            let mut stream = TcpStream::connect(proxy).await.unwrap();
            let request = format!("GET http://good.test:{port}/ HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            while sockets_to(port).len() <= kept.len() && ends_with_the_run {
                tokio::task::yield_now().await;
            }
            kept.extend(ends_with_the_run.then_some(stream));
        }
        if ends_with_the_run {
            cell.close().await;
            drop(kept);
        }
        assert_eq!(held(port).await, 0, "ends with the run: {ends_with_the_run}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opened_tls_holds_no_port() {
    let (host, roots) = tls_host().await;
    let world = injecting(host.port, true, roots);
    for more in ["", "Connection: close\r\n"] {
        for _ in 0..TIMES {
            let request = format!("GET / HTTP/1.1\r\nHost: good.test:{}\r\n{more}\r\n", host.port);
            assert!(world.ask(host.port, &request).await.ends_with("hello"));
        }
    }
    world.cell.close().await;
    assert_eq!(held(host.port).await, 0);
    // A host that nobody vouches for.
    let (host, _) = tls_host().await;
    let world = injecting(host.port, true, RootCertStore::empty());
    for _ in 0..TIMES {
        let request = format!("GET / HTTP/1.1\r\nHost: good.test:{}\r\n\r\n", host.port);
        assert!(world.ask(host.port, &request).await.contains("502"));
    }
    assert_eq!(held(host.port).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_tunnels_hold_no_port_whoever_ends_them() {
    let (host, roots) = tls_host().await;
    let connector = connector(roots);
    let (_cell, proxy) = serve(&template(&[host.port], Limits::default()));
    for way in ["closes", "says goodbye", "half-closes", "leaves before the greeting"] {
        for _ in 0..TIMES {
            let stream = tunnel(proxy, "good.test", host.port).await;
            if way == "leaves before the greeting" {
                continue;
            }
            let name = ServerName::try_from("good.test").unwrap();
            let mut stream = connector.connect(name, stream).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            assert!(read_answer(&mut stream).await.ends_with("hello"));
            match way {
                "says goodbye" => stream.shutdown().await.unwrap(),
                "half-closes" => {
                    stream.get_mut().0.shutdown().await.unwrap();
                    let _ = stream.get_mut().0.read(&mut [0; 100]).await;
                }
                _ => {}
            }
        }
        assert_eq!(held(host.port).await, 0, "a guest that {way}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_tunnels_that_the_host_or_the_run_ends_hold_no_port() {
    let port = host(Manner::EndsFirst).await;
    let (_cell, proxy) = serve(&template(&[port], Limits::default()));
    for _ in 0..TIMES {
        let mut stream = tunnel(proxy, "plain.test", port).await;
        stream.write_all(b"hi").await.unwrap();
        assert_eq!(stream.read(&mut [0; 10]).await.unwrap(), 0);
    }
    assert_eq!(held(port).await, 0, "the host ends first");
    let port = host(Manner::Listens).await;
    let (cell, proxy) = serve(&template(&[port], Limits::default()));
    let mut kept = Vec::new();
    for _ in 0..TIMES {
        kept.push(tunnel(proxy, "plain.test", port).await);
    }
    cell.close().await;
    assert_eq!(held(port).await, 0, "the run ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_has_no_bytes_left_holds_no_port_and_has_sent_them_all() {
    let port = host(Manner::Listens).await;
    let mut limits = Limits::default();
    limits.bytes_per_run = 1000;
    let template = template(&[port], limits);
    for _ in 0..TIMES {
        let (cell, proxy) = serve(&template);
        let mut stream = tunnel(proxy, "plain.test", port).await;
        let _ = stream.write_all(&[b'x'; 2000]).await;
        let _ = stream.read(&mut [0; 10]).await;
        assert_eq!(cell.take_decisions().iter().map(|line| line.bytes_sent).sum::<u64>(), 1000);
    }
    assert_eq!(held(port).await, 0);
}

/// How many ports a template holds when its guests end that many plain tunnels in each of so many
/// runs.
async fn held_after(ended: usize, runs: usize, limits: Limits, half: bool) -> usize {
    let port = host(Manner::AnswersAtTheEnd).await;
    let template = template(&[port], limits);
    for _ in 0..runs {
        let (_cell, proxy) = serve(&template);
        let mut guests = tokio::task::JoinSet::new();
        for _ in 0..ended {
            guests.spawn(async move {
                let mut stream = tunnel(proxy, "plain.test", port).await;
                stream.write_all(b"hi").await.unwrap();
                if half {
                    stream.shutdown().await.unwrap();
                    let _ = timeout(HANG, stream.read(&mut [0; 10])).await.expect("it ends");
                }
            });
        }
        guests.join_all().await;
        // What is on its way out is still part of this run.
        held(port).await;
    }
    held(port).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_tunnels_that_guests_end_hold_a_bounded_number_of_ports_for_the_template() {
    let most = Limits::default().ports_held;
    for half in [false, true] {
        let held = held_after(most, 1, Limits::default(), half).await;
        assert!(held <= most / 2, "one run holds {held} of {most}");
        let held = held_after(most / 2, 4, Limits::default(), half).await;
        assert!(held <= most, "four runs hold {held} of {most}");
        let mut none = Limits::default();
        none.ports_held = 0;
        assert_eq!(held_after(TIMES, 1, none, half).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_guest_has_sent_before_it_left_arrives_although_no_port_may_be_held() {
    const MUCH: usize = 3 << 20;
    let listener = TcpListener::bind((ALLOWED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut limits = Limits::default();
    limits.ports_held = 0;
    let (_cell, proxy) = serve(&template(&[port], limits));
    let mut guest = tunnel(proxy, "plain.test", port).await;
    let (mut host, _) = listener.accept().await.unwrap();
    let sending = tokio::spawn(async move { guest.write_all(&vec![b'x'; MUCH]).await.unwrap() });
    // A host that reads so slowly that the proxy must deliver the rest after the guest has left.
    let mut heard = vec![0; MUCH];
    host.read_exact(&mut heard[..1000]).await.unwrap();
    sending.await.unwrap();
    for part in heard[1000..].chunks_mut(200_000) {
        sleep(Duration::from_millis(50)).await;
        host.read_exact(part).await.unwrap();
    }
    drop(host);
    assert_eq!(held(port).await, 0);
}
