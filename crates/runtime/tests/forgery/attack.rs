//! One attack: a script, the verdict it must get, and everything that must hold afterwards.

use std::time::Duration;

use belljar_runtime::{
    Event, EventKind, ExecutionRequest, ExecutionResult, Sandbox, Verdict, is_printable, json_line,
};
use belljar_testing::attacks::{Block, blocks};
use belljar_testing::{
    about_the_run, config, data, engine, eventually, processes_below, run, runtime, sandbox_with,
};

/// What every attack can use.
pub(crate) const PRELUDE: &str = include_str!("attacks/prelude.py");

/// Far more than any attack takes on a loaded machine; a run that is still there then will never
/// end.
const BOUND: Duration = Duration::from_secs(60);

/// What an untouched cell says of itself: its place among its processes, what lies about, what it
/// is given of the processor.
const PROBE: &str = "import sys\npids = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())\n\
    emit_result([pids.index(os.getpid()) + 1, len(pids), os.listdir('/workspace'), os.listdir('/tmp'), os.listdir('/dev/shm'),\n\
    'grave' in sys.modules, os.getpriority(os.PRIO_PROCESS, 0), sorted(os.sched_getaffinity(0)), os.sched_getscheduler(0)])";

/// A native cell counts its processes from the start. A container that is used again goes on
/// counting, which tells how much was started in it before and nothing else.
const NUMBER: &str = "emit_result(os.getpid())";

/// An attack as it stands in its file:
///
/// ```text
/// # attack: its_name
/// # expect: ok "data" | exception | no_result | exited 0 | signaled 9 | timeout_wall | output
/// # seconds: 1          the time limit, when it is not the default
/// # warns: words        what the host itself must say about it
/// ```
struct Attack {
    name: &'static str,
    verdict: Verdict,
    data: Option<&'static str>,
    seconds: Option<u64>,
    warning: Option<&'static str>,
    script: &'static str,
}

impl Attack {
    fn read(block: &Block<'static>) -> Self {
        let Block { name, script, .. } = *block;
        let expect = block.field("expect").unwrap_or_else(|| panic!("{name} expects nothing"));
        let (word, detail) = expect.split_once(' ').unwrap_or((expect, ""));
        let number = || detail.parse().unwrap_or_else(|_| panic!("{name} expects {expect:?}"));
        let verdict = match word {
            "ok" => Verdict::Ok,
            "exception" => Verdict::Exception,
            "no_result" => Verdict::NoResult,
            "timeout_wall" => Verdict::TimeoutWall,
            "output" => Verdict::Output,
            "exited" => Verdict::Exited { code: number() },
            "signaled" => Verdict::Signaled { signal: number() },
            _ => panic!("{name} expects {expect:?}"),
        };
        let data = verdict.is_ok().then_some(detail);
        let seconds = block.field("seconds").map(|text| text.parse().unwrap());
        Self { name, verdict, data, seconds, warning: block.field("warns"), script }
    }

    async fn run(&self, sandbox: &Sandbox) -> Result<(), String> {
        let mut request =
            ExecutionRequest::new(format!("{PRELUDE}\n{}", self.script)).with_execution_id("known");
        if let Some(seconds) = self.seconds {
            request = request.with_timeout(Duration::from_secs(seconds));
        }
        let mut events = Vec::new();
        let running = sandbox.run_with(request, |event| events.push(event));
        let result = tokio::time::timeout(BOUND, running)
            .await
            .map_err(|_| "the host waits for ever".to_owned())?
            .map_err(|error| format!("the host failed: {error}"))?;
        check_stream(&events, &result)?;
        let told = (result.verdict.clone(), result.final_data.as_ref().map(|data| data.as_str()));
        if told != (self.verdict.clone(), self.data) {
            let expected = (&self.verdict, self.data);
            return Err(format!("{told:?} instead of {expected:?}: {:?} {:?}", result.error, result.stderr));
        }
        match self.warning.filter(|words| !result.warnings.iter().any(|warning| warning.contains(words))) {
            Some(words) => Err(format!("nobody is warned of {words:?}: {:?}", result.warnings)),
            None => Ok(()),
        }
    }
}

/// What no attack may do to the events and the result, whatever its verdict.
pub(crate) fn check_stream(events: &[Event], result: &ExecutionResult) -> Result<(), String> {
    let count = |name: &str| events.iter().filter(|event| event.kind.name() == name).count();
    for (place, event) in events.iter().enumerate() {
        let line = json_line(event).unwrap();
        if event.seq != place as u64 || event.execution_id != result.execution_id {
            return Err(format!("a stray event: {line}"));
        }
        readable(&line)?;
    }
    match events.split_last() {
        Some((Event { kind: EventKind::Ended { result: told }, .. }, _)) if **told == *result => {}
        last => return Err(format!("the last event is not the host's: {last:?}")),
    }
    if count("ended") != 1 {
        return Err("more than one end".to_owned());
    }
    let warned = events.iter().filter_map(|event| match &event.kind {
        EventKind::Warning { message } => Some(message.as_str()),
        _ => None,
    });
    if !warned.eq(about_the_run(&result.warnings)) {
        return Err("the warnings and their events differ".to_owned());
    }
    if count("script_done") > 1 || count("final_result") + count("error") > 1 {
        return Err(format!("more than one outcome in {} events", events.len()));
    }
    let settled = events.iter().find_map(|event| match &event.kind {
        EventKind::FinalResult { data } => Some(data),
        _ => None,
    });
    if result.success() && result.final_data.as_ref() != settled {
        return Err("the result and its event differ".to_owned());
    }
    readable(&json_line(result).unwrap())?;
    match result.success() == result.error.is_none() {
        true => Ok(()),
        false => Err(format!("{} with the error {:?}", result.verdict, result.error)),
    }
}

/// Whether a line is JSON to the strictest reader, with a caller's own object around it, and acts
/// on no terminal.
fn readable(line: &str) -> Result<(), String> {
    let shown: String = line.chars().take(200).collect();
    if let Some(bad) = line.chars().find(|c| *c != '\t' && !is_printable(*c)) {
        return Err(format!("a line with {bad:?} in it: {shown}"));
    }
    let read = serde_json::from_str::<serde_json::Value>(&format!("[{line}]"));
    read.map(drop).map_err(|error| format!("a line that cannot be read ({error}): {shown}"))
}

/// Runs every attack of a file in one sandbox.
pub(crate) async fn all_fail(file: &'static str) {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let at_rest = processes_below(std::process::id());
    let untouched = run(&sandbox, PROBE).await;
    assert!(data(&untouched).starts_with("[2,2,[],[],[],false,"), "{untouched:?}");
    let mut successful = Vec::new();
    for attack in blocks(file).iter().map(Attack::read) {
        if let Err(why) = attack.run(&sandbox).await {
            successful.push(format!("{}: {why}", attack.name));
        }
        let after = run(&sandbox, PROBE).await;
        if after.final_data != untouched.final_data {
            successful.push(format!("{}: the next run is not untouched: {after:?}", attack.name));
        }
        if engine() == "native" && data(&run(&sandbox, NUMBER).await) != "2" {
            successful.push(format!("{}: the next run does not start from PID 2", attack.name));
        }
        eventually(&format!("nothing is left of {}", attack.name), || {
            processes_below(std::process::id()) == at_rest
        })
        .await;
    }
    drop(sandbox);
    runtime.shutdown().await;
    assert_eq!(processes_below(std::process::id()), Vec::<u32>::new(), "something of the attacks is left");
    assert!(successful.is_empty(), "attacks succeeded:\n{}", successful.join("\n"));
}
