//! Programs: any command, in a cell of its own, in a workspace that stays.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use belljar_core::wire::TerminalSize;
use belljar_engine::kept::Store;
use belljar_runtime::{
    Blueprint, OutputStream, Program, ProgramEnd, RunningProgram, Runtime, Sandbox, Stdin, Verdict,
    WorkspaceName, stdin_from_stream,
};
use belljar_testing::{HANG, config, has, needs_isolation, runtime};

/// A sandbox with a store of one workspace.
struct Place {
    store: Store,
    sandbox: Sandbox,
    name: WorkspaceName,
    _home: tempfile::TempDir,
}

async fn place(runtime: &Runtime) -> Place {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(&home.path().join("store"), runtime.kept_owner()).unwrap();
    let name = WorkspaceName::new("job").unwrap();
    store.create(&name, |_| Ok(())).unwrap();
    let mut blueprint = Blueprint::new(config());
    blueprint.workspaces = Some(store.path().to_owned());
    blueprint.has_terminals = true;
    let sandbox = runtime.prepare(blueprint, &mut |_| {}).await.unwrap();
    Place { store, sandbox, name, _home: home }
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<(Vec<u8>, Vec<u8>)>>);

impl Written {
    fn sink(&self) -> impl FnMut(OutputStream, &[u8]) + Send + 'static {
        let written = Arc::clone(&self.0);
        move |stream, bytes| {
            let mut written = written.lock().unwrap();
            match stream {
                OutputStream::Stdout => written.0.extend_from_slice(bytes),
                OutputStream::Stderr => written.1.extend_from_slice(bytes),
            }
        }
    }

    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap().0).into_owned()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap().1).into_owned()
    }

    async fn until(&self, text: &str) {
        let seen = async {
            while !self.stdout().contains(text) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(HANG, seen).await;
        assert!(waited.is_ok(), "{text:?} is not in {:?}", self.stdout());
    }
}

impl Place {
    async fn start(&self, program: Program) -> (RunningProgram, Written) {
        let written = Written::default();
        let running = self.sandbox.start_program(program, Some(self.name.clone()), written.sink());
        let running = tokio::time::timeout(HANG, running).await.expect("starting hangs").unwrap();
        (running, written)
    }

    async fn run(&self, program: Program) -> (ProgramEnd, Written) {
        let (running, written) = self.start(program).await;
        (end(&running).await, written)
    }
}

async fn end(running: &RunningProgram) -> ProgramEnd {
    tokio::time::timeout(HANG, running.wait()).await.expect("the program hangs").expect("somebody tells")
}

fn shell(script: &str) -> Program {
    Program::new("sh").args(["-c", script])
}

#[tokio::test]
async fn a_program_works_in_a_workspace_that_stays() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let (end, written) = place.run(shell("pwd; echo one > a.txt; echo two >&2; exit 3")).await;
    assert_eq!((end.exit_code, end.signal), (3, None), "{end:?}");
    assert_eq!(end.result.verdict, Verdict::Exited { code: 3 });
    assert_eq!(written.stderr(), "two\n");
    let (end, written) = place.run(Program::new("cat").args(["a.txt"])).await;
    assert_eq!((end.exit_code, written.stdout().as_str()), (0, "one\n"), "{end:?} {}", written.stderr());
    assert_eq!(end.result.verdict, Verdict::Ok);
    let read = place.store.get(&place.name).unwrap().with_blocking(|tree| {
        let (mut file, _) = tree.open(&belljar_core::GuestPath::new("a.txt").unwrap())?;
        let mut text = String::new();
        std::io::Read::read_to_string(&mut file, &mut text)?;
        Ok(text)
    });
    assert_eq!(read.unwrap(), "one\n");
}

#[tokio::test]
async fn without_a_store_there_is_no_workspace_and_no_other_place_instead() {
    let Some(runtime) = runtime() else { return };
    let sandbox = runtime.sandbox(config()).await.unwrap();
    let name = WorkspaceName::new("job").unwrap();
    let started = sandbox.start_program(Program::new("true"), Some(name), |_: OutputStream, _: &[u8]| {});
    let refused = tokio::time::timeout(HANG, started).await.expect("starting hangs").unwrap_err();
    assert!(refused.to_string().contains("it has no workspaces"), "{refused}");
}

#[tokio::test]
async fn no_other_workspace_is_seen() {
    let Some(runtime) = runtime() else { return };
    if needs_isolation("a plain process sees every file") {
        return;
    }
    let place = place(&runtime).await;
    let other = WorkspaceName::new("another-one").unwrap();
    place.store.create(&other, |_| Ok(())).unwrap();
    let (end, written) = place
        .run(shell("find / -xdev -name another-one 2>/dev/null; ls /run/belljar/store /workspace/.. 2>&1"))
        .await;
    assert!(!written.stdout().contains("another-one"), "{} {end:?}", written.stdout());
}

