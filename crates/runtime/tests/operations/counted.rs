//! What is counted: each thing that can happen to a run once, and what is left at the end.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use belljar_core::metrics;
use belljar_engine::docker::Docker;
use belljar_engine::egress::{Resolve, ResolveError, Resolving};
use belljar_engine::native::Native;
use belljar_runtime::{
    CheckoutError, ExecutionRequest, HostTool, NetworkPolicy, Runtime, RuntimeError, SandboxConfig,
    ToolRegistry, Verdict,
};
use belljar_testing::{HANG, config, data, eventually, run, sandbox_with};
use belljar_testing::{build, build_with, engine, only_on};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::recorder::Figures;

fn called(name: &str) -> SandboxConfig {
    SandboxConfig { name: name.into(), ..config() }
}

#[tokio::test]
async fn a_run_a_failed_run_and_a_checkout_that_timed_out_are_counted() {
    let mut figures = Figures::listen();
    let Some(runtime) = build(Runtime::builder().max_overflow(1)) else { return };
    let sandbox = sandbox_with(&runtime, called("counted")).await;
    assert!(run(&sandbox, "print('12345')\nemit_result(1)").await.success());
    assert!(!run(&sandbox, "raise ValueError('no')").await.success());
    sandbox.at_rest().await;

    let session = sandbox.session().await.unwrap();
    let on = engine();
    assert_eq!(figures.get(&format!("belljar_cells_leased{{engine={on},sandbox=counted}}")), 1.0);
    let refused = sandbox.clone().with_checkout_timeout(Duration::from_millis(20)).run("1").await;
    assert!(matches!(refused, Err(RuntimeError::Checkout(CheckoutError::TimedOut { .. }))), "{refused:?}");
    drop(session);
    sandbox.at_rest().await;

    for (verdict, count) in [("ok", 1.0), ("exception", 1.0), ("timeout_wall", 0.0), ("abandoned", 0.0)] {
        let runs = figures.get(&format!("belljar_runs_total{{engine={on},verdict={verdict}}}"));
        assert_eq!(runs, count, "{verdict}");
    }
    assert_eq!(figures.get(&format!("belljar_run_seconds{{engine={on}}}")), 2.0);
    assert!(figures.get(&format!("belljar_run_output_bytes_total{{engine={on}}}")) > 6.0);
    let mut of =
        |name: &str, more: &str| figures.get(&format!("{name}{{engine={on},sandbox=counted{more}}}"));
    assert_eq!(of("belljar_checkouts_total", ",outcome=timed_out"), 1.0);
    assert_eq!(of("belljar_checkouts_total", ",outcome=refused"), 0.0);
    let got =
        of("belljar_checkouts_total", ",outcome=warm") + of("belljar_checkouts_total", ",outcome=waited");
    assert_eq!(got, 3.0, "two runs and a session");
    assert_eq!(of("belljar_checkout_wait_seconds", ""), 3.0);
    assert_eq!(of("belljar_cells_leased", ""), 0.0);
    assert_eq!(figures.get(&format!("belljar_templates{{engine={on}}}")), 1.0);
    assert_eq!(figures.get(&format!("belljar_template_prepare_seconds{{engine={on},outcome=ok}}")), 1.0);

    runtime.shutdown().await;
    assert_eq!(figures.get(&format!("belljar_templates{{engine={on}}}")), 0.0);
    let mut of =
        |name: &str, more: &str| figures.get(&format!("{name}{{engine={on},sandbox=counted{more}}}"));
    assert_eq!(of("belljar_cells_idle", ""), 0.0);
    let retired: f64 = ["used", "cut_short", "in_doubt", "died_idle", "surplus"]
        .map(|reason| of("belljar_cells_retired_total", &format!(",reason={reason}")))
        .iter()
        .sum();
    assert_eq!(of("belljar_cells_made_total", ""), retired, "every cell that was made is gone");
    assert_eq!(of("belljar_cell_spawn_seconds", ""), retired);
    let promised = metrics::ALL.map(|metric| metric.name);
    for name in figures.names() {
        assert!(promised.contains(&name), "{name} is in no manual");
    }
    for name in promised {
        // Registered by a template that could not be prepared, or by one that could: both are the
        // same metric.
        assert!(figures.names().contains(&name), "{name} is promised and never kept");
    }
}

