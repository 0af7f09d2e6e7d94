//! Images: what is in them, when they are built, and what a failure says.

use belljar_engine::docker::Docker;
use belljar_runtime::{Blueprint, FileResource, Runtime, ToolSource};

use crate::world::{answer, config, docker, run, runtime, runtime_from, sandbox};

#[tokio::test]
async fn an_unchanged_blueprint_is_built_once_and_a_changed_tool_again() {
    let Some(_daemon) = runtime() else { return };
    let engine = Docker::connect().await.unwrap();
    let tool =
        ToolSource { file_name: "t.py".into(), source: format!("def t(): return {}\n", std::process::id()) };
    let mut blueprint = Blueprint { tools: vec![tool], ..Blueprint::new(config("once")) };
    let mut lines = Vec::new();
    let (tag, built) = engine.build(&blueprint, &mut |step| lines.push(format!("{step:?}"))).await.unwrap();
    assert!(built && lines.iter().any(|line| line.contains("COPY tools")), "{lines:?}");
    let mut said = 0;
    assert_eq!(engine.build(&blueprint, &mut |_| said += 1).await.unwrap(), (tag.clone(), false));
    assert_eq!(said, 0, "nothing is asked of the daemon that could build");
    blueprint.tools[0].source.push('\n');
    let (other, built) = engine.build(&blueprint, &mut |_| {}).await.unwrap();
    assert!(built && other != tag);
    for tag in [tag, other] {
        docker(&["rmi", &tag]);
    }
}

#[tokio::test]
async fn tools_and_dependencies_are_in_the_image_and_nobody_can_write_there() {
    let index = std::env::var("BELLJAR_TEST_NO_INDEX").is_err();
    let Some(runtime) = runtime() else { return };
    let mut config = config("tools");
    if index {
        config.dependencies = vec!["six==1.16.0".into()];
    }
    let tools = vec![ToolSource {
        file_name: "adder.py".into(),
        source: "async def add(a, b):\n    return a + b\n".into(),
    }];
    let sandbox = match runtime.prepare(Blueprint { tools, ..Blueprint::new(config) }, &mut |_| {}).await {
        Ok(sandbox) => sandbox,
        Err(error) if error.to_string().contains("pip install") => {
            println!("packages: skipped (no index can be reached while an image is built)");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(sandbox.report().tools, ["add"]);
    let script = "import sys, six\nowner = os.stat(six.__file__).st_uid\nemit_result([add(1, 2), six.__version__, owner, 'six' in sys.modules, os.access(six.__file__, os.W_OK)])";
    assert_eq!(answer(&sandbox, script).await, serde_json::json!([3, "1.16.0", 0, true, false]));
}

#[tokio::test]
async fn a_build_that_fails_shows_the_step_and_its_last_lines() {
    let Some(runtime) = runtime() else { return };
    let mut config = config("fails");
    config.python_version = Some("3.99".parse().unwrap());
    config.base_image = Some("python:3.11-slim".into());
    let error = runtime.sandbox(config).await.err().expect("it fails").to_string();
    assert!(error.contains("RUN [\"python3\", \"/opt/belljar/prepare.py\", \"image\"]"), "{error}");
    assert!(error.contains("the config asks for python_version 3.99"), "{error}");
}

#[tokio::test]
async fn a_base_image_that_cannot_be_had_is_named() {
    let Some(runtime) = runtime() else { return };
    let mut config = config("nobase");
    config.base_image = Some("belljar.invalid/no/such:image".into());
    let error = runtime.sandbox(config).await.err().expect("it fails").to_string();
    assert!(error.contains("`belljar.invalid/no/such:image`") && error.contains("set base_image"), "{error}");
}

#[tokio::test]
async fn granted_files_are_mounted_where_the_daemon_finds_them() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(directory.path().join("f"), "granted").unwrap();
    // As a controller in a container would see it: another path here than on the daemon's host.
    let map = [("/controller/data", directory.path())].into_iter().collect();
    let Some(runtime) = runtime_from(Runtime::builder(), Docker::new().host_path_map(map)) else { return };
    let mut config = config("mounts");
    config.resources = vec![FileResource::new("/controller/data", "/data")];
    let sandbox = sandbox(&runtime, config.clone()).await;
    let script = "try: open('/data/f', 'w'); wrote = True\nexcept OSError: wrote = False\nemit_result([open('/data/f').read(), wrote])";
    assert_eq!(answer(&sandbox, script).await, serde_json::json!(["granted", false]));
    config.name.push_str("-2");
    config.resources = vec![FileResource::new("/controller/database", "/data")];
    let error = runtime.sandbox(config).await.err().expect("there is no such path").to_string();
    assert!(error.contains("/controller/database") && error.contains("host_path_map"), "{error}");
}

#[tokio::test]
async fn a_container_that_does_not_get_ready_shows_its_last_words() {
    let Some(runtime) = runtime() else { return };
    let tools = vec![ToolSource {
        file_name: "bad.py".into(),
        source: "import os\nos.write(2, b'farewell\\n')\nos._exit(9)\n".into(),
    }];
    let error =
        runtime.prepare(Blueprint { tools, ..Blueprint::new(config("mute")) }, &mut |_| {}).await.err();
    let error = error.expect("it cannot be made ready").to_string();
    assert!(error.contains("is not ready") && error.contains("| farewell"), "{error}");
}

#[tokio::test]
async fn a_first_run_needs_no_stock() {
    let Some(runtime) = runtime() else { return };
    let mut config = config("nostock");
    config.pool_size = 0;
    let sandbox = sandbox(&runtime, config).await;
    assert!(run(&sandbox, "emit_result(1)").await.success());
}

#[tokio::test]
async fn a_grant_that_a_link_in_the_image_leads_elsewhere_is_refused() {
    let Some(runtime) = runtime() else { return };
    let base = format!("belljar-test-links-{}", std::process::id());
    let context = tempfile::tempdir().unwrap();
    std::fs::write(context.path().join("Dockerfile"), "FROM python:3.11-slim\nRUN ln -s /run /data\n")
        .unwrap();
    docker(&["build", "-q", "-t", &base, context.path().to_str().unwrap()]);
    let granted = tempfile::tempdir().unwrap();
    let mut config = config("links");
    config.base_image = Some(base.clone());
    let name = config.name.clone();
    // Not in the list of links that every image has, so only the container can tell.
    config.resources = vec![FileResource::new(granted.path(), "/data/belljar")];
    let error = runtime.sandbox(config.clone()).await.err().expect("it is refused").to_string();
    assert!(error.contains("leads to /run/belljar"), "{error}");
    config.resources = vec![FileResource::new(granted.path(), "/other/belljar")];
    let there =
        answer(&sandbox(&runtime, config).await, "emit_result(os.path.isdir('/other/belljar'))").await;
    assert_eq!(there, serde_json::json!(true));
    runtime.shutdown().await;
    for image in
        docker(&["images", "--format", "{{.Repository}}:{{.Tag}}", &format!("belljar/{name}")]).lines()
    {
        docker(&["rmi", "-f", image]);
    }
    docker(&["rmi", "-f", &base]);
}
