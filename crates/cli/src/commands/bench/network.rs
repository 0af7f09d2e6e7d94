//! What the egress proxy costs: the proxy between a client and a host on loopback, compared with
//! the same without it.
//!
//! When throughput is measured, client and host are threads that block, because a real guest and a
//! real server are programs of their own. Only the proxy is on tokio. The two measurements of a
//! pair are taken one right after the other.
//!
//! A tunnel is two connections, and direct is one. On two cores that a direct connection keeps
//! busy, a proxy that costs nothing would reach half of its throughput.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use belljar::config::NetworkPolicy;
use belljar::network::{CellEgress, Egress, EgressOptions, Resolve, ResolveError, Resolving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::report::Report;
use crate::error::CliError;
use crate::statistics::Figures;

/// How many tunnels are open at once.
const TUNNELS: usize = 1000;
/// Bytes sent one way to measure throughput.
const VOLUME: usize = 128 << 20;
/// How often each direction is measured.
const ROUNDS: usize = 9;
/// How many bytes a program reads or writes at once.
const CHUNK: usize = 64 * 1024;
/// The first byte of a stream says whether the bytes go to the host or come from it.
const UP: u8 = b'u';
const DOWN: u8 = b'd';

/// A resolver that is never asked, because the host is listed by its address.
struct NoResolver;

impl Resolve for NoResolver {
    fn resolve<'a>(&'a self, _: &'a str) -> Resolving<'a> {
        Box::pin(async { Err(ResolveError::NotFound) })
    }
}

pub(super) async fn measure(count: usize, report: &mut Report) -> Result<(), CliError> {
    measured(count, report).await.map_err(CliError::system("measure the proxy"))
}

async fn measured(count: usize, report: &mut Report) -> io::Result<()> {
    let (host, store) = (start_echo()?, start_store()?);
    let (_proxy, proxy) = serve([host, store])?;
    let (mut direct, mut tunnelled) = (Vec::new(), Vec::new());
    for _ in 0..count {
        // One right after the other, so that both see the same state of the machine.
        direct.push(ask(host, None).await?);
        tunnelled.push(ask(proxy, Some(host)).await?);
    }
    let p50 = |times: &[Duration]| Figures::of("", times.to_vec()).map_or(0.0, |figures| figures.p50_us);
    let added = (p50(&tunnelled) - p50(&direct)) / 1e3;
    report.add("connect and one byte, direct", direct);
    report.add("connect and one byte, through the proxy", tunnelled);
    report.add_rate("the proxy adds", added, "ms");
    let (up, down) = tokio::task::spawn_blocking(move || {
        Ok::<_, io::Error>((TunnelCost::compare(store, proxy, UP)?, TunnelCost::compare(store, proxy, DOWN)?))
    })
    .await??;
    for (way, TunnelCost { throughput, processor }) in [("up", up), ("down", down)] {
        report.add_rate(format!("throughput of a tunnel {way}, against direct"), throughput, "times");
        report.add_rate(format!("processor time of a tunnel {way}, against direct"), processor, "times");
    }
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

fn serve(hosts: [SocketAddr; 2]) -> io::Result<(CellEgress, SocketAddr)> {
    let name = hosts[0].ip().to_string();
    let policy = NetworkPolicy {
        allowed_hosts: vec![name.clone()],
        allowed_ports: [(name.clone(), hosts.map(|host| host.port()).to_vec())].into(),
        plain_hosts: vec![name],
        ..NetworkPolicy::default()
    };
    let mut options = EgressOptions::new(NoResolver);
    options.limits.connections = TUNNELS + 8;
    options.limits.bytes_per_run = u64::MAX;
    // The cost is measured here, not the limit on it.
    options.limits.saved_dials = u32::MAX;
    options.limits.processor_cores = 1024.0;
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let egress = Egress::new(policy, options).map_err(io::Error::other)?;
    Ok((egress.serve(listener).map_err(io::Error::other)?, address))
}

/// Starts a host on a thread of its own that sends everything back.
fn start_echo() -> io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // The thread ends with the process.
    thread::Builder::new().name("bench-echo".into()).spawn(move || {
        runtime.block_on(async {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
    })?;
    Ok(address)
}

/// Starts a host that takes or sends many bytes, one connection after the other.
fn start_store() -> io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let serve = move || {
        while let Ok((stream, _)) = listener.accept() {
            let _ = store(stream);
        }
    };
    // The thread ends with the process.
    thread::Builder::new().name("bench-store".into()).spawn(serve)?;
    Ok(address)
}

fn store(mut stream: std::net::TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut chunk = vec![0; CHUNK];
    stream.read_exact(&mut chunk[..1])?;
    if chunk[0] == DOWN {
        return (0..VOLUME / CHUNK).try_for_each(|_| stream.write_all(&chunk));
    }
    let mut counted = 1;
    while counted < VOLUME {
        match stream.read(&mut chunk)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => counted += read,
        }
    }
    stream.write_all(b"k")
}

async fn connect(address: SocketAddr, through_to: Option<SocketAddr>) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    if let Some(host) = through_to {
        stream.write_all(request(host).as_bytes()).await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        granted(&head)?;
    }
    Ok(stream)
}

fn request(host: SocketAddr) -> String {
    format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

fn granted(head: &[u8]) -> io::Result<()> {
    match head.starts_with(b"HTTP/1.1 200") {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(head).into_owned())),
    }
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

/// What a tunnel does to a stream of bytes: medians of tunnel divided by direct.
struct TunnelCost {
    throughput: f64,
    processor: f64,
}

impl TunnelCost {
    fn compare(host: SocketAddr, proxy: SocketAddr, way: u8) -> io::Result<Self> {
        let (mut throughput, mut processor) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let direct = carry(host, None, way)?;
            let tunnel = carry(proxy, Some(host), way)?;
            throughput.push(direct.0.as_secs_f64() / tunnel.0.as_secs_f64());
            processor.push(tunnel.1.as_secs_f64() / direct.1.as_secs_f64());
        }
        Ok(Self { throughput: median(throughput), processor: median(processor) })
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures the time, and the processor time of this process. Client, proxy and host are all in it.
fn carry(address: SocketAddr, through_to: Option<SocketAddr>, way: u8) -> io::Result<(Duration, Duration)> {
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    if let Some(host) = through_to {
        stream.write_all(request(host).as_bytes())?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.extend(byte);
        }
        granted(&head)?;
    }
    let mut chunk = vec![way; CHUNK];
    let (begun, spent) = (Instant::now(), processor_time());
    if way == UP {
        (0..VOLUME / CHUNK).try_for_each(|_| stream.write_all(&chunk))?;
        stream.read_exact(&mut [0])?;
    } else {
        stream.write_all(&[way])?;
        (0..VOLUME / CHUNK).try_for_each(|_| stream.read_exact(&mut chunk))?;
    }
    Ok((begun.elapsed(), processor_time().saturating_sub(spent)))
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