#[tokio::test]
async fn a_run_that_its_caller_drops_is_counted_as_abandoned() {
    let mut figures = Figures::listen();
    let Some(runtime) = build(Runtime::builder()) else { return };
    let sandbox = sandbox_with(&runtime, called("dropped")).await;
    let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    let running = sandbox.run_with("print(1, flush=True)\nwhile True: pass", move |_| {
        let _ = begun.send(());
    });
    tokio::select! {
        outcome = running => panic!("it ended: {outcome:?}"),
        _ = has_begun.recv() => {}
    }
    let abandoned = format!("belljar_runs_total{{engine={},verdict=abandoned}}", engine());
    assert_eq!(figures.get(&abandoned), 1.0);
    runtime.shutdown().await;
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Order {
    works: bool,
}

#[tokio::test]
async fn calls_of_tools_are_counted_also_those_without_an_answer() {
    let mut figures = Figures::listen();
    let Some(runtime) = build(Runtime::builder()) else { return };
    let tool = HostTool::new("order", "Does it, or not", |Order { works }: Order| async move {
        if works { Ok(1) } else { Err("no".to_owned()) }
    });
    let never =
        HostTool::new("never", "Takes its time", |_: Order| std::future::pending::<Result<u8, String>>());
    let tools = ToolRegistry::new().with(tool).unwrap().with(never).unwrap();
    let sandbox = runtime.sandbox(tools.for_config(called("tools"))).await.unwrap();
    let script = "order(works=True)\norder(works=True)\norder(works=False)\nemit_result(1)";
    assert!(run(&sandbox, script).await.success());
    let hangs = ExecutionRequest::new("never(works=True)").with_timeout(Duration::from_millis(300));
    assert!(!sandbox.run(hangs).await.unwrap().success());
    let on = engine();
    for (outcome, count) in [("ok", 2.0), ("failed", 2.0)] {
        let calls = figures.get(&format!("belljar_tool_calls_total{{engine={on},outcome={outcome}}}"));
        assert_eq!(calls, count, "{outcome}");
    }
    assert_eq!(figures.get(&format!("belljar_tool_call_seconds{{engine={on}}}")), 4.0);
    runtime.shutdown().await;
}

#[tokio::test]
async fn a_container_that_is_used_again_is_counted_as_reset() {
    if !only_on("docker", "cells of the other engines are used once") {
        return;
    }
    let mut figures = Figures::listen();
    let Some(runtime) = build(Runtime::builder()) else { return };
    let sandbox = sandbox_with(&runtime, called("again")).await;
    let first = run(&sandbox, "emit_result(1)").await;
    tokio::time::timeout(HANG, sandbox.at_rest()).await.unwrap();
    let reset = "belljar_cells_reset_total{engine=docker,sandbox=again}";
    eventually("the container is reset", || figures.get(reset) == 1.0).await;
    let second = run(&sandbox, "emit_result(2)").await;
    assert!(first.place.as_ref().is_some_and(|id| id.len() == 64), "{first:?}");
    assert_eq!(first.place, second.place);
    runtime.shutdown().await;
}

/// A container that may be used again is lost with a script that does not end in good order. A
/// cell that is used once was meant to go.
#[tokio::test]
async fn a_cell_that_goes_with_its_script_is_counted_by_whether_it_could_have_stayed() {
    let mut figures = Figures::listen();
    let Some(runtime) = build(Runtime::builder()) else { return };
    let sandbox = sandbox_with(&runtime, called("lost")).await;
    assert!(run(&sandbox, "emit_result(1)").await.success());
    let stubborn = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nwhile True: pass";
    let stubborn = ExecutionRequest::new(stubborn).with_timeout(Duration::from_millis(300));
    assert_eq!(sandbox.run(stubborn).await.unwrap().verdict, Verdict::TimeoutWall);
    assert_eq!(run(&sandbox, "import os; os._exit(3)").await.verdict, Verdict::Exited { code: 3 });
    let heap = "held = []\nwhile True: held.append(bytearray(b'x') * (1 << 20))";
    let killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)";
    // Where memory is not counted, the machine's own would be eaten up.
    let is_counted = runtime.capabilities().has("cgroup_memory");
    let verdict = run(&sandbox, if is_counted { heap } else { killed }).await.verdict;
    assert_eq!(verdict, if is_counted { Verdict::Oom } else { Verdict::Signaled { signal: 9 } });
    let mut session = sandbox.session().await.unwrap();
    assert!(session.step("x = 1").await.unwrap().success());
    drop(session);
    tokio::time::timeout(HANG, sandbox.at_rest()).await.unwrap();

    let on = engine();
    let mut retired = |reason: &str| {
        figures.get(&format!("belljar_cells_retired_total{{engine={on},sandbox=lost,reason={reason}}}"))
    };
    let seen = (retired("used"), retired("cut_short"), retired("in_doubt"), retired("died_idle"));
    match on {
        // The session's, and those of the three; the first was reset.
        "docker" => assert_eq!(seen, (1.0, 3.0, 0.0, 0.0)),
        _ => assert_eq!(seen, (5.0, 0.0, 0.0, 0.0)),
    }
    runtime.shutdown().await;
}

