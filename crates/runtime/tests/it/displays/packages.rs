//! What the packages show that people plot and compute with, and what they emit.

use std::collections::BTreeMap;

use belljar_runtime::{
    DisplayData, ExecutionMode, ExecutionResult, Runtime, Sandbox, SandboxConfig, Verdict,
};
use belljar_testing::{data, run, runtime, session};

use super::{forms, run_as};
use crate::compatibility::{packages::sandbox_of, roomy};

const PICTURE: [&str; 2] = ["image/png", "text/plain"];

/// A sandbox with all of them, without any imported ahead.
async fn sandbox(runtime: &Runtime) -> Option<Sandbox> {
    let mut config = SandboxConfig {
        dependencies: ["matplotlib", "pandas", "plotly", "ipython", "pydantic"].map(Into::into).to_vec(),
        preload: Some(Vec::new()),
        env: BTreeMap::from([("MPLCONFIGDIR".into(), "/tmp/matplotlib".into())]),
        ..roomy()
    };
    config.resource_limits.max_output_bytes = 8 << 20;
    sandbox_of(runtime, config).await
}

/// The picture of a display, which must be a PNG.
fn png(result: &ExecutionResult, number: usize) -> &[u8] {
    match result.displays.get(number).and_then(|display| display.get("image/png")) {
        Some(DisplayData::Bytes(bytes)) if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => bytes,
        other => panic!("{other:?} in {result:#?}"),
    }
}

#[tokio::test]
async fn figures_are_shown_by_show_and_at_the_end_and_once() {
    let Some(runtime) = runtime() else { return };
    let Some(sandbox) = sandbox(&runtime).await else { return };
    for (script, pictures) in [
        // Whichever backend was chosen, and by whichever name `show` is called.
        (
            "import matplotlib\nmatplotlib.use('Agg')\nfrom matplotlib.pyplot import *\nplot([1, 2])\nshow()\nprint(get_fignums())",
            1,
        ),
        (
            "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\nplt.plot([2])\nplt.show()\nprint([])",
            2,
        ),
        ("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.figure()\nplt.plot([2])\nprint([])", 2),
        ("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1])\nprint([])\nfig", 1),
        ("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1])\nfig.show()\nprint([])", 1),
        (
            "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1])\nfig.show()\nax.set_title('new')\nprint([])",
            2,
        ),
        ("import matplotlib.pyplot as plt\nplt.plot([1])\nfor _ in range(3): plt.pause(0.001)\nprint([])", 1),
        (
            "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig('/tmp/a.png')\nplt.close()\nplt.figure()\nprint([])",
            0,
        ),
    ] {
        let result = run_as(&sandbox, ExecutionMode::Script, script).await;
        assert_eq!(
            (&result.verdict, result.stdout.as_str()),
            (&Verdict::Ok, "[]\n"),
            "{script}: {result:#?}"
        );
        assert_eq!(forms(&result), vec![PICTURE.to_vec(); pictures], "{script}");
        (0..pictures).for_each(|number| assert!(png(&result, number).len() > 1000));
    }
    // A failure shows what was drawn before it. A child and a plan show nothing by themselves.
    let failed = "import matplotlib.pyplot as plt, sys\nplt.plot([1])\nsys.exit(3)";
    let result = run_as(&sandbox, ExecutionMode::Script, failed).await;
    assert_eq!((&result.verdict, result.displays.len()), (&Verdict::Exited { code: 3 }, 1), "{result:#?}");
    let child = "import matplotlib.pyplot as plt\nplt.plot([1])\npid = os.fork()\nif pid == 0: plt.show()\n\
                 else:\n    os.waitpid(pid, 0)\n    plt.close()";
    let result = run_as(&sandbox, ExecutionMode::Script, child).await;
    assert_eq!((&result.verdict, result.displays.len()), (&Verdict::Ok, 0), "{result:#?}");
    let plan = "import matplotlib.pyplot as plt\nfig = plt.figure()\nplt.plot([1])\nemit_result(1)";
    assert_eq!(run(&sandbox, plan).await.displays.len(), 0);
    let plan = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\nemit_result(1)";
    assert_eq!(forms(&run(&sandbox, plan).await), [PICTURE]);
}

#[tokio::test]
async fn a_step_shows_its_figures_and_the_next_begins_anew() {
    let Some(runtime) = runtime() else { return };
    let Some(sandbox) = sandbox(&runtime).await else { return };
    let mut session = session(&sandbox).await;
    let first = session
        .step("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nline = ax.plot([1, 2])")
        .await
        .unwrap();
    assert_eq!(forms(&first), [PICTURE], "{first:#?}");
    let second = session.step("plt.get_fignums()").await.unwrap();
    assert_eq!((second.stdout.as_str(), second.displays.len()), ("[]\n", 0), "{second:#?}");
    let third = session.step("fig").await.unwrap();
    assert_eq!(forms(&third), [["image/png"]], "{third:#?}");
    assert_eq!(third.stdout, "<Figure size 640x480 with 1 Axes>\n");
}

