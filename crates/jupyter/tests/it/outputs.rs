//! What code puts out.

use belljar_jupyter::{Kernel, KernelEvent, KernelOutput, KernelStatus, Limits};
use belljar_testing::in_time;

use super::{gateway, limits, python, run, short, value};

#[tokio::test]
async fn what_code_puts_out_is_told_in_order() {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let local = gateway(&python, directory.path()).await;
    let specs = in_time(local.gateway().kernel_specs()).await.unwrap();
    let default = specs.iter().find(|spec| spec.is_default).unwrap();
    assert_eq!((default.name.as_str(), default.language.as_str()), ("python3", "python"));
    let kernel = in_time(local.gateway().start_kernel("python3")).await.unwrap();
    the_value_of_the_last_line_is_a_result(&kernel).await;
    streams_are_apart_and_in_order(&kernel).await;
    what_one_run_defines_the_next_one_finds(&kernel).await;
    code_works_in_the_directory_and_sees_nothing_of_our_environment(&kernel, directory.path()).await;
    rich_values_are_displays(&kernel).await;
    an_exception_is_told_with_what_came_before_it(&kernel).await;
    displays_are_updated_and_cleared(&kernel).await;
    nobody_answers_a_question(&kernel).await;
    any_text_arrives_whole(&kernel).await;
    too_much_output_is_cut_and_the_kernel_lives(&kernel).await;
    events_come_while_code_runs(&kernel).await;
    in_time(local.close()).await;
}

async fn the_value_of_the_last_line_is_a_result(kernel: &Kernel) {
    let run = run(kernel, "1 + 1").await;
    assert_eq!((run.status, run.kernel_was_restarted, run.output_was_cut), (KernelStatus::Ok, false, false));
    assert_eq!(run.result().unwrap().text(), Some("2"));
    assert!(matches!(run.outputs.as_slice(), [KernelOutput::Result(_)]), "{run:?}");
    assert_eq!(run.execution_count, Some(1));
}