/// Where the hosts of the test are. Loopback is refused unless a policy lists it.
const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 88));

/// Knows one host.
struct OneHost;

impl Resolve for OneHost {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        let answer = if name == "api.test" { Ok(vec![HOME]) } else { Err(ResolveError::NotFound) };
        Box::pin(async move { answer })
    }
}

#[tokio::test]
async fn what_the_proxy_allows_denies_and_fails_to_reach_is_counted() {
    let mut figures = Figures::listen();
    let native = Native::new().resolver(OneHost);
    let docker = Docker::new().egress_network("host").known_hosts([("api.test".to_owned(), HOME)]);
    let Some(runtime) = build_with(Runtime::builder(), native, docker) else { return };
    let server = TcpListener::bind((HOME, 0)).await.unwrap();
    let there = server.local_addr().unwrap().port();
    // A port that nobody listens on, because it was free a moment ago.
    let gone = TcpListener::bind((HOME, 0)).await.unwrap().local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = server.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let mut config = called("network");
    config.network_policy = NetworkPolicy {
        allowed_hosts: vec!["api.test".into(), HOME.to_string()],
        allowed_ports: ["api.test".into(), HOME.to_string()].map(|host| (host, vec![there, gone])).into(),
        ..NetworkPolicy::default()
    };
    let sandbox = sandbox_with(&runtime, config).await;
    let script = format!(
        "import urllib.request, urllib.error\n\
         def ask(host, port):\n    \
             try: return urllib.request.urlopen(f'http://{{host}}:{{port}}/', timeout=60).status\n    \
             except urllib.error.HTTPError as refusal: return refusal.code\n\
         emit_result([ask('api.test', {there}), ask('api.test', {there}), ask('evil.test', {there}), ask('api.test', {gone})])"
    );
    let result = run(&sandbox, &script).await;
    assert_eq!(data(&result), "[200,200,403,502]", "{result:#?}");
    let on = engine();
    let counted = ["allowed", "denied", "failed"].map(|verdict| {
        figures.get(&format!("belljar_network_decisions_total{{engine={on},verdict={verdict}}}"))
    });
    assert_eq!(counted, [2.0, 1.0, 1.0], "{:#?}", result.network);
    runtime.shutdown().await;
}