#[tokio::test]
async fn stdin_is_read_to_its_end_and_variables_are_set() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let mut program =
        shell("cat; echo $FOO; echo $WORK_DIR").stdin("hello\n".as_bytes().to_vec()).env("FOO", "bar");
    program.places.insert("WORK_DIR".into(), "work".into());
    let (end, written) = place.run(program).await;
    assert_eq!(end.exit_code, 0, "{end:?}");
    assert!(written.stdout().starts_with("hello\nbar\n"), "{}", written.stdout());
    assert!(written.stdout().trim_end().ends_with("/work"), "{}", written.stdout());
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let (end, _) = place.run(Program::new("no-such-program")).await;
    assert_eq!(end.exit_code, -1, "{end:?}");
    assert!(
        end.not_started.as_deref().is_some_and(|why| why.contains("no-such-program: command not found")),
        "{end:?}"
    );
}

#[tokio::test]
async fn a_program_that_takes_too_long_is_ended_with_all_it_started() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let program =
        shell("echo before; (sleep 1000; echo never) & sleep 1000").timeout(Duration::from_millis(300));
    let (end, written) = place.run(program).await;
    assert!(end.timed_out(), "{end:?}");
    assert_eq!((end.exit_code, written.stdout().as_str()), (-1, "before\n"));
}

#[tokio::test]
async fn what_runs_on_in_the_background_holds_up_nobody() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let (end, written) = place.run(shell("sleep 60 & setsid sleep 60 & echo done")).await;
    assert_eq!((end.exit_code, written.stdout().as_str()), (0, "done\n"), "{end:?}");
}

#[tokio::test]
async fn a_signal_is_told() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let (end, _) = place.run(shell("kill -SEGV $$")).await;
    assert_eq!((end.exit_code, end.signal), (139, Some(11)), "{end:?}");
    let (running, written) =
        place.start(shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done")).await;
    written.until("ready").await;
    running.terminate().unwrap();
    let ended = self::end(&running).await;
    assert_eq!(ended.exit_code, 7, "{ended:?} {}", written.stdout());
    assert!(written.stdout().contains("bye"));
}

#[tokio::test]
async fn limits_of_one_program_are_kept() {
    let Some(runtime) = runtime() else { return };
    if needs_isolation("nothing is limited") || !has(&runtime, "cgroup_memory") {
        return;
    }
    let place = place(&runtime).await;
    let mut program = Program::new("python3").args(["-c", "x = bytearray(300 << 20); print(len(x))"]);
    program.memory_mb = Some(64);
    let (end, _) = place.run(program).await;
    assert_eq!(end.result.verdict, Verdict::Oom, "{end:?}");
}

#[tokio::test]
async fn a_terminal_is_one() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let (sender, receiver) = tokio::sync::mpsc::channel::<std::io::Result<bytes::Bytes>>(4);
    let mut program = shell(
        "tty; stty size; printf 'choose: '; read v; echo tty:$v; while :; do sleep 0.05; stty size; done",
    )
    .stdin(typed(receiver))
    .terminal(TerminalSize { rows: 33, columns: 99 });
    program.env.insert("PS1".into(), "$ ".into());
    let (running, written) = place.start(program).await;
    written.until("choose: ").await;
    assert!(written.stdout().contains("33 99"), "{}", written.stdout());
    assert!(written.stdout().contains("/dev/pts/"), "{}", written.stdout());
    sender.send(Ok("7\n".into())).await.unwrap();
    written.until("tty:7").await;
    running.resize(TerminalSize { rows: 11, columns: 22 }).unwrap();
    written.until("11 22").await;
    // Ctrl-C, as a terminal sends it.
    sender.send(Ok("\x03".into())).await.unwrap();
    let ended = end(&running).await;
    assert_eq!(ended.signal.or(Some(ended.exit_code - 128)), Some(2), "{ended:?}");
}

fn typed(mut receiver: tokio::sync::mpsc::Receiver<std::io::Result<bytes::Bytes>>) -> Stdin {
    stdin_from_stream(PollFn(move |cx: &mut std::task::Context<'_>| receiver.poll_recv(cx)))
}

struct PollFn<F>(F);

impl<F: FnMut(&mut std::task::Context<'_>) -> std::task::Poll<Option<std::io::Result<bytes::Bytes>>> + Unpin>
    futures_core::Stream for PollFn<F>
{
    type Item = std::io::Result<bytes::Bytes>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        (self.0)(cx)
    }
}

#[tokio::test]
async fn dropping_a_program_ends_it() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let (running, written) = place.start(shell("echo ready; sleep 1000")).await;
    written.until("ready").await;
    drop(running);
    tokio::time::timeout(HANG, runtime.shutdown()).await.expect("the shutdown hangs");
}
