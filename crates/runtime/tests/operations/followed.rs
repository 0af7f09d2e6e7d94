//! A run's life can be followed in the log, from the wait for a cell to the cell's end.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use belljar_runtime::{ExecutionRequest, SandboxConfig};
use tracing_subscriber::fmt::MakeWriter;

use belljar_testing::engine;
use belljar_testing::{config, runtime, sandbox_with};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Hears this thread until the guard is dropped: a test's async runtime has no other.
    fn listen(level: tracing::Level) -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .without_time()
            .with_writer(log.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn lines(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap();
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// The message of each line that has `mark`, in order, among those asked for.
fn messages<'a>(lines: &[String], mark: &str, wanted: &[&'a str]) -> Vec<&'a str> {
    let of = |line: &String| wanted.iter().copied().find(|message| line.contains(message));
    lines.iter().filter(|line| line.contains(mark)).filter_map(of).collect()
}

#[tokio::test]
async fn a_run_can_be_followed_from_checkout_to_the_end_of_its_cell() {
    let (log, _listening) = Log::listen(tracing::Level::DEBUG);
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, SandboxConfig { name: "followed".into(), ..config() }).await;
    let request = ExecutionRequest::new("emit_result(1)").with_execution_id("run-7");
    let result = sandbox.run(request).await.unwrap();
    assert!(result.success(), "{result:#?}");
    sandbox.at_rest().await;
    runtime.shutdown().await;
    let lines = log.lines();

    let end = if engine() == "docker" { "the cell is given back" } else { "the cell is destroyed" };
    let life = [
        "a cell is checked out",
        "the request is sent",
        "the outcome is known",
        "the conversation is over",
        "the run ended",
        end,
    ];
    assert_eq!(messages(&lines, "exec.run{execution=run-7", &life), life, "{lines:#?}");
    let ended = lines.iter().find(|line| line.contains("the run ended")).unwrap();
    for field in ["sandbox=\"followed\"", "template=", "cell=cell-", "verdict=\"ok\"", "output_bytes=", "ms="]
    {
        assert!(ended.contains(field), "no {field} in {ended}");
    }
    let prepared = lines.iter().find(|line| line.contains("a template is prepared")).unwrap();
    assert!(prepared.contains("template.prepare{sandbox=\"followed\""), "{prepared}");
    let made = lines.iter().find(|line| line.contains("a cell is made")).unwrap();
    assert!(made.contains("cell.spawn{sandbox=followed") && made.contains("cell=cell-"), "{made}");
    if engine() == "docker" {
        let place = result.place.expect("a container has an id");
        assert!(made.contains(&place) && ended.contains(&place), "{made}\n{ended}");
        let reset = lines.iter().find(|line| line.contains("a cell was reset")).unwrap();
        assert!(reset.contains("cell.reset{") && reset.contains(&place), "{reset}");
    }
}

#[tokio::test]
async fn a_session_step_is_a_run_of_its_own_in_the_log() {
    let (log, _listening) = Log::listen(tracing::Level::DEBUG);
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut session = sandbox.session().await.unwrap();
    for id in ["step-1", "step-2"] {
        session.step(ExecutionRequest::new("x = 1").with_execution_id(id)).await.unwrap();
    }
    let lines = log.lines();
    for id in ["step-1", "step-2"] {
        let mark = format!("exec.run{{execution={id}");
        assert_eq!(messages(&lines, &mark, &["the run ended"]), ["the run ended"], "{lines:#?}");
    }
    drop(session);
    runtime.shutdown().await;
}

#[tokio::test]
async fn no_log_holds_a_script_or_what_it_says() {
    let (log, _listening) = Log::listen(tracing::Level::TRACE);
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    // What it says is spelled nowhere in it.
    let script =
        "word = 'drowssap-xyzzy'\nprint(word[::-1])\nemit_log(word[::-1])\nraise ValueError(word[::-1])";
    let result = sandbox.run(script).await.unwrap();
    assert!(result.stdout.contains("yzzyx-password"), "{result:#?}");
    runtime.shutdown().await;
    let lines = log.lines();
    assert!(lines.iter().any(|line| line.contains("the run ended")), "nothing was logged: {lines:#?}");
    for line in &lines {
        assert!(!line.contains("drowssap-xyzzy") && !line.contains("yzzyx-password"), "{line}");
    }
}
