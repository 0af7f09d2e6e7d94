use belljar_core::wire::Execute;
use belljar_core::*;
use belljar_engine::native::*;
use belljar_engine::python::Search;
use belljar_engine::*;
use std::time::Instant;
#[tokio::main]
async fn main() {
    let t = Instant::now();
    let engine = NativeEngine::new(NativeOptions {
        cache: "/tmp/bjcache".into(),
        search: Search::from_env(Some("/tmp/bjcache".into())),
    })
    .unwrap();
    println!("engine {:?}", t.elapsed());
    for p in &engine.capabilities().protections {
        println!("{} {:?}", p.name, p.state);
    }
    let t = Instant::now();
    let template = match engine
        .prepare(&Blueprint { config: SandboxConfig::default(), tools: vec![] }, &mut |_| {})
        .await
    {
        Ok(t) => t,
        Err(e) => {
            println!("ERR {e}");
            return;
        }
    };
    println!("template {:?} {:?}", t.elapsed(), template.report());
    let t = Instant::now();
    let n: usize = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(50);
    let mut cells = vec![];
    for _ in 0..n {
        match template.spawn().await {
            Ok(c) => cells.push(c),
            Err(e) => {
                println!("ERR {e}");
                return;
            }
        }
    }
    println!("spawn each {:?}", t.elapsed() / n as u32);
    let mut times = vec![];
    for mut cell in cells {
        let line = Execute {
            execution_id: &ExecutionId::new("e"),
            seal: "s",
            script: "emit_result({'a': 1})",
            mode: ExecutionMode::Plan,
            timeout: 10.0,
            required_secrets: &[],
            secrets: &Default::default(),
        }
        .to_line();
        let t = Instant::now();
        cell.send(&line).await.unwrap();
        let out = std::future::poll_fn(|cx| cell.poll_output(cx)).await;
        times.push(t.elapsed());
        if times.len() == 1 {
            println!("{out:?} {:?}", cell.usage());
        }
    }
    times.sort();
    println!("p50 {:?} p99 {:?}", times[n / 2], times[n * 99 / 100]);
    engine.wait_until_reaped();
}
