//! Which engine is under test. This is the one place that knows.
//!
//! `BELLJAR_TEST_ENGINE=docker` runs the same suites on containers. `BELLJAR_TEST_ENGINE=local`
//! runs what needs no isolation in plain subprocesses. Without it suites run on native cells.
//!
//! Where an engine cannot make cells its tests say so in one line and pass, unless
//! `BELLJAR_TEST_REQUIRE` lists it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use belljar_engine::docker::{Docker, DockerEngine};
use belljar_engine::local::{Local, LocalEngine};
use belljar_engine::native::{Native, NativeEngine};
use belljar_engine::{Capabilities, Engine, EngineError};
use belljar_runtime::{Runtime, RuntimeBuilder, RuntimeError};

/// `native`, `docker` or `local`.
pub fn engine() -> &'static str {
    static ENGINE: OnceLock<String> = OnceLock::new();
    ENGINE.get_or_init(|| std::env::var("BELLJAR_TEST_ENGINE").unwrap_or_else(|_| "native".to_owned()))
}

/// One cache for all tests: layers and interpreters are the same for all of them.
pub fn cache() -> PathBuf {
    std::env::temp_dir().join(format!("belljar-test-cache-{}", rustix::process::geteuid().as_raw()))
}

/// What the local engine is tested with: the protocol. Scripts elsewhere may be attacks, and
/// nothing would hold them.
const ON_LOCAL: [&str; 36] = [
    "it/channel.rs",
    "it/dependencies.rs",
    "it/endings.rs",
    "it/files.rs",
    "it/harness.rs",
    "it/host_tools/calls.rs",
    "it/host_tools/content.rs",
    "it/host_tools/endings.rs",
    "it/host_tools/limits.rs",
    "it/preloads.rs",
    "it/programs.rs",
    "it/pythons.rs",
    "it/run_within.rs",
    "it/refused.rs",
    "it/scripts.rs",
    "it/sessions.rs",
    "it/slow_listeners.rs",
    "it/streaming.rs",
    "it/tools.rs",
    "mcp/tests/it/calls.rs",
    "mcp/tests/it/hostile.rs",
    "mcp/tests/it/official.rs",
    "mcp/tests/it/remote.rs",
    "workspace/tests/blocks/main.rs",
    "workspace/tests/jupyter/main.rs",
    "workspace/tests/conformance/collecting.rs",
    "workspace/tests/conformance/endings.rs",
    "workspace/tests/conformance/inputs.rs",
    "workspace/tests/conformance/large.rs",
    "workspace/tests/conformance/limits.rs",
    "workspace/tests/conformance/programs.rs",
    "workspace/tests/conformance/putting.rs",
    "workspace/tests/conformance/sessions.rs",
    "workspace/tests/conformance/spans.rs",
    "workspace/tests/conformance/staging.rs",
    "workspace/tests/conformance/twins.rs",
];

/// Why the local engine is not tested with the rest.
const NOT_ON_LOCAL: [(&str, &str); 13] = [
    ("tests/conformance/", "it is an attack on the host's side of a workspace"),
    ("tests/docker/", "it is about containers"),
    ("tests/egress/", "it is about the proxy, which this engine has not"),
    ("tests/escape/", "there is nothing to escape from"),
    ("tests/exhaustion/", "no limit is enforced: the machine itself would be exhausted"),
    ("tests/forgery/", "nothing bounds what a script does to its own interpreter"),
    ("tests/secrets/", "processes of one user see each other's memory"),
    ("it/compatibility", "it is about what hardening must not break"),
    ("it/confinement.rs", "nothing is confined"),
    ("it/freshness.rs", "files and the network are this machine's own"),
    ("it/hosts.rs", "a script outlives a host that is killed"),
    ("it/pool", "it counts the native engine's processes"),
    ("it/stalled_readers.rs", "its scripts leave marks in a granted directory"),
];

fn why_not_on_local(asked_from: &str) -> Option<&'static str> {
    let is_known = ON_LOCAL.iter().any(|place| asked_from.ends_with(place));
    let reason = NOT_ON_LOCAL.iter().find(|(place, _)| asked_from.contains(place)).map(|(_, why)| *why);
    (!is_known).then(|| reason.unwrap_or("it is not known to be harmless without isolation"))
}

