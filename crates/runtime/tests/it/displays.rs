//! What scripts show: in which modes, in which forms, and how much of it.

mod packages;

use belljar_runtime::{
    DisplayData, Event, EventKind, ExecutionMode, ExecutionRequest, ExecutionResult, ResourceLimits, Sandbox,
    SandboxConfig, Verdict,
};
use belljar_testing::{HANG, about_the_run, config, runtime, sandbox_with, session};

/// A class with every form that notebooks know.
const RICH: &str = "class Rich:
    def __repr__(self): return 'rich'
    def _repr_html_(self): return '<b>rich</b>'
    def _repr_markdown_(self): return '**rich**'
    def _repr_svg_(self): return '<svg/>'
    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n'
    def _repr_jpeg_(self): raise AssertionError('there is a PNG already')
    def _repr_latex_(self): return '$rich$'
    def _repr_json_(self): return {'rich': [1, 2.50]}
";

async fn run_as(sandbox: &Sandbox, mode: ExecutionMode, script: &str) -> ExecutionResult {
    let request = ExecutionRequest::new(script).with_mode(mode);
    tokio::time::timeout(HANG, sandbox.run(request)).await.expect("the run hangs").expect("it can be run")
}

/// The types of each display.
fn forms(result: &ExecutionResult) -> Vec<Vec<&str>> {
    result.displays.iter().map(|display| display.forms().map(|(mime, _)| mime).collect()).collect()
}

const ALL: [&str; 7] = [
    "application/json",
    "image/png",
    "image/svg+xml",
    "text/html",
    "text/latex",
    "text/markdown",
    "text/plain",
];

#[tokio::test]
async fn an_object_is_shown_in_every_form_it_has() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let mut events = Vec::new();
    let script = format!("{RICH}print('before')\ndisplay(Rich(), 5)\nprint('after')");
    let request = ExecutionRequest::new(script).with_mode(ExecutionMode::Script);
    let result = sandbox.run_with(request, |event: Event| events.push(event)).await.unwrap();
    assert_eq!(forms(&result), [&ALL[..], &["text/plain"]], "{result:#?}");
    let rich = &result.displays[0];
    assert_eq!(rich.get("image/png"), Some(&DisplayData::Bytes(b"\x89PNG\r\n\x1a\n".to_vec())));
    assert_eq!(rich.get("application/json").unwrap().as_bytes(), br#"{"rich":[1,2.5]}"#);
    assert_eq!((rich.text(), result.displays[1].text()), (Some("rich"), Some("5")));
    // In the order in which the script did it, and the same as in the result.
    let names: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
    assert_eq!(names, ["stdout", "display", "display", "stdout", "script_done", "ended"]);
    let EventKind::Display { display } = &events[1].kind else { panic!("{events:#?}") };
    assert_eq!(display, rich);
}

#[tokio::test]
async fn the_value_of_a_last_line_is_shown_as_each_mode_would() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    // A program prints what `python3 FILE` prints. What has another form than text is shown.
    for (last, shown) in [("6 * 7", None), ("'text'", None), ("Rich()", Some(ALL.to_vec())), ("None", None)] {
        let result = run_as(&sandbox, ExecutionMode::Script, &format!("{RICH}{last}\n# the end\n")).await;
        assert_eq!((result.verdict.clone(), result.stdout.as_str()), (Verdict::Ok, ""), "{result:#?}");
        assert_eq!(forms(&result).pop(), shown, "{last}");
    }
    // A step prints every value. The text is there already.
    let mut session = session(&sandbox).await;
    let step = session.step(format!("{RICH}Rich()")).await.unwrap();
    assert_eq!((step.stdout.as_str(), forms(&step)), ("rich\n", vec![ALL[..6].to_vec()]));
    let step = session.step("6 * 7").await.unwrap();
    assert_eq!((step.stdout.as_str(), step.displays.len()), ("42\n", 0));
    // A plan shows what it says it shows, and nothing by itself.
    let plan =
        run_as(&sandbox, ExecutionMode::Plan, &format!("{RICH}display(1)\nemit_result(1)\nRich()")).await;
    assert_eq!((forms(&plan), plan.stdout.as_str()), (vec![vec!["text/plain"]], ""));
}

#[tokio::test]
async fn the_last_line_of_a_program_runs_once_and_fails_as_it_would() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let result =
        run_as(&sandbox, ExecutionMode::Script, "def f():\n    print('once')\n    return 1 / 0\nf()").await;
    assert_eq!((result.verdict, result.stdout.as_str()), (Verdict::Exception, "once\n"));
    assert!(result.traceback.unwrap().contains("line 4, in <module>"));
    let result = run_as(&sandbox, ExecutionMode::Script, "'''doc'''").await;
    assert_eq!((result.verdict, result.displays.len()), (Verdict::Ok, 0));
    let awaited = "import asyncio\nasync def f():\n    class R:\n        def _repr_html_(self): return 'x'\n    return R()\nawait f()";
    assert_eq!(forms(&run_as(&sandbox, ExecutionMode::Script, awaited).await), [["text/html", "text/plain"]]);
}

