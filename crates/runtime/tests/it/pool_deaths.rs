//! Cells and zygotes that die: noticed, replaced, and never handed out.

use belljar_runtime::{Blueprint, Runtime, Sandbox, SandboxConfig, ToolSource, Verdict};
use belljar_testing::{
    HANG, children_of, config, data, eventually, in_time, kill, processes_below, processes_called, run,
    runtime, sandbox_with, scopes_of, signal,
};

fn with_stock(pool_size: usize) -> SandboxConfig {
    SandboxConfig { pool_size, ..config() }
}

/// The zygote: the child of a helper. A helper that only holds a group has none.
fn zygote() -> u32 {
    let helpers = processes_called("belljar-jail");
    let children = helpers.iter().flat_map(|helper| children_of(*helper));
    children.into_iter().next().expect("a helper has a zygote")
}

#[tokio::test]
async fn an_idle_cell_that_dies_is_replaced_before_anybody_gets_it() {
    if !belljar_testing::only_on("native", "containers have no zygote; tests/docker kills theirs") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, with_stock(2)).await;
    sandbox.warm(2).await.unwrap();
    let victim = processes_called("belljar-init")[0];
    kill(victim);
    eventually("the death is noticed and the stock full again", || {
        let stats = sandbox.stats();
        stats.died_idle == 1 && stats.idle == 2
    })
    .await;
    for _ in 0..4 {
        assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
    }
}

#[tokio::test]
async fn a_zygote_that_dies_is_brought_back() {
    if !belljar_testing::only_on("native", "containers have no zygote; tests/docker kills theirs") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, with_stock(1)).await;
    sandbox.warm(1).await.unwrap();
    kill(zygote());
    eventually("there is another, with a cell", || {
        let stats = sandbox.stats();
        stats.revived >= 1 && stats.idle == 1
    })
    .await;
    assert_eq!(data(&run(&sandbox, "emit_result('back')").await), "\"back\"");
}

#[tokio::test]
async fn a_run_whose_zygote_dies_is_told_so_and_the_next_one_works() {
    if !belljar_testing::only_on("native", "containers have no zygote; tests/docker kills theirs") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut execution = sandbox.stream("emit_intermediate('started', 1)\ntime.sleep(60)");
    execution.next().await.unwrap();
    kill(zygote());
    let result = execution.result().await.unwrap();
    assert_eq!(result.verdict, Verdict::Infra, "{result:#?}");
    // Whoever finds out next has another made, and gets a cell of it.
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
}

/// At once, each with its own answer.
async fn eight_callers_are_served(sandbox: &Sandbox) {
    let callers: Vec<_> = (0..8)
        .map(|number| {
            let sandbox = sandbox.clone();
            tokio::spawn(async move { run(&sandbox, &format!("emit_result({number})")).await })
        })
        .collect();
    for (number, caller) in callers.into_iter().enumerate() {
        assert_eq!(data(&caller.await.unwrap()), number.to_string());
    }
}

#[tokio::test]
async fn callers_in_line_when_a_zygote_dies_are_served_by_its_successor() {
    if !belljar_testing::only_on("native", "containers have no zygote; tests/docker kills theirs") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    kill(zygote());
    eight_callers_are_served(&sandbox).await;
    assert_eq!(sandbox.stats().revived, 1, "{:?}", sandbox.stats());
}

/// A zygote that does not answer is no better than a dead one. What it made before lives on: those
/// cells need it no more.
#[tokio::test]
async fn a_zygote_that_hangs_is_replaced_and_its_cells_live_on() {
    if !belljar_testing::only_on("native", "containers have no zygote; tests/docker kills theirs") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    session.step("x = 41").await.unwrap();
    let hung = zygote();
    signal(hung, rustix::process::Signal::STOP);
    eight_callers_are_served(&sandbox).await;
    let stats = sandbox.stats();
    assert_eq!(stats.revived, 1, "{stats:?}");
    assert!(stats.last_revival.as_deref().is_some_and(|why| why.contains("made no cell")), "{stats:?}");
    assert_eq!(data(&session.step("emit_result(x + 1)").await.unwrap()), "42");
    // With the last of its cells the hung one goes too.
    drop(session);
    eventually("the zygote that hung is gone", || !std::path::Path::new(&format!("/proc/{hung}")).exists())
        .await;
}

#[tokio::test]
async fn shutdown_ends_a_zygote_that_hangs_and_the_cells_it_made() {
    if !belljar_testing::only_on("native", "containers have no zygote; tests/docker kills theirs") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let session = sandbox.session().await.unwrap();
    signal(zygote(), rustix::process::Signal::STOP);
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
    drop(sandbox);
    tokio::time::timeout(HANG, runtime.shutdown()).await.expect("shutdown hangs");
    eventually("nothing is left", || processes_below(std::process::id()).is_empty()).await;
    drop(session);
}

/// A tool that takes the zygote down as soon as it is to make a cell.
const SUICIDAL: &str = "import os, sys\ndef die():\n    sys.stderr.write('farewell\\n'); sys.stderr.flush(); os._exit(7)\n\
                        os.register_at_fork(before=die)\ndef ok(): return 1\n";

async fn suicidal(runtime: &Runtime) -> Sandbox {
    let tools = vec![ToolSource { file_name: "t.py".into(), source: SUICIDAL.into() }];
    runtime
        .prepare(Blueprint { tools, ..Blueprint::new(with_stock(2)) }, &mut |_| {})
        .await
        .expect("it is ready at first")
}

