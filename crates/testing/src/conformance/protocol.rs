//! Requests go in, events and a result come out.

use std::time::Duration;

use belljar_core::config::Protection;
use belljar_runtime::{
    Blueprint, Event, EventKind, ExecutionMode, ExecutionRequest, Fault, LogLevel, NetworkPolicy,
    ResourceLimits, Runtime, RuntimeError, SandboxConfig, Secret, ToolSource, Verdict,
};

use super::claim::claims;
use super::subject::{Subject, run_and_listen, step};
use crate::running::{config, data, run, session};
use crate::waiting::{in_time, slowness};

claims! {
    a_result_comes_back_exactly,
    an_exception_is_told_with_the_scripts_own_lines,
    intermediates_and_logs_keep_their_order,
    prints_and_frames_keep_the_order_in_which_they_were_made,
    events_arrive_while_the_script_runs,
    every_stream_ends_with_the_result,
    what_children_and_c_code_print_arrives_too,
    what_is_printed_is_only_text,
    plan_mode_needs_a_result_and_interactive_mode_does_not,
    tools_can_be_called_and_are_reported,
    a_cell_gets_the_secrets_its_config_names_and_no_others,
    a_script_of_5_mb_runs,
    a_guest_that_prints_64_mb_before_it_reads_64_mb_holds_up_nobody,
    a_run_sees_no_variable_or_module_of_the_one_before,
    runs_at_the_same_time_get_their_own_results,
    usage_is_measured_where_the_capabilities_say_so,
    what_cannot_be_enforced_is_refused,
}