#[tokio::test]
async fn a_form_that_fails_is_left_out_and_the_others_are_shown() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "class Odd:
    def __repr__(self): raise ValueError
    def _repr_html_(self): raise ValueError('no html')
    def _repr_png_(self): return 5
    def _repr_latex_(self): return None
    @property
    def _repr_svg_(self): return lambda: '<svg/>'
    def __getattr__(self, name): return lambda *_: '<b>anything</b>'
    def _repr_mimebundle_(self, include=None, exclude=None): return {'Not A Type': 'x', 'text/x-good': 'good'}, {}
display(Odd())";
    let result = run_as(&sandbox, ExecutionMode::Script, script).await;
    assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
    assert_eq!(forms(&result), [["text/plain", "text/x-good"]]);
    assert_eq!(result.displays[0].text(), Some("<Odd without a repr>"));
    let said: Vec<_> = result.logs.iter().map(|log| log.message.as_str()).collect();
    for part in [
        "_repr_html_ of a Odd raised ValueError: no html",
        "'Not A Type'",
        "'image/png'",
        "the repr of a Odd",
    ] {
        assert!(said.iter().any(|said| said.contains(part)), "{part} is not in {said:#?}");
    }
}

#[tokio::test]
async fn a_picture_that_is_none_is_left_out_with_a_reason() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    for (told, reason) in [
        ("b'notpng'", "it does not begin as image/png does"),
        ("'@@'", "it is no base64"),
        ("'aGk'", "it is no base64"),
        ("b''", "it is empty"),
        ("''", "it is empty"),
    ] {
        let script = format!("class P:\n    def _repr_png_(self): return {told}\ndisplay(P())");
        let result = run_as(&sandbox, ExecutionMode::Script, &script).await;
        assert_eq!(forms(&result), [["text/plain"]], "{told}: {result:#?}");
        let said = format!("the form 'image/png' of a P is left out: {reason}");
        assert_eq!(result.logs.first().map(|log| log.message.as_str()), Some(said.as_str()), "{told}");
    }
}

#[tokio::test]
async fn displays_and_prints_share_what_may_be_written() {
    let Some(runtime) = runtime() else { return };
    let resource_limits = ResourceLimits { max_output_bytes: 100_000, ..ResourceLimits::default() };
    let sandbox = sandbox_with(&runtime, SandboxConfig { resource_limits, ..config() }).await;
    let script = "class Picture:
    def __init__(self, size): self.size = size
    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * self.size
print('p' * 20_000)
for _ in range(9): display(Picture(9_000))
print('p' * 20_000)";
    let result = run_as(&sandbox, ExecutionMode::Script, script).await;
    assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
    let pictures = result.displays.iter().filter(|display| display.get("image/png").is_some()).count();
    assert_eq!((pictures, result.displays.len()), (3, 9), "{:#?}", result.warnings);
    let warnings = about_the_run(&result.warnings);
    assert!(warnings[0].starts_with("6 forms of displays are missing: "), "{warnings:#?}");
}

#[tokio::test]
async fn a_result_holds_what_people_give() {
    let Some(runtime) = runtime() else { return };
    let sandbox = sandbox_with(&runtime, config()).await;
    let script = "import dataclasses, decimal, enum, pathlib
@dataclasses.dataclass
class Point: x: int; tags: set
class Colour(enum.Enum): RED = 'red'
emit_result({
    'when': datetime.datetime(2026, 1, 2, 3, 4, 5), 'for': datetime.timedelta(minutes=1), 'price': decimal.Decimal('1.10'),
    'where': pathlib.Path('/a') / 'b', 'who': uuid.UUID(int=1), 'point': Point(1, {2, 1}), 'colour': Colour.RED,
    'raw': b'hi', datetime.date(2026, 1, 2): 1,
})";
    let result = run_as(&sandbox, ExecutionMode::Plan, script).await;
    assert_eq!(
        result.final_data.as_ref().map(|data| data.as_str()),
        Some(
            r#"{"when":"2026-01-02T03:04:05","for":60.0,"price":"1.10","where":"/a/b","who":"00000000-0000-0000-0000-000000000001","point":{"x":1,"tags":[1,2]},"colour":"red","raw":{"__bytes__":"aGk="},"2026-01-02":1}"#
        ),
        "{result:#?}"
    );
    let result = run_as(&sandbox, ExecutionMode::Plan, "emit_result({1}, strict=True)").await;
    assert_eq!(
        result.error.as_deref(),
        Some("TypeError: emit_result: data is a set, which JSON cannot hold; use list(…)")
    );
}