#[tokio::test]
async fn tables_pictures_and_interactive_charts_have_their_forms() {
    let Some(runtime) = runtime() else { return };
    let Some(sandbox) = sandbox(&runtime).await else { return };
    const CHART: [&str; 3] = ["application/vnd.plotly.v1+json", "text/html", "text/plain"];
    for (script, expected) in [
        ("import pandas as pd\npd.DataFrame({'a': [1, 2]})", vec![vec!["text/html", "text/plain"]]),
        ("from PIL import Image\nImage.new('RGB', (10, 10))", vec![PICTURE.to_vec()]),
        ("import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1, 2])).show()", vec![CHART.to_vec()]),
        ("import plotly.graph_objects as go\nfig = go.Figure(go.Bar(y=[1, 2]))\nfig", vec![CHART.to_vec()]),
        (
            "from IPython.display import HTML, Image, display\nfrom PIL import Image as Pillow\ndisplay(HTML('<b>'))\n\
             Pillow.new('RGB', (2, 2)).save('/tmp/a.png')\nImage('/tmp/a.png')",
            vec![vec!["text/html", "text/plain"], PICTURE.to_vec()],
        ),
    ] {
        let result = run_as(&sandbox, ExecutionMode::Script, script).await;
        assert_eq!(result.verdict, Verdict::Ok, "{result:#?}");
        assert_eq!((forms(&result), result.stdout.as_str()), (expected, ""), "{script}");
    }
}

#[tokio::test]
async fn arrays_frames_and_models_are_results() {
    let Some(runtime) = runtime() else { return };
    let Some(sandbox) = sandbox(&runtime).await else { return };
    for (script, expected) in [
        ("[np.int64(3), np.float32(1.5), np.bool_(True)]", "[3,1.5,true]"),
        (
            "{'a': np.arange(4).reshape(2, 2), np.int64(1): np.datetime64('2026-01-02')}",
            r#"{"a":[[0,1],[2,3]],"1":"2026-01-02"}"#,
        ),
        ("np.array(['2026-01-02', 'NaT'], dtype='M8[D]')", r#"["2026-01-02",null]"#),
        ("pd.DataFrame({'n': [1, 2], 's': ['x', None]})", r#"[{"n":1,"s":"x"},{"n":2,"s":null}]"#),
        (
            "pd.DataFrame({'k': ['a', 'a', 'b'], 'n': [1, 2, 3]}).groupby('k').sum()",
            r#"[{"k":"a","n":3},{"k":"b","n":3}]"#,
        ),
        ("pd.Series([1.5, None])", "[1.5,null]"),
        ("pd.Series(['x', 'y', 'x']).value_counts()", r#"{"x":2,"y":1}"#),
        ("[pd.Timestamp('2026-01-02'), pd.NaT, pd.NA]", r#"["2026-01-02T00:00:00",null,null]"#),
        ("Model(a=1, when='2026-01-02')", r#"{"a":1,"when":"2026-01-02"}"#),
    ] {
        let script = format!(
            "import numpy as np, pandas as pd, pydantic\nclass Model(pydantic.BaseModel):\n    a: int\n    when: datetime.date\n\
             emit_result({script})"
        );
        assert_eq!(data(&run(&sandbox, &script).await), expected, "{script}");
    }
    for (script, expected) in [
        (
            "pd.DataFrame([[1, 2]], columns=['a', 'a'])",
            "data has the columns 'a' and 'a', which are both 'a' in JSON; rename one",
        ),
        ("[pd.DataFrame([[1, 2]], columns=[1, '1'])]", "data[0] has the columns 1 and '1', which are both"),
        ("pd.Series([1, 2], index=['1', 1])", "data has the labels '1' and 1, which are both '1' in JSON"),
        (
            "pd.DataFrame({'a': [1]}, index=pd.Index(['x'], name='a'))",
            "data has the columns 'a' and 'a', which are both",
        ),
        ("{np.int64(1): 0, '1': 0}", "and '1', which are both '1' in JSON"),
    ] {
        let script = format!("import numpy as np, pandas as pd\nemit_result({script})");
        let error = run(&sandbox, &script).await.error.unwrap();
        assert!(error.contains(expected), "{script}: {error}");
    }
    let result = run(&sandbox, "import numpy as np\nemit_result([np.array([1, np.nan])])").await;
    assert!(result.error.unwrap().contains("data[0][1] is nan, and JSON has no such number"));
    let result = run(&sandbox, "import numpy as np\nemit_result(np.zeros((10_000, 1_000)))").await;
    assert!(result.error.unwrap().contains("is an array of 10,000,000 values"));
}