async fn streams_are_apart_and_in_order(kernel: &Kernel) {
    let code = "import sys\nfor n in range(3):\n  print('out', n, flush=True); print('err', n, file=sys.stderr, flush=True)\n7";
    let run = run(kernel, code).await;
    let told: Vec<_> = run
        .outputs
        .iter()
        .map(|output| match output {
            KernelOutput::Stdout(text) | KernelOutput::Stderr(text) => text.trim(),
            KernelOutput::Result(display) => display.text().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, ["out 0", "err 0", "out 1", "err 1", "out 2", "err 2", "7"]);
    assert_eq!(run.stderr(), "err 0\nerr 1\nerr 2\n");
}

async fn what_one_run_defines_the_next_one_finds(kernel: &Kernel) {
    assert_eq!(run(kernel, "kept = 41").await.outputs, []);
    assert_eq!(value(kernel, "kept + 1").await, "42");
}

async fn code_works_in_the_directory_and_sees_nothing_of_our_environment(
    kernel: &Kernel,
    directory: &std::path::Path,
) {
    let place = value(kernel, "import os; os.path.realpath(os.getcwd())").await;
    assert_eq!(place, format!("'{}'", directory.canonicalize().unwrap().display()));
    // Cargo sets this for tests.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    assert_eq!(value(kernel, "[k for k in os.environ if 'CARGO' in k or 'TOKEN' in k]").await, "[]");
    assert_eq!(value(kernel, "os.path.exists('.jupyter/gateway.json')").await, "False");
}

async fn rich_values_are_displays(kernel: &Kernel) {
    let code = r"
class Picture:
    def _repr_html_(self): return '<b>é</b>'
    def _repr_png_(self): return b'\x89PNG\r\n\x1a\n' + bytes(200)
    def _repr_json_(self): return {'a': [1, None]}
    def __repr__(self): return 'a picture'
display(Picture())
Picture()";
    let run = run(kernel, code).await;
    assert_eq!(run.displays().count(), 2, "{run:?}");
    for display in run.displays() {
        assert_eq!(display.text(), Some("a picture"));
        assert_eq!(display.get("text/html").unwrap().as_bytes(), "<b>é</b>".as_bytes());
        assert!(display.get("image/png").unwrap().as_bytes().starts_with(b"\x89PNG\r\n\x1a\n\0"));
        assert!(display.get("application/json").is_some());
    }
    assert!(matches!(run.outputs[0], KernelOutput::Display { id: None, is_update: false, .. }));
}

async fn an_exception_is_told_with_what_came_before_it(kernel: &Kernel) {
    let run = run(kernel, "print('before')\ndef f(): return 1 / 0\nf()\nprint('never')").await;
    assert_eq!((run.status, run.stdout().as_str()), (KernelStatus::Error, "before\n"));
    let error = run.error().unwrap();
    assert_eq!((error.name.as_str(), error.value.as_str()), ("ZeroDivisionError", "division by zero"));
    assert!(error.traceback.contains("\u{1b}["), "{:?}", error.traceback);
    assert!(!error.plain_traceback.contains('\u{1b}'), "{:?}", error.plain_traceback);
    assert!(error.plain_traceback.contains("return 1 / 0"), "{}", error.plain_traceback);
    assert!(matches!(run.outputs.as_slice(), [KernelOutput::Stdout(_), KernelOutput::Error(_)]));
    let syntax = super::run(kernel, "1 +").await;
    assert_eq!((syntax.status, syntax.error().unwrap().name.as_str()), (KernelStatus::Error, "SyntaxError"));
}

async fn displays_are_updated_and_cleared(kernel: &Kernel) {
    let code = "handle = display('one', display_id='x')\nprint('between')\nhandle.update('two')";
    let run = run(kernel, code).await;
    let [KernelOutput::Display { display, id, is_update: false }, KernelOutput::Stdout(_)] = &run.outputs[..]
    else {
        panic!("{run:?}")
    };
    assert_eq!((display.text(), id.as_deref()), (Some("'two'"), Some("x")));
    let later = super::run(kernel, "handle.update('three')").await;
    assert!(matches!(&later.outputs[..], [KernelOutput::Display { is_update: true, .. }]), "{later:?}");
    let code =
        "from IPython.display import clear_output\nfor n in range(5):\n  clear_output(wait=True); print(n)";
    assert_eq!(super::run(kernel, code).await.stdout(), "4\n");
}

async fn nobody_answers_a_question(kernel: &Kernel) {
    let run = run(kernel, "input('name? ')").await;
    assert_eq!(run.status, KernelStatus::Error);
    assert_eq!(run.error().unwrap().name, "StdinNotImplementedError");
}

async fn any_text_arrives_whole(kernel: &Kernel) {
    let strange = run(kernel, "print('日本 😀 \\x00 \\x1b[31m é')").await;
    assert!(strange.stdout().starts_with("日本 😀 \0 \u{1b}[31m é\n"), "{strange:?}");
    let long = run(kernel, "print('é' * 2_500_000, end='')").await;
    assert_eq!((long.stdout().len(), long.output_was_cut), (5_000_000, false));
    assert!(long.stdout().chars().all(|c| c == 'é'));
}

async fn too_much_output_is_cut_and_the_kernel_lives(kernel: &Kernel) {
    run(kernel, "kept = 'still here'").await;
    let few = Limits { max_output_bytes: 10_000, ..limits() };
    let cut =
        in_time(kernel.execute("for n in range(100): print('y' * 1000)\n'end'", few.clone())).await.unwrap();
    assert_eq!((cut.status, cut.output_was_cut), (KernelStatus::Ok, true));
    assert!((5_000..=10_000).contains(&cut.stdout().len()), "{}", cut.stdout().len());
    let code = "for n in range(3000): display(n)\nimport sys\nfor n in range(3000): print('a', flush=True); print('b', file=sys.stderr, flush=True)";
    let many = in_time(kernel.execute(code, few)).await.unwrap();
    assert!(many.output_was_cut && many.outputs.len() < 200, "{}", many.outputs.len());
    // A flood that never ends, in messages that may be longer than any that is read.
    let few = Limits { max_output_bytes: 10_000, ..short(super::HANG) };
    let flood = in_time(kernel.execute("while True: print('x' * 100_000)", few)).await.unwrap();
    assert!(flood.output_was_cut && flood.stdout().len() <= 10_000, "{}", flood.stdout().len());
    assert!(
        matches!(flood.status, KernelStatus::TimedOut | KernelStatus::TooMuchOutput),
        "{:?}",
        flood.status
    );
    let one = run(kernel, "print('z' * 100_000_000)").await;
    assert_eq!((one.status, one.output_was_cut), (KernelStatus::TooMuchOutput, true));
    assert!(!one.kernel_was_restarted);
    assert_eq!(value(kernel, "kept").await, "'still here'");
}

async fn events_come_while_code_runs(kernel: &Kernel) {
    let (told, mut hears) = tokio::sync::mpsc::unbounded_channel();
    // The code goes on only when its first output was heard: the listener writes a file.
    let code = "import os, time\nprint('waiting', flush=True)\nwhile not os.path.exists('heard'): time.sleep(0.01)\nprint('done')";
    let place = value(kernel, "import os; os.getcwd()").await;
    let path = std::path::PathBuf::from(place.trim_matches('\'')).join("heard");
    let run = in_time(kernel.execute_with(code, limits(), |event| {
        told.send(event.clone()).unwrap();
        std::fs::write(&path, "").unwrap();
    }));
    assert_eq!(run.await.unwrap().stdout(), "waiting\ndone\n");
    let first = hears.recv().await.unwrap();
    assert_eq!(first, KernelEvent::Output(KernelOutput::Stdout("waiting\n".into())));
}
