//! The packages that scripts ask for most, installed from the index that this machine's installer
//! is set up for.

use belljar_runtime::{Runtime, Sandbox, SandboxConfig};
use belljar_testing::{about_the_run, data, run, runtime};

/// A sandbox with a package, or `None` with the reason printed where no index or installer is at
/// hand.
async fn sandbox_with_package(runtime: &Runtime, package: &str) -> Option<Sandbox> {
    sandbox_of(runtime, SandboxConfig { dependencies: vec![package.into()], ..super::roomy() }).await
}

/// The same for a whole config.
pub(crate) async fn sandbox_of(runtime: &Runtime, config: SandboxConfig) -> Option<Sandbox> {
    let package = config.dependencies.join(", ");
    match runtime.sandbox(config).await {
        Ok(sandbox) => Some(sandbox),
        Err(error) => {
            let text = error.to_string();
            let excused =
                ["index could not be reached", "pip is missing"].iter().any(|why| text.contains(why));
            assert!(excused, "{package} cannot be had: {text}");
            println!("{package}: skipped ({text})");
            None
        }
    }
}

#[tokio::test]
async fn numpy_computes_and_is_seeded_anew_in_every_cell() {
    let Some(runtime) = runtime() else { return };
    let Some(sandbox) = sandbox_with_package(&runtime, "numpy").await else { return };
    let script = r"
import numpy as np, subprocess, sys, multiprocessing
from concurrent.futures import ThreadPoolExecutor
a = np.arange(12.0).reshape(3, 4)
square = np.random.default_rng(1).random((200, 200))
np.save('/tmp/a.npy', a)
view = np.memmap('/tmp/view', dtype='f8', mode='w+', shape=(4,)); view[:] = 2; view.flush()
with ThreadPoolExecutor(4) as pool: sums = [int(s) for s in pool.map(np.sum, [np.ones(1000)] * 4)]
child = subprocess.run([sys.executable, '-c', 'import numpy; print(numpy.arange(4).sum())'], capture_output=True, text=True)
with multiprocessing.get_context('spawn').Pool(1) as pool: roots = [float(r) for r in pool.map(np.sqrt, [4.0, 9.0])]
emit_intermediate('drawn', int(np.random.randint(1 << 62)))
emit_result([
    (a @ a.T).shape, np.allclose(np.linalg.inv(square) @ square, np.eye(200)), float(np.load('/tmp/a.npy').sum()),
    float(np.fft.ifft(np.fft.fft(a[0])).real.sum()), float(np.fromfile('/tmp/view').sum()), sums, child.stdout.strip() or child.stderr, roots,
])
";
    let (first, second) = (run(&sandbox, script).await, run(&sandbox, script).await);
    assert_eq!(data(&first), "[[3,3],true,66.0,6.0,8.0,[1000,1000,1000,1000],\"6\",[2.0,3.0]]");
    assert_eq!(data(&first), data(&second));
    assert_ne!(first.intermediates[0].data, second.intermediates[0].data, "two cells drew the same number");
}

#[tokio::test]
async fn matplotlib_draws_without_a_word_and_knows_its_fonts_already() {
    let Some(runtime) = runtime() else { return };
    let Some(sandbox) = sandbox_with_package(&runtime, "matplotlib").await else { return };
    let script = r"
import os, sys
ahead = 'matplotlib.font_manager' in sys.modules
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2, 3], [4, 1, 9], label=r'$\alpha$')
axes.set_title('Wave')
axes.legend()
figure.savefig('wave.png')
with open('wave.png', 'rb') as file: head = file.read(4)
emit_result([ahead, head == b'\x89PNG', os.listdir(), plt.get_backend().lower()])
";
    let result = run(&sandbox, script).await;
    assert_eq!(data(&result), r#"[true,true,["wave.png"],"agg"]"#);
    assert_eq!((result.stderr.as_str(), &about_the_run(&result.warnings)[..]), ("", &[][..]));
}

#[tokio::test]
async fn pandas_groups_merges_reads_and_writes() {
    let Some(runtime) = runtime() else { return };
    let Some(sandbox) = sandbox_with_package(&runtime, "pandas").await else { return };
    let script = r"
import pandas as pd, sqlite3, io
frame = pd.DataFrame({'day': pd.date_range('2024-03-30', periods=4, tz='Europe/Paris'), 'kind': list('abab'), 'n': [1, 2, 3, 4]})
frame.to_csv('/workspace/f.csv', index=False)
again = pd.read_csv('/workspace/f.csv', parse_dates=['day'])
with sqlite3.connect('/tmp/f.db') as db:
    frame[['kind', 'n']].to_sql('t', db)
    rows = int(pd.read_sql('SELECT count(*) AS c FROM t', db)['c'][0])
merged = frame.merge(pd.DataFrame({'kind': ['a', 'b'], 'w': [10, 20]}), on='kind')
emit_result([
    frame.groupby('kind')['n'].sum().to_dict(), len(again), rows, int((merged['n'] * merged['w']).sum()),
    [str(d.utcoffset()) for d in frame['day'][:3]], json.loads(frame[['n']].to_json()),
    int(frame.set_index('day')['n'].resample('2D').sum().iloc[0]), frame['n'].rolling(2).mean().dropna().tolist(),
])
";
    let result = run(&sandbox, script).await;
    assert_eq!(
        data(&result),
        r#"[{"a":4,"b":6},4,4,160,["1:00:00","1:00:00","2:00:00"],{"n":{"0":1,"1":2,"2":3,"3":4}},3,[1.5,2.5,3.5]]"#
    );
}