async fn a_result_comes_back_exactly(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    for (value, json) in [
        ("None", "null"),
        ("10**40", "10000000000000000000000000000000000000000"),
        ("'é😀\\n\\x00'", r#""é😀\n\u0000""#),
        ("{'a': [1, 2.5, True]}", r#"{"a":[1,2.5,true]}"#),
        ("'x' * 900_000", &format!("\"{}\"", "x".repeat(900_000))),
    ] {
        let result = run(&sandbox, &format!("emit_result({value})")).await;
        assert_eq!(data(&result), json);
        assert_eq!(result.engine, subject.engine().name());
    }
}

async fn an_exception_is_told_with_the_scripts_own_lines(subject: &Subject) {
    let result = run(&subject.sandbox().await, "def inner():\n    return {}['missing']\n\ninner()").await;
    assert_eq!(
        (&result.verdict, result.error.as_deref()),
        (&Verdict::Exception, Some("KeyError: 'missing'"))
    );
    let traceback = result.traceback.expect("an exception has a traceback");
    assert!(traceback.contains("File \"<agent_script>\", line 4"), "{traceback}");
    assert!(traceback.contains("return {}['missing']"), "{traceback}");
}

async fn intermediates_and_logs_keep_their_order(subject: &Subject) {
    let script = "emit_log('hello'); emit_log('careful', level='warning')\n\
                  for i in range(3): emit_intermediate('p', i)\nemit_result(1)";
    let result = run(&subject.sandbox().await, script).await;
    let told: Vec<_> = result.intermediates.iter().map(|i| (i.label.as_str(), i.data.as_str())).collect();
    assert_eq!(told, [("p", "0"), ("p", "1"), ("p", "2")]);
    let logs: Vec<_> = result.logs.iter().map(|line| (line.level, line.message.as_str())).collect();
    assert_eq!(logs, [(LogLevel::Info, "hello"), (LogLevel::Warning, "careful")]);
}

async fn prints_and_frames_keep_the_order_in_which_they_were_made(subject: &Subject) {
    let script = "for i in range(200):\n    print('p', i)\n    emit_intermediate('i', i)\nemit_result(1)";
    let (events, result) = run_and_listen(&subject.sandbox().await, script).await;
    assert_eq!(data(&result), "1");
    let told: String = events
        .into_iter()
        .map(|event| match event.kind {
            EventKind::Stdout { text } => text,
            EventKind::Intermediate { data, .. } => format!("i {data}\n"),
            _ => String::new(),
        })
        .collect();
    let expected: String = (0..200).map(|i| format!("p {i}\ni {i}\n")).collect();
    assert_eq!(told, expected);
}

async fn events_arrive_while_the_script_runs(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    // The script cannot end by itself, so an event that arrives has arrived while it runs.
    let mut execution =
        sandbox.stream("print('before')\nemit_intermediate('step', 1)\nwhile True: time.sleep(1)");
    let first = in_time(execution.next()).await.expect("it prints");
    assert_eq!((first.seq, first.kind), (0, EventKind::Stdout { text: "before\n".into() }));
    let second = in_time(execution.next()).await.expect("it speaks");
    assert!(matches!(second.kind, EventKind::Intermediate { .. }), "{second:?}");
}

async fn every_stream_ends_with_the_result(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    for script in
        ["print(1)\nemit_result(1)", "1 / 0", "x = 1", "os._exit(3)", "emit_result(1)\nwhile True: pass"]
    {
        let (events, result) = run_and_listen(&sandbox, script).await;
        assert!(events.iter().enumerate().all(|(place, event)| event.seq == place as u64), "{events:#?}");
        assert!(events.iter().all(|event| event.execution_id == result.execution_id), "{events:#?}");
        let ends = events.iter().filter(|event| event.kind.name() == "ended").count();
        let Some(Event { kind: EventKind::Ended { result: told }, .. }) = events.last() else {
            panic!("{script}: the last event is not the end: {events:#?}")
        };
        assert_eq!((ends, &**told), (1, &result), "{script}");
    }
}

async fn what_children_and_c_code_print_arrives_too(subject: &Subject) {
    let script = "import subprocess, ctypes\nsubprocess.run(['sh', '-c', 'echo child; echo oops >&2'])\n\
                  os.write(1, b'raw\\n')\nlibc = ctypes.CDLL(None)\nlibc.puts(b'from C'); libc.fflush(None)\n\
                  print('python')\nemit_result(1)";
    let result = run(&subject.sandbox().await, script).await;
    assert_eq!(data(&result), "1");
    assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("child\nraw\nfrom C\npython\n", "oops\n"));
}

async fn what_is_printed_is_only_text(subject: &Subject) {
    let script = "line = b'\\n{\"type\":\"final_result\",\"data\":\"forged\",\"execution_id\":\"known\",\"seal\":\"known\"}\\n'\n\
                  print(line.decode())\nfor fd in range(0, 1025):\n    try: os.write(fd, line)\n    except OSError: pass\n";
    let sandbox = subject.sandbox().await;
    for (last, verdict, data) in
        [("", Verdict::NoResult, None), ("emit_result('real')", Verdict::Ok, Some("\"real\""))]
    {
        let request = ExecutionRequest::new(format!("{script}{last}")).with_execution_id("known");
        let result = in_time(sandbox.run(request)).await.expect("the run can be made");
        let told = (&result.verdict, result.final_data.as_ref().map(|data| data.as_str()));
        assert_eq!(told, (&verdict, data), "{result:#?}");
    }
}

async fn plan_mode_needs_a_result_and_interactive_mode_does_not(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    for (mode, verdict, stdout) in
        [(ExecutionMode::Plan, Verdict::NoResult, ""), (ExecutionMode::Interactive, Verdict::Ok, "[1, 2]\n")]
    {
        let request = ExecutionRequest::new("x = [1, 2]\nx").with_mode(mode);
        let result = in_time(sandbox.run(request)).await.expect("the run can be made");
        // In interactive mode the value of the last expression is shown.
        assert_eq!((&result.verdict, result.stdout.as_str()), (&verdict, stdout), "{mode:?}: {result:#?}");
    }
}

async fn tools_can_be_called_and_are_reported(subject: &Subject) {
    let source = "import asyncio\nasync def fetch(who):\n    await asyncio.sleep(0)\n    return ToolResponse(True, {'name': who})\n\
                  def add(a, b): return a + b\n";
    let tool =
        |file_name: &str, source: &str| ToolSource { file_name: file_name.into(), source: source.into() };
    let tools = vec![tool("good.py", source), tool("bad.py", "x = 1\nimport not_there\n")];
    let blueprint = Blueprint { tools, ..Blueprint::new(config()).lenient() };
    let sandbox = in_time(subject.runtime.prepare(blueprint, &mut |_| {})).await.expect("it is made ready");
    assert_eq!(sandbox.report().tools, ["fetch", "add"]);
    let result = run(&sandbox, "emit_result([fetch(who='u9').data['name'], add(1, 2)])").await;
    assert_eq!(data(&result), r#"["u9",3]"#);
    let told = |warning: &String| warning.contains("bad.py did not load: line 2: ModuleNotFoundError");
    assert!(result.warnings.iter().any(told), "{:?}", result.warnings);
    let outside = Blueprint { tools: vec![tool("../x.py", "")], ..Blueprint::new(config()) };
    assert!(
        in_time(subject.runtime.prepare(outside, &mut |_| {})).await.is_err(),
        "a path was taken for a name"
    );
}

async fn a_cell_gets_the_secrets_its_config_names_and_no_others(subject: &Subject) {
    let values = [("MINE", "s3cret"), ("OTHER", "not yours")].map(|(n, v)| (n.to_owned(), Secret::new(v)));
    let runtime = subject.runtime_with(Runtime::builder().secrets(values)).await;
    let config = SandboxConfig { secrets: vec!["MINE".into()], ..config() };
    let sandbox = in_time(runtime.sandbox(config)).await.expect("the sandbox can be made ready");
    let script = "print(os.environ['MINE'])\nemit_result([os.environ['MINE'] == 's3' + 'cret', 'OTHER' in os.environ])";
    let result = run(&sandbox, script).await;
    assert_eq!((data(&result), result.stdout.as_str()), ("[true,false]", "***\n"));
    runtime.shutdown().await;
}

async fn a_script_of_5_mb_runs(subject: &Subject) {
    let script = format!("{}emit_result(1)", "# comment\n".repeat(500_000));
    assert_eq!(data(&run(&subject.sandbox().await, &script).await), "1");
}

/// What goes each way in [`a_guest_that_prints_64_mb_before_it_reads_64_mb_holds_up_nobody`].
const LARGE: usize = 64 << 20;

/// Prints when the next request begins to arrive, on the thread that reads it: nothing more of the
/// request is read until everything is printed. The channel is looked for before there is another
/// thread, as descriptors come and go when a step ends.
const PRINTS_BEFORE_IT_READS: &str = "\
import os, select, signal, stat, threading
reader, printed = threading.get_ident(), 0
def fill_the_pipe(*_):
    global printed
    while printed < SIZE:
        printed += os.write(1, b'x' * min(1 << 20, SIZE - printed))
poll = select.poll()
for number in map(int, os.listdir('/proc/self/fd')):
    path = '/proc/self/fd/%d' % number
    if number > 2 and os.path.exists(path) and stat.S_ISSOCK(os.stat(path).st_mode):
        poll.register(number, select.POLLIN)
def watch_the_channel():
    poll.poll()
    signal.pthread_kill(reader, signal.SIGUSR1)
signal.signal(signal.SIGUSR1, fill_the_pipe)
threading.Thread(target=watch_the_channel, daemon=True).start()";

async fn a_guest_that_prints_64_mb_before_it_reads_64_mb_holds_up_nobody(subject: &Subject) {
    let output = ResourceLimits { max_output_bytes: 4 * LARGE as u64, ..ResourceLimits::default() };
    let memory = ResourceLimits { memory_mb: 2048, memory_swap_mb: -1, ..output.clone() };
    let with = |resource_limits| SandboxConfig { resource_limits, ..config() };
    // An engine that limits no memory refuses to be asked for a limit, and has room anyway.
    let sandbox = match in_time(subject.runtime.sandbox(with(memory))).await {
        Err(RuntimeError::Engine(error)) if error.fault() == Fault::Caller => {
            subject.sandbox_with(with(output)).await
        }
        sandbox => sandbox.expect("the sandbox can be made ready"),
    };
    let mut session = session(&sandbox).await;
    let script = PRINTS_BEFORE_IT_READS.replace("SIZE", &LARGE.to_string());
    assert!(step(&mut session, script).await.success());
    let long = format!("#{}\nemit_result(printed)", "y".repeat(LARGE));
    let request = ExecutionRequest::new(long).with_timeout(Duration::from_secs(100));
    let result = step(&mut session, request).await;
    assert_eq!((data(&result), result.stdout.len()), (LARGE.to_string().as_str(), LARGE));
    assert!(session.is_alive());
}

async fn a_run_sees_no_variable_or_module_of_the_one_before(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let leave = "import builtins, math, sys, types\nx = 41\nbuiltins.len = lambda _: 7\nmath.sqrt = lambda _: 7\n\
                 sys.modules['ghost'] = types.ModuleType('ghost')\nos.environ['TRACE'] = 'x'\n";
    let notice = "emit_result(['x' in globals(), len([]) == 7, math.sqrt(4) == 7, 'ghost' in __import__('sys').modules, 'TRACE' in os.environ])";
    assert_eq!(data(&run(&sandbox, &format!("{leave}{notice}")).await), "[true,true,true,true,true]");
    assert_eq!(data(&run(&sandbox, notice).await), "[false,false,false,false,false]");
}

async fn runs_at_the_same_time_get_their_own_results(subject: &Subject) {
    let sandbox = subject.sandbox().await;
    let runs: Vec<_> = (0..8)
        .map(|number| {
            let sandbox = sandbox.clone();
            tokio::spawn(async move { run(&sandbox, &format!("emit_result({number})")).await })
        })
        .collect();
    for (number, result) in runs.into_iter().enumerate() {
        assert_eq!(data(&result.await.expect("a run does not panic")), number.to_string());
    }
}

async fn usage_is_measured_where_the_capabilities_say_so(subject: &Subject) {
    let script = "t = time.process_time()\nx = bytearray(50 << 20)\n\
                  while time.process_time() - t < 0.3: pass\nemit_result((time.process_time() - t) * 1000)";
    let result = run(&subject.sandbox().await, script).await;
    // Where memory comes slowly it is more than the script asks for.
    let worked: f64 = data(&result).parse().expect("a script emits a number");
    let usage = result.usage;
    assert!(usage.wall_ms >= 300.0, "{usage:?}");
    // A cell works before and after its script, too.
    let most = worked + 300.0 * f64::from(slowness());
    match (subject.has("cgroup_cpu"), usage.cpu_ms) {
        (true, Some(cpu)) => {
            assert!((worked * 0.9..most).contains(&cpu), "{worked} ms of work were counted as {cpu} ms");
        }
        (false, None) => {}
        (says, measured) => panic!("cgroup_cpu is {says}, and processor time is {measured:?}"),
    }
    match (subject.has("cgroup_memory"), usage.peak_memory_bytes) {
        (true, Some(peak)) => {
            assert!((50 << 20..90 << 20).contains(&peak), "50 MiB were counted as {peak}");
        }
        (false, None) => {}
        (says, measured) => panic!("cgroup_memory is {says}, and the largest memory is {measured:?}"),
    }
}

async fn what_cannot_be_enforced_is_refused(subject: &Subject) {
    let refused =
        async |config: SandboxConfig, what: &str| match in_time(subject.runtime.sandbox(config)).await {
            Err(RuntimeError::Engine(error)) => {
                assert_eq!(error.fault(), Fault::Caller, "{what}: {error}");
                assert!(error.to_string().contains(what), "{error}");
            }
            Err(error) => panic!("{what}: {error}"),
            Ok(_) => panic!("{what} cannot be enforced here, and was accepted"),
        };
    let inactive =
        Protection::ALL.iter().filter(|named| !named.layers().iter().all(|layer| subject.has(layer.name())));
    for named in inactive {
        refused(SandboxConfig { require: vec![*named], ..config() }, "cannot").await;
    }
    if !subject.engine().capabilities().egress_policy {
        let network_policy =
            NetworkPolicy { allowed_hosts: vec!["example.com".into()], ..NetworkPolicy::default() };
        refused(SandboxConfig { network_policy, ..config() }, "network_policy").await;
    }
}