#[tokio::test]
async fn a_zygote_that_keeps_dying_is_reported_with_its_last_words_and_does_not_spin() {
    if !belljar_testing::only_on("native", "containers have no zygote; tests/docker kills theirs") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let sandbox = suicidal(&runtime).await;
    for _ in 0..2 {
        let error = sandbox.run("emit_result(ok())").await.unwrap_err().to_string();
        assert!(error.contains("is gone") && error.contains("farewell"), "{error}");
    }
    // Back-off doubles from 0.2 s: in the time of these two calls a spinning shelf would have tried
    // hundreds of times.
    let stats = sandbox.stats();
    assert!(stats.failed < 50, "{stats:?}");
}

#[tokio::test]
async fn a_zygote_that_dies_while_it_loads_is_an_error_with_its_last_words() {
    if !belljar_testing::only_on("native", "containers have no zygote; tests/docker kills theirs") {
        return;
    }
    let Some(runtime) = runtime() else { return };
    let tools = vec![ToolSource {
        file_name: "t.py".into(),
        source: "import os, sys\nsys.stderr.write('cannot bear it\\n'); sys.stderr.flush()\nos._exit(7)\n"
            .into(),
    }];
    let error = runtime
        .prepare(Blueprint { tools, ..Blueprint::new(config()) }, &mut |_| {})
        .await
        .err()
        .expect("it dies");
    assert!(error.to_string().contains("cannot bear it"), "{error}");
}

/// A runtime whose cells are in a scope of their own, and that scope.
fn in_a_scope() -> Option<(Runtime, Scope)> {
    if !belljar_testing::only_on("native", "containers are in scopes of their daemon's") {
        return None;
    }
    let runtime = runtime()?;
    let source = runtime.capabilities().control_groups.clone();
    let Some(unit) = source.split([' ', ',']).find(|word| word.ends_with(".scope")) else {
        println!("scope: skipped (control groups are {source})");
        return None;
    };
    let manager = if source.contains("user's") { "--user" } else { "--system" };
    let unit = unit.to_owned();
    Some((runtime, Scope { unit, manager }))
}

struct Scope {
    unit: String,
    manager: &'static str,
}

impl Scope {
    /// Has systemd end it, and waits for nothing: what happens meanwhile is of interest, too.
    fn stop(&self) {
        let arguments = [self.manager, "--no-block", "stop", &self.unit];
        let asked = std::process::Command::new("systemctl").args(arguments).status().unwrap();
        assert!(asked.success(), "{asked}");
    }

    /// Runs a script, which must be counted, by a zygote that is in another scope.
    async fn is_replaced(&self, sandbox: &Sandbox) {
        let result = run(sandbox, "emit_result(1)").await;
        assert_eq!(data(&result), "1");
        assert!(result.usage.cpu_ms.is_some(), "it is counted, too: {result:?}");
        let group = std::fs::read_to_string(format!("/proc/{}/cgroup", zygote())).unwrap();
        assert!(
            group.contains(".scope/") && !group.contains(&self.unit),
            "{} is not over: {group}",
            self.unit
        );
    }
}

async fn ends_without_groups(runtime: Runtime) {
    in_time(runtime.shutdown()).await;
    drop(runtime);
    eventually("no group of any scope is left", || scopes_of(std::process::id()).is_empty()).await;
}

#[tokio::test]
async fn a_scope_that_systemd_ends_is_asked_for_again() {
    let Some((runtime, scope)) = in_a_scope() else { return };
    let sandbox = sandbox_with(&runtime, with_stock(1)).await;
    sandbox.warm(1).await.unwrap();
    scope.stop();
    eventually("its cells and its zygote are gone, and there are others", || {
        let stats = sandbox.stats();
        stats.revived >= 1 && stats.idle == 1
    })
    .await;
    scope.is_replaced(&sandbox).await;
    drop(sandbox);
    ends_without_groups(runtime).await;
}

/// Nobody has noticed that the zygote is gone when there are no groups any more.
#[tokio::test]
async fn a_scope_that_systemd_ended_a_while_ago_is_asked_for_again() {
    let Some((runtime, scope)) = in_a_scope() else { return };
    let sandbox = sandbox_with(&runtime, with_stock(0)).await;
    assert_eq!(data(&run(&sandbox, "emit_result(1)").await), "1");
    scope.stop();
    eventually("systemd has removed the scope", || scopes_of(std::process::id()).is_empty()).await;
    scope.is_replaced(&sandbox).await;
    let stats = sandbox.stats();
    assert_eq!((stats.revived, stats.failed), (1, 0), "{stats:?}");
    assert!(stats.last_revival.as_deref().is_some_and(|why| why.contains(&scope.unit)), "{stats:?}");
    drop(sandbox);
    ends_without_groups(runtime).await;
}

/// Such as by the kernel, when the memory of the scope is used up. Systemd has not ended the scope.
#[tokio::test]
async fn a_scope_whose_holder_is_killed_goes_on_with_whom_it_has() {
    let Some((runtime, _)) = in_a_scope() else { return };
    let [first, second] = [1, 2].map(|memory| {
        let mut config = with_stock(0);
        config.resource_limits.memory_mb += memory;
        config
    });
    let first = sandbox_with(&runtime, first).await;
    let is_holder = |helper: &u32| children_of(*helper).is_empty();
    kill(processes_called("belljar-jail").into_iter().find(is_holder).expect("a helper holds the scope"));
    let second = sandbox_with(&runtime, second).await;
    for sandbox in [&first, &second, &first] {
        let result = run(sandbox, "emit_result(1)").await;
        assert_eq!(data(&result), "1");
        assert!(result.usage.cpu_ms.is_some(), "{result:?}");
        assert_eq!(sandbox.stats().revived, 0);
    }
    drop(first);
    drop(second);
    ends_without_groups(runtime).await;
}
