//! Code blocks in a Jupyter kernel, in a workspace of the engine under test.
//!
//! A gateway takes seconds to start, and its packages are installed once, so a test has one kernel
//! and makes many claims.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use belljar_runtime::Runtime;
use belljar_testing::{HANG, config, engine, eventually, in_time};
use belljar_workspace::{
    CodeBlock, CodeExecutionInput, CodeExecutionResult, CodeExecutor, Context, JupyterExecutor,
    JupyterOptions, WorkspaceEngine, WorkspaceError, Workspaces, WorkspacesOptions,
};

struct World {
    workspaces: Workspaces,
    _runtime: Runtime,
    home: tempfile::TempDir,
}

/// How long packages may take to arrive.
const INSTALLED_WITHIN: Duration = Duration::from_secs(180);

/// `None` with the reason printed where the engine makes no cells, or no packages can be had.
async fn world(packages: bool) -> Option<World> {
    let runtime = belljar_testing::runtime()?;
    let home = tempfile::tempdir().unwrap();
    let mut options = WorkspacesOptions::new(home.path().join("store"));
    options.config = match (packages, engine()) {
        (false, _) => config(),
        (true, "local") => JupyterExecutor::with_packages(config()),
        (true, _) => JupyterExecutor::config(config()),
    };
    let opening = tokio::time::timeout(INSTALLED_WITHIN, Workspaces::open(&runtime, options));
    match opening.await.expect("packages arrive, or fail to") {
        Ok(workspaces) => Some(World { workspaces, _runtime: runtime, home }),
        Err(error) if packages && std::env::var_os("BELLJAR_TEST_REQUIRE").is_none() => {
            println!("jupyter: skipped (its packages cannot be installed: {error})");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

impl World {
    async fn start(&self) -> JupyterExecutor {
        let mut options = JupyterOptions { start_timeout: HANG, ..JupyterOptions::default() };
        (options.limits.timeout, options.limits.grace) = (HANG, HANG);
        in_time(JupyterExecutor::start(&Context::new(), &self.workspaces, options)).await.unwrap()
    }

    fn is_empty(&self) -> bool {
        let entries = std::fs::read_dir(self.home.path().join("store")).unwrap();
        !entries.map(|entry| entry.unwrap().file_name()).any(|name| !name.to_string_lossy().starts_with('.'))
    }
}

fn blocks(blocks: &[(&str, &str)]) -> CodeExecutionInput {
    let block = |(language, code): &(&str, &str)| CodeBlock {
        code: (*code).to_owned(),
        language: (*language).to_owned(),
    };
    CodeExecutionInput { code_blocks: blocks.iter().map(block).collect(), execution_id: "any".to_owned() }
}

async fn run(notebook: &JupyterExecutor, all: &[(&str, &str)]) -> CodeExecutionResult {
    in_time(notebook.execute_code(&Context::new(), blocks(all))).await.unwrap()
}

#[tokio::test]
async fn blocks_run_in_one_kernel_that_lives_in_a_workspace() {
    let Some(world) = world(true).await else { return };
    let notebook = world.start().await;
    assert_eq!(notebook.engine().unwrap().describe(), world.workspaces.describe());
    what_is_put_out_is_told_in_order(&notebook).await;
    what_one_call_defines_the_next_one_finds(&notebook).await;
    a_block_that_fails_is_told_and_the_next_one_runs(&notebook).await;
    rich_results_and_outputs_are_files(&notebook).await;
    a_call_that_is_cancelled_interrupts_its_block(&notebook).await;
    code_is_where_the_engine_says(&notebook, &world).await;
    a_link_in_the_place_of_the_socket_is_not_followed(&notebook).await;
    in_time(notebook.close()).await;
    assert!(world.is_empty(), "the workspace of a kernel is removed");
}

async fn what_is_put_out_is_told_in_order(notebook: &JupyterExecutor) {
    let code = "import sys\nprint('out', flush=True)\nprint('err', file=sys.stderr, flush=True)\n6 * 7";
    let result = run(notebook, &[("python", code), ("", "print('more', end='')"), ("py", "'text'")]).await;
    assert_eq!(result.output, "out\nerr\n42\nmore\n'text'\n", "{result:?}");
    assert!(result.is_success());
    assert_eq!((result.blocks[0].stdout.as_str(), result.blocks[0].stderr.as_str()), ("out\n42\n", "err\n"));
}

async fn what_one_call_defines_the_next_one_finds(notebook: &JupyterExecutor) {
    run(notebook, &[("python", "kept = 41\nopen('kept.txt', 'w').write('x')")]).await;
    let code = "import os\nprint(kept + 1, os.path.exists('kept.txt'), os.path.basename(os.getcwd()))";
    assert_eq!(run(notebook, &[("python", code)]).await.output, "42 True src\n");
    // What a forked process prints goes another way, and may come after the block.
    let code = "pid = os.fork()\nif pid == 0:\n    print('child', flush=True)\n    os._exit(7)\nos.waitpid(pid, 0)[1] >> 8";
    let forked = run(notebook, &[("python", code), ("python", "kept")]).await;
    assert_eq!((forked.is_success(), forked.output.contains("7\n41\n")), (true, true), "{forked:?}");
}

async fn a_block_that_fails_is_told_and_the_next_one_runs(notebook: &JupyterExecutor) {
    let input = [("python", "def f(): return 1 / 0\nf()"), ("bash", "echo no"), ("python", "print('next')")];
    let result = run(notebook, &input).await;
    let [failed, refused, next] = &result.blocks[..] else { panic!("{result:?}") };
    assert_eq!((failed.exit_code, failed.error.as_deref()), (1, Some("ZeroDivisionError: division by zero")));
    assert!(failed.stderr.contains("Traceback") && failed.stderr.contains("return 1 / 0"), "{failed:?}");
    assert!(!failed.stderr.contains('\u{1b}'), "{failed:?}");
    assert_eq!(refused.error.as_deref(), Some("a Jupyter kernel runs python here, not bash"));
    assert_eq!((refused.exit_code, next.stdout.as_str()), (-1, "next\n"));
    assert!(
        result.output.contains("Error executing code block 0: ZeroDivisionError: division by zero\n"),
        "{result:?}"
    );
    assert!(result.output.ends_with("not bash\nnext\n"), "{result:?}");
}

/// The smallest picture there is.
const PICTURE: &str = "import base64, os\nfrom IPython.display import Image, display, HTML\n\
    png = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')\n";

async fn rich_results_and_outputs_are_files(notebook: &JupyterExecutor) {
    let show = format!("{PICTURE}display(HTML('<b>bold</b>'))\ndisplay(Image(png))\nImage(png)");
    let write = "open(os.environ['OUTPUT_DIR'] + '/made.txt', 'w').write('made')";
    let input = blocks(&[("python", "print(1)"), ("python", &show), ("python", write)]);
    let execution = in_time(notebook.execute(&Context::new(), input)).await.unwrap();
    let names: Vec<_> = execution.result.output_files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["result_1_0.png", "result_1_1.png", "out/made.txt"], "{execution:?}");
    let picture = &execution.result.output_files[0];
    assert_eq!((picture.mime_type.as_str(), &picture.content[..4]), ("image/png", &b"\x89PNG"[..]));
    let shown: Vec<usize> = execution.displays.iter().map(|(block, _)| *block).collect();
    assert_eq!(shown, [1, 1, 1, 2]);
    assert!(execution.displays[0].1.get("text/html").is_some(), "{execution:?}");
}

async fn a_call_that_is_cancelled_interrupts_its_block(notebook: &JupyterExecutor) {
    let started = std::path::Path::new(&notebook.workspace().path).join("src/started");
    let ctx = Context::new();
    let code = "open('started', 'w').close()\nwhile True: pass";
    let cancelling = async {
        eventually("the block has started", || started.exists()).await;
        ctx.cancel();
    };
    let call = notebook.execute_code(&ctx, blocks(&[("python", code)]));
    let (ended, ()) = in_time(async { tokio::join!(call, cancelling) }).await;
    assert!(matches!(ended, Err(WorkspaceError::Cancelled)), "{ended:?}");
    assert_eq!(run(notebook, &[("python", "kept")]).await.output, "41\n");
}

async fn code_is_where_the_engine_says(notebook: &JupyterExecutor, world: &World) {
    let outside = world.home.path().join("outside");
    std::fs::write(&outside, "").unwrap();
    let code = format!("import os\nprint(os.path.exists({:?}))", outside.to_str().unwrap());
    let sees = run(notebook, &[("python", &code)]).await.output;
    let is_confined = world.workspaces.describe().isolation != "none";
    assert_eq!(sees, if is_confined { "False\n" } else { "True\n" });
    let socket = std::path::Path::new(&notebook.workspace().path).join(".gateway.sock");
    let mode = std::fs::symlink_metadata(&socket).unwrap().mode();
    assert_eq!(mode & 0o077, 0, "only its owner reaches the socket: {mode:o}");
}

/// The last claim: afterwards nobody reaches the gateway by its socket.
async fn a_link_in_the_place_of_the_socket_is_not_followed(notebook: &JupyterExecutor) {
    let code = "import os\nos.remove('../.gateway.sock')\nos.symlink('/run/host.sock', '../.gateway.sock')";
    assert!(run(notebook, &[("python", code)]).await.is_success());
    // An interruption asks the gateway over a connection of its own.
    let started = std::path::Path::new(&notebook.workspace().path).join("src/again");
    let code = "open('again', 'w').close()\nimport time\ntime.sleep(1000)";
    let ctx = Context::new();
    let call = notebook.execute_code(&ctx, blocks(&[("python", code)]));
    let interrupting = async {
        eventually("the block has started", || started.exists()).await;
        let refused = notebook.interrupt().await.unwrap_err().to_string();
        assert!(refused.contains("links are not followed"), "{refused}");
        ctx.cancel();
    };
    let (ended, ()) = in_time(async { tokio::join!(call, interrupting) }).await;
    assert!(ended.is_err(), "{ended:?}");
}

#[tokio::test]
async fn a_block_that_takes_too_long_is_interrupted_and_a_dropped_kernel_leaves_nothing() {
    let Some(world) = world(true).await else { return };
    let mut options = JupyterOptions { start_timeout: HANG, ..JupyterOptions::default() };
    (options.limits.timeout, options.limits.grace) = (Duration::from_secs(3), HANG);
    let ctx = Context::new();
    let starting = JupyterExecutor::start(&ctx, &world.workspaces, options);
    let notebook = in_time(starting).await.unwrap();
    let input =
        [("python", "kept = 1"), ("python", "import time\ntime.sleep(1000)"), ("python", "print(kept)")];
    let result = run(&notebook, &input).await;
    let slow = &result.blocks[1];
    assert!(slow.timed_out && slow.error.as_deref() == Some("timed out after 3 s"), "{result:?}");
    assert_eq!(result.blocks[2].stdout, "1\n", "{result:?}");
    drop(notebook);
    eventually("nothing is left of a kernel that was dropped", || world.is_empty()).await;
}

#[tokio::test]
async fn a_sandbox_without_the_packages_says_so() {
    let Some(world) = world(false).await else { return };
    let ctx = Context::new();
    let started = JupyterExecutor::start(&ctx, &world.workspaces, JupyterOptions::default());
    let refused = in_time(started).await.unwrap_err().to_string();
    assert!(refused.contains("No module named kernel_gateway"), "{refused}");
    eventually("nothing is left of it", || world.is_empty()).await;
}
