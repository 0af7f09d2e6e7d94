//! A host that misbehaves as the path of a request says.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The host, and what it has seen.
pub struct Odd {
    /// The port on which it answers.
    pub port: u16,
    /// A port of the same host on which connections are made and nothing ever happens, not even an
    /// end.
    pub silent: u16,
    _never_accepting: TcpListener,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    accepted: AtomicUsize,
    open: AtomicUsize,
    /// The first line of each request, and whatever came over a connection that began with TLS.
    heard: Mutex<Vec<String>>,
}

impl Odd {
    /// A host on an address, with ports of its own.
    pub async fn start(address: std::net::IpAddr) -> Self {
        let [listener, never] =
            [0; 2].map(|port| std::net::TcpListener::bind(SocketAddr::new(address, port)).unwrap());
        for listener in [&listener, &never] {
            listener.set_nonblocking(true).unwrap();
        }
        let [listener, never] = [listener, never].map(|listener| TcpListener::from_std(listener).unwrap());
        let [port, silent] = [&listener, &never].map(|listener| listener.local_addr().unwrap().port());
        let seen: Arc<Seen> = Arc::default();
        let all = seen.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                all.accepted.fetch_add(1, Ordering::SeqCst);
                all.open.fetch_add(1, Ordering::SeqCst);
                let seen = all.clone();
                tokio::spawn(async move {
                    serve(stream, &seen).await;
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, silent, _never_accepting: never, seen }
    }

    /// Connections so far.
    pub fn accepted(&self) -> usize {
        self.seen.accepted.load(Ordering::SeqCst)
    }

    /// Connections that have not ended.
    pub fn open(&self) -> usize {
        self.seen.open.load(Ordering::SeqCst)
    }

    /// The first line of each request, and whatever came over a connection that began with TLS.
    pub fn heard(&self) -> Vec<String> {
        self.seen.heard.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, seen: &Seen) {
    let mut request = Vec::new();
    loop {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
        if request[0] == 22 {
            return tolerate(stream, request, seen).await;
        }
        let Some(length) = whole(&request) else {
            // Whatever this is, it is not a request.
            if request.len() > 1 << 20 {
                request.drain(1..);
            }
            continue;
        };
        let head = String::from_utf8_lossy(&request[..length]).into_owned();
        request.drain(..length);
        let line = head.lines().next().unwrap_or_default().to_owned();
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        seen.heard.lock().unwrap().push(line);
        if !behave(&mut stream, &path).await {
            return;
        }
    }
}

/// The length of the first request, once it is complete with its body.
fn whole(request: &[u8]) -> Option<usize> {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
    let body = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    let length = end + body.unwrap_or(0);
    (request.len() >= length).then_some(length)
}

macro_rules! hello {
    () => {
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    };
}

/// Answers in the way the path says. Returns whether the connection continues.
async fn behave(stream: &mut TcpStream, path: &str) -> bool {
    let (answer, goes_on) = match path {
        "/never" => ("", true),
        "/drip" => ("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx", true),
        "/nothing" => ("", false),
        "/garbage" => ("SSH-2.0-OpenSSH_9.9\r\n", false),
        "/early-close" => ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789", false),
        "/broken-chunk" => ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n", false),
        "/cut-chunk" => ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", false),
        "/two-lengths" => ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", false),
        "/switch" => ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", true),
        "/close" => ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello", false),
        "/silently-close" => (hello!(), false),
        "/unframed" => ("HTTP/1.0 200 OK\r\n\r\nhello", false),
        // A second answer that nobody asked for.
        "/extra" => (concat!(hello!(), "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"), true),
        "/huge-header" => return flood(stream, "HTTP/1.1 200 OK\r\nX: ", "xxxxxxxxxxxxxxxx").await,
        "/many-headers" => return flood(stream, "HTTP/1.1 200 OK\r\n", "X: y\r\n").await,
        "/continue-flood" => return flood(stream, "", "HTTP/1.1 100 Continue\r\n\r\n").await,
        "/endless" => {
            return flood(stream, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "xxxxxxxx").await;
        }
        _ => (hello!(), true),
    };
    stream.write_all(answer.as_bytes()).await.is_ok() && goes_on
}

/// Says the same again and again until nobody listens.
async fn flood(stream: &mut TcpStream, first: &str, again: &str) -> bool {
    let again = again.repeat(100);
    let mut sent = stream.write_all(first.as_bytes()).await;
    while sent.is_ok() {
        sent = stream.write_all(again.as_bytes()).await;
    }
    false
}

/// A server of another protocol that does not mind a TLS greeting in front. It takes the greeting
/// for a bad command, says so, and continues.
async fn tolerate(mut stream: TcpStream, mut heard: Vec<u8>, seen: &Seen) {
    let _ = stream.write_all(b"500 what was that?\r\n220 tolerant\r\n").await;
    while let Ok(1..) = stream.read_buf(&mut heard).await {}
    seen.heard.lock().unwrap().push(String::from_utf8_lossy(&heard).into_owned());
}
