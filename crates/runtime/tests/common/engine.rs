//! Which engine is under test: the one place that knows. `BELLJAR_TEST_ENGINE=docker` runs the same suites on containers,
//! `BELLJAR_TEST_ENGINE=local` what needs no isolation in plain subprocesses.

use std::path::PathBuf;
use std::sync::OnceLock;

use belljar_engine::docker::Docker;
use belljar_engine::local::Local;
use belljar_engine::native::Native;
use belljar_runtime::{Runtime, RuntimeBuilder, RuntimeError};

/// `native`, `docker` or `local`.
pub(crate) fn engine() -> &'static str {
    static ENGINE: OnceLock<String> = OnceLock::new();
    ENGINE.get_or_init(|| std::env::var("BELLJAR_TEST_ENGINE").unwrap_or_else(|_| "native".to_owned()))
}

/// One cache for all tests: layers and interpreters are the same for all of them.
pub(crate) fn cache() -> PathBuf {
    std::env::temp_dir().join(format!("belljar-test-cache-{}", rustix::process::geteuid().as_raw()))
}

/// What makes no sense where nothing is isolated, by where it stands, and why.
const NOT_ON_LOCAL: [(&str, &str); 0] = [];

/// A runtime on that engine, or `None` with the reason printed where it cannot make cells.
#[track_caller]
pub(crate) fn build(builder: RuntimeBuilder) -> Option<Runtime> {
    build_with(builder, Native::new(), Docker::new())
}

/// The same with more to say to the engine that is under test.
#[track_caller]
pub(crate) fn build_with(builder: RuntimeBuilder, native: Native, docker: Docker) -> Option<Runtime> {
    match engine() {
        "native" => {
            let runtime =
                open(builder.engine(native.cache_dir(cache()))).expect("the machine can be looked at");
            let obstacles = &runtime.capabilities().obstacles;
            if obstacles.is_empty() {
                return Some(runtime);
            }
            skip("native", &format!("no {obstacles:?}; see belljar doctor"))
        }
        "docker" => connect_or_skip(builder, docker),
        "local" => {
            let asked_from = std::panic::Location::caller().file();
            if let Some((_, why)) = NOT_ON_LOCAL.iter().find(|(place, _)| asked_from.contains(place)) {
                println!("local: skipped ({why})");
                return None;
            }
            Some(open(builder.engine(Local::new().cache_dir(cache()))).expect("it needs nothing"))
        }
        other => panic!("BELLJAR_TEST_ENGINE={other}: must be native, docker or local"),
    }
}

/// A runtime on a daemon, or `None` with the reason printed where none answers.
pub(crate) fn connect_or_skip(builder: RuntimeBuilder, docker: Docker) -> Option<Runtime> {
    match open(builder.engine(docker)) {
        Ok(runtime) => Some(runtime),
        Err(error) => skip("docker", &error.to_string()),
    }
}

/// On a tokio runtime of its own, which lives as long as this process: tests ask from within theirs, and containers are removed after those end.
fn open(builder: RuntimeBuilder) -> Result<Runtime, RuntimeError> {
    static BESIDE: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    let beside = BESIDE.get_or_init(|| tokio::runtime::Runtime::new().expect("a runtime can be made"));
    let opening = std::thread::spawn(|| beside.block_on(builder.build()));
    opening.join().expect("opening an engine does not panic")
}

fn skip(engine: &str, reason: &str) -> Option<Runtime> {
    let required = std::env::var("BELLJAR_TEST_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|part| part == engine), "{engine} is required here, but: {reason}");
    println!("{engine}: skipped ({reason})");
    None
}

/// Says that a claim is about the other engine's way of doing things.
pub(crate) fn only_on(wanted: &str, why: &str) -> bool {
    let is_so = engine() == wanted;
    if !is_so {
        println!("{}: skipped ({why})", engine());
    }
    is_so
}
