#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]
use belljar_runtime::Runtime;
use belljar_workspace::*;
use std::time::{Duration, Instant};
fn p50(mut v: Vec<Duration>) -> String {
    v.sort();
    format!(
        "p50 {:.3} ms p99 {:.3}",
        v[v.len() / 2].as_secs_f64() * 1e3,
        v[v.len() * 99 / 100].as_secs_f64() * 1e3
    )
}
#[tokio::main]
async fn main() {
    let runtime = Runtime::new().await.unwrap();
    let home = std::env::temp_dir().join(format!("speed-{}", std::process::id()));
    let workspaces = Workspaces::open(&runtime, WorkspacesOptions::new(&home)).await.unwrap();
    let ctx = Context::new();
    let mut v = vec![];
    for i in 0..200 {
        let t = Instant::now();
        let ws = workspaces
            .manager()
            .create_workspace(&ctx, &format!("w{i}"), WorkspacePolicy::default())
            .await
            .unwrap();
        workspaces.manager().cleanup(&ctx, &ws).await.unwrap();
        v.push(t.elapsed());
    }
    println!("create+cleanup {}", p50(v));
    let ws = workspaces.workspace("job").await.unwrap();
    let mut v = vec![];
    for _ in 0..200 {
        let t = Instant::now();
        let r = ws.run(RunProgramSpec::new("/bin/true", Vec::<String>::new())).await.unwrap();
        assert_eq!(r.exit_code, 0, "{r:?}");
        v.push(t.elapsed());
    }
    println!("/bin/true {}", p50(v));
    let (mut a, mut b) = (vec![], vec![]);
    for _ in 0..200 {
        let t = Instant::now();
        let p = workspaces
            .sandbox()
            .start_program(
                belljar_core::Program::new("/bin/true"),
                Some(belljar_core::WorkspaceName::new("job").unwrap()),
                |_: belljar_core::OutputStream, _: &[u8]| {},
            )
            .await
            .unwrap();
        a.push(t.elapsed());
        let t = Instant::now();
        p.wait().await.unwrap();
        b.push(t.elapsed());
    }
    println!("  start {}\n  run+end {}", p50(a), p50(b));
    let mut v = vec![];
    for _ in 0..100 {
        let t = Instant::now();
        std::process::Command::new("bwrap")
            .args(["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true"])
            .status()
            .unwrap();
        v.push(t.elapsed());
    }
    println!("  bwrap {}", p50(v));
    let mut v = vec![];
    for _ in 0..100 {
        let t = Instant::now();
        std::process::Command::new("/bin/true").status().unwrap();
        v.push(t.elapsed());
    }
    println!("  plain {}", p50(v));
    if std::env::args().nth(1).is_some() {
        return;
    }
    let r = ws.run(RunProgramSpec::new("sh", ["-c", "mkdir -p out/many; i=0; while [ $i -lt 10000 ]; do echo $i > out/many/$i; i=$((i+1)); done; head -c 1000000000 /dev/zero > big"])).await.unwrap();
    assert_eq!(r.exit_code, 0, "{r:?}");
    for _ in 0..3 {
        let t = Instant::now();
        let n = ws.collect(&["out/many/*".into()]).await.unwrap().len();
        println!("collect {n} files: {:.0} files/s", n as f64 / t.elapsed().as_secs_f64());
    }
    let t = Instant::now();
    let n = ws.read_into("big", &mut std::io::sink()).await.unwrap();
    println!("out {:.2} GB/s", n as f64 / 1e9 / t.elapsed().as_secs_f64());
    let f = home.with_extension("big");
    {
        let mut o = std::fs::File::create(&f).unwrap();
        ws.read_into("big", &mut o).await.unwrap();
    }
    let t = Instant::now();
    ws.put_from(&f, "big2").await.unwrap();
    println!("in {:.2} GB/s", n as f64 / 1e9 / t.elapsed().as_secs_f64());
    std::fs::remove_file(&f).unwrap();
    ws.run(RunProgramSpec::new("rm", ["-f", "big", "big2"])).await.unwrap();
    let t = Instant::now();
    ws.fork("twin").await.unwrap();
    println!("fork of 10000 files {:.1} ms", t.elapsed().as_secs_f64() * 1e3);
    ws.run(RunProgramSpec::new(
        "sh",
        ["-c", "rm -r out/many; mkdir out/few; for i in 1 2 3 4 5 6 7 8 9 10; do echo $i > out/few/$i; done"],
    ))
    .await
    .unwrap();
    let t = Instant::now();
    ws.fork("twin2").await.unwrap();
    println!("fork of 10 files {:.1} ms", t.elapsed().as_secs_f64() * 1e3);
    runtime.shutdown().await;
    std::fs::remove_dir_all(&home).unwrap();
}
