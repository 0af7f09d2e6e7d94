//! A run over HTTP on loopback: from the request written to its first event read.
//!
//! The server has threads of its own, as `belljar serve` has, and keeps its history. The client is
//! one connection that stays open, and asks for events as lines.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use belljar::Runtime;
use belljar::engine::Native;
use belljar_server::{Server, ServerOptions};
use tokio::sync::oneshot;

use super::report::Report;
use super::{SCRIPT, bare_config};
use crate::error::CliError;

/// Long enough for the stock to be full again.
const REST: Duration = Duration::from_millis(15);

pub(super) fn measure(count: usize, report: &mut Report) -> Result<(), CliError> {
    let home = std::env::temp_dir().join(format!("belljar-bench-server-{}", std::process::id()));
    let (say_where, is_at) = mpsc::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let options = options(&home);
    let serving = std::thread::spawn(move || serve(options, &say_where, stopped));
    let measured = match is_at.recv() {
        Ok(address) => ask(address, count),
        Err(_) => Err(anyhow!("the server did not start")),
    };
    drop(stop);
    let served = serving.join().map_err(|_| anyhow!("the server panicked"))?;
    let _ = std::fs::remove_dir_all(&home);
    served?;
    let (first, last) = measured?;
    report.add("over HTTP: request to first event", first);
    report.add("over HTTP: request to last event", last);
    Ok(())
}

fn options(home: &std::path::Path) -> ServerOptions {
    let mut options = ServerOptions::new(home);
    options.address = SocketAddr::from(([127, 0, 0, 1], 0));
    options.needs_token = false;
    let mut config = bare_config("default");
    config.pool_size = 8;
    options.sandboxes.insert("default".to_owned(), config.into());
    options
}

/// Serves until nobody wants it any more.
fn serve(
    options: ServerOptions,
    say_where: &mpsc::Sender<SocketAddr>,
    stopped: oneshot::Receiver<()>,
) -> anyhow::Result<()> {
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    tokio.block_on(async {
        let runtime = Runtime::builder().engine(Native::new()).build().await?;
        let server = Server::bind(runtime, options, None).await?;
        server.warm().await?;
        let _ = say_where.send(server.address());
        server.run(async { drop(stopped.await) }).await;
        Ok(())
    })
}

/// Times to the first and to the last event of each run.
fn ask(address: SocketAddr, count: usize) -> anyhow::Result<(Vec<Duration>, Vec<Duration>)> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let (mut reader, mut writer) = (BufReader::new(stream.try_clone()?), stream);
    let body = serde_json::json!({"script": SCRIPT}).to_string();
    let request = format!(
        "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (mut first, mut last) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for _ in 0..count {
        std::thread::sleep(REST);
        let begun = Instant::now();
        writer.write_all(request.as_bytes())?;
        read_head(&mut reader)?;
        let mut text = read_chunk(&mut reader)?.context("there is no event")?;
        first.push(begun.elapsed());
        while let Some(more) = read_chunk(&mut reader)? {
            text.push_str(&more);
        }
        last.push(begun.elapsed());
        let end = text.lines().last().unwrap_or_default();
        if !end.contains("\"verdict\":\"ok\"") {
            bail!("a run over HTTP did not end well: {end}");
        }
    }
    Ok((first, last))
}

fn read_head(reader: &mut impl BufRead) -> anyhow::Result<()> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    if !line.contains(" 200 ") {
        bail!("the server answers {line:?}");
    }
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line)?;
    }
    Ok(())
}

/// One chunk of a body, or `None` at its end.
fn read_chunk(reader: &mut impl BufRead) -> anyhow::Result<Option<String>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let length = usize::from_str_radix(line.trim_end(), 16).context("this is no chunk")?;
    let mut bytes = vec![0; length + "\r\n".len()];
    reader.read_exact(&mut bytes)?;
    bytes.truncate(length);
    Ok(if length == 0 { None } else { Some(String::from_utf8(bytes)?) })
}
