//! What the way out costs: the proxy between a client and a host on loopback, against the same without it.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use belljar::NetworkPolicy;
use belljar_proxy::{CellEgress, Egress, EgressOptions, Resolve, ResolveError, Resolving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::report::Report;
use crate::error::CliError;
use crate::statistics::Figures;

/// Tunnels held open at once.
const TUNNELS: usize = 1000;
/// Bytes sent one way to measure throughput.
const VOLUME: usize = 64 << 20;

/// Nobody is asked: the host is listed by its address.
struct Nobody;

impl Resolve for Nobody {
    fn resolve<'a>(&'a self, _: &'a str) -> Resolving<'a> {
        Box::pin(async { Err(ResolveError::NotFound) })
    }
}

pub(super) async fn measure(count: usize, report: &mut Report) -> Result<(), CliError> {
    measured(count, report).await.map_err(CliError::system("measure the proxy"))
}

async fn measured(count: usize, report: &mut Report) -> io::Result<()> {
    let host = start_host()?;
    let (_proxy, proxy) = serve(host)?;
    let (mut direct, mut tunnelled) = (Vec::new(), Vec::new());
    for _ in 0..count {
        // One after the other, so that the machine's mood is in both.
        direct.push(ask(host, None).await?);
        tunnelled.push(ask(proxy, Some(host)).await?);
    }
    let p50 = |times: &[Duration]| Figures::of("", times.to_vec()).map_or(0.0, |figures| figures.p50_us);
    let added = (p50(&tunnelled) - p50(&direct)) / 1e3;
    report.add("connect and one byte, direct", direct);
    report.add("connect and one byte, through the proxy", tunnelled);
    report.add_rate("the proxy adds", added, "ms");
    let plain = volume(connect(host, None).await?).await?;
    let through = volume(connect(proxy, Some(host)).await?).await?;
    report.add_rate("throughput of a tunnel, against direct", through / plain, "times");
    let mut held = Vec::with_capacity(TUNNELS);
    for _ in 0..TUNNELS {
        held.push(connect(proxy, Some(host)).await?);
    }
    for stream in &mut held {
        exchange(stream).await?;
    }
    report.add_rate("tunnels held at once, each answering", held.len() as f64, "");
    Ok(())
}

fn serve(host: SocketAddr) -> io::Result<(CellEgress, SocketAddr)> {
    let name = host.ip().to_string();
    let policy = NetworkPolicy {
        allowed_hosts: vec![name.clone()],
        allowed_ports: [(name.clone(), vec![host.port()])].into(),
        plain_hosts: vec![name],
        ..NetworkPolicy::default()
    };
    let mut options = EgressOptions::new(Nobody);
    options.limits.connections = TUNNELS + 8;
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let egress = Egress::new(policy, options).map_err(io::Error::other)?;
    Ok((egress.serve(listener).map_err(io::Error::other)?, address))
}

/// A host on a thread of its own, as a real one would be on a machine of its own.
fn start_host() -> io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Ends with the process.
    std::thread::Builder::new().name("bench-host".into()).spawn(move || {
        runtime.block_on(async {
            if let Ok(listener) = TcpListener::from_std(listener) {
                echo(listener).await;
            }
        });
    })?;
    Ok(address)
}

/// Sends everything back; a `V` opens a stream that is only counted, and answered at its end.
async fn echo(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut buffer = vec![0; 64 * 1024];
            let mut counted = 0;
            while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                if counted == 0 && buffer[0] != b'V' {
                    let _ = stream.write_all(&buffer[..read]).await;
                    continue;
                }
                counted += read;
                if counted >= VOLUME {
                    let _ = stream.write_all(b"k").await;
                }
            }
        });
    }
}

async fn connect(address: SocketAddr, through_to: Option<SocketAddr>) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    if let Some(host) = through_to {
        let request = format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if !head.starts_with(b"HTTP/1.1 200") {
            return Err(io::Error::other(String::from_utf8_lossy(&head).into_owned()));
        }
    }
    Ok(stream)
}

async fn exchange(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"x").await?;
    stream.read_exact(&mut [0]).await.map(drop)
}

async fn ask(address: SocketAddr, through_to: Option<SocketAddr>) -> io::Result<Duration> {
    let begun = Instant::now();
    exchange(&mut connect(address, through_to).await?).await?;
    Ok(begun.elapsed())
}

/// Bytes a second.
async fn volume(mut stream: TcpStream) -> io::Result<f64> {
    let chunk = vec![b'V'; 64 * 1024];
    let begun = Instant::now();
    for _ in 0..VOLUME / chunk.len() {
        stream.write_all(&chunk).await?;
    }
    stream.read_exact(&mut [0]).await?;
    Ok(VOLUME as f64 / begun.elapsed().as_secs_f64())
}