/// A runtime on the engine under test, or `None` with the reason printed where it makes no cells.
#[track_caller]
pub fn build(builder: RuntimeBuilder) -> Option<Runtime> {
    build_with(builder, Native::new(), Docker::new())
}

/// The same with more to say to the engine that is under test.
#[track_caller]
pub fn build_with(builder: RuntimeBuilder, native: Native, docker: Docker) -> Option<Runtime> {
    match engine() {
        "native" => {
            let runtime =
                open(builder.engine(native.cache_dir(cache()))).expect("the machine can be looked at");
            can_make_cells(runtime.capabilities()).then_some(runtime)
        }
        "docker" => connect_or_skip(builder, docker),
        "local" => {
            if let Some(why) = why_not_on_local(std::panic::Location::caller().file()) {
                println!("local: skipped ({why})");
                return None;
            }
            Some(open(builder.engine(Local::new().cache_dir(cache()))).expect("it needs nothing"))
        }
        other => panic!("BELLJAR_TEST_ENGINE={other}: must be native, docker or local"),
    }
}

/// A runtime on a daemon, or `None` with the reason printed where none answers.
pub fn connect_or_skip(builder: RuntimeBuilder, docker: Docker) -> Option<Runtime> {
    open(builder.engine(docker)).map_err(|error| skip("docker", &error.to_string())).ok()
}

/// The native engine by itself, for tests that are about it whatever suites run on. `None` with the
/// reason printed where it cannot make cells.
pub async fn native() -> Option<Arc<NativeEngine>> {
    let engine = Native::new().cache_dir(cache()).open().await.expect("the machine can be looked at");
    can_make_cells(engine.capabilities()).then(|| Arc::new(engine))
}

/// The docker engine by itself, or `None` with the reason printed where no daemon answers.
pub async fn docker_with(settings: Docker) -> Option<Arc<DockerEngine>> {
    let opened: Result<DockerEngine, EngineError> = settings.open().await;
    opened.map(Arc::new).map_err(|error| skip("docker", &error.to_string())).ok()
}

/// The local engine by itself. It isolates nothing: run only scripts that are harmless.
pub async fn local() -> Arc<LocalEngine> {
    Arc::new(Local::new().cache_dir(cache()).open().expect("it needs nothing"))
}

fn can_make_cells(native: &Capabilities) -> bool {
    let obstacles = &native.obstacles;
    if !obstacles.is_empty() {
        skip("native", &format!("no {obstacles:?}; see belljar doctor"));
    }
    obstacles.is_empty()
}

/// Builds on a tokio runtime that lives as long as this process. Tests ask from within theirs, and
/// containers are removed after those end.
fn open(builder: RuntimeBuilder) -> Result<Runtime, RuntimeError> {
    static BESIDE: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    let beside = BESIDE.get_or_init(|| tokio::runtime::Runtime::new().expect("a runtime can be made"));
    let opening = std::thread::spawn(|| beside.block_on(builder.build()));
    opening.join().expect("opening an engine does not panic")
}

/// Says why something is not tested here: an engine, a protection, a program. Where
/// `BELLJAR_TEST_REQUIRE` lists it, that is a failure.
pub(crate) fn skip(part: &str, reason: &str) {
    let required = std::env::var("BELLJAR_TEST_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|listed| listed == part), "{part} is required here, but: {reason}");
    println!("{part}: skipped ({reason})");
}

/// Whether this engine is under test. Says why a claim is about that one only.
pub fn only_on(wanted: &str, why: &str) -> bool {
    let is_so = engine() == wanted;
    if !is_so {
        println!("{}: skipped ({why})", engine());
    }
    is_so
}

/// A program that a script of the project installs, or `None` with the reason printed. `part` is
/// its name in `BELLJAR_TEST_REQUIRE`.
pub fn installed(part: &str, program: &std::path::Path, how: &str) -> Option<PathBuf> {
    if program.exists() {
        return Some(program.to_owned());
    }
    skip(part, &format!("{} is not there: {how}", program.display()));
    None
}
