//! Inputs: artifacts, files of the host, of the workspace, of skills.

use belljar_artifacts::{ArtifactContext, save_artifact};
use belljar_testing::{in_time, runtime};
use belljar_workspace::{InputSpec, WorkspaceEngine, WorkspaceError, WorkspaceMetadata};

use crate::place::{Job, Place, input, listing, place, place_with, with_artifacts};

async fn save(artifacts: &ArtifactContext, name: &str, data: &'static str) -> u64 {
    save_artifact(artifacts, name, data, "text/plain").await.unwrap()
}

fn record(job: &Job<'_>) -> WorkspaceMetadata {
    serde_json::from_slice(&std::fs::read(job.dir().join("metadata.json")).unwrap()).unwrap()
}

#[tokio::test]
async fn case_45_artifacts_go_to_the_place_for_inputs() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let (ctx, artifacts) = with_artifacts();
    save(&artifacts, "a.txt", "A").await;
    let version = save(&artifacts, "uploads/b.txt", "B").await;
    save(&artifacts, "uploads/b.txt", "newer").await;
    let specs = vec![
        InputSpec::new("artifact://a.txt"),
        InputSpec::new(format!("artifact://uploads/b.txt@{version}")),
        input("artifact://uploads/b.txt", "in/deep/c.txt"),
    ];
    job.inputs(&ctx, specs).await.unwrap();
    assert_eq!(job.does("cat work/inputs/a.txt work/inputs/b.txt in/deep/c.txt").await, "ABnewer");
    let recorded: Vec<_> = record(&job).inputs.into_iter().map(|one| (one.to, one.version)).collect();
    let expected = [("work/inputs/a.txt", 0), ("work/inputs/b.txt", 0), ("in/deep/c.txt", 1)];
    assert_eq!(recorded, expected.map(|(to, version)| (to.to_owned(), Some(version))));
}

#[tokio::test]
async fn case_46_a_pinned_artifact_stays_at_its_version() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let (ctx, artifacts) = with_artifacts();
    let pinned = InputSpec { pin: true, ..input("artifact://a.txt", "pinned") };
    for (data, free) in [("one", "one"), ("two", "two")] {
        save(&artifacts, "a.txt", data).await;
        job.inputs(&ctx, vec![pinned.clone(), input("artifact://a.txt", "free")]).await.unwrap();
        assert_eq!(job.does("cat pinned; echo; cat free").await, format!("one\n{free}"));
    }
}

/// A place where `granted` may be staged from, and `secret` may not.
async fn granted(runtime: &belljar_runtime::Runtime) -> (Place, tempfile::TempDir) {
    let host = tempfile::tempdir().unwrap();
    for name in ["granted/d/sub", "secret"] {
        std::fs::create_dir_all(host.path().join(name)).unwrap();
    }
    std::fs::write(host.path().join("granted/f.txt"), "F").unwrap();
    std::fs::write(host.path().join("granted/d/sub/x.txt"), "X").unwrap();
    std::fs::write(host.path().join("secret/s.txt"), "S").unwrap();
    let root = host.path().join("granted");
    (place_with(runtime, |options| options.host_roots = vec![root]).await, host)
}

#[tokio::test]
async fn case_47_a_link_is_made_where_it_leads_somewhere_and_replaces_a_file() {
    let Some(runtime) = runtime() else { return };
    let (place, host) = granted(&runtime).await;
    let job = place.job().await;
    job.put("work/inputs/d", "in the way").await;
    let from = format!("host://{}/granted/d", host.path().display());
    let link = InputSpec { mode: "link".to_owned(), ..input(&from, "work/inputs/d") };
    if belljar_testing::engine() == "local" {
        job.inputs(&Default::default(), vec![link]).await.unwrap();
        assert!(job.dir().join("work/inputs/d").is_symlink());
        assert_eq!(record(&job).inputs[0].mode, "link");
    } else {
        // From inside of a cell a link to the host leads nowhere, so it is a copy. Nothing that is
        // in the way of a directory is removed.
        assert!(job.inputs(&Default::default(), vec![link.clone()]).await.is_err());
        job.does("rm work/inputs/d").await;
        job.inputs(&Default::default(), vec![link]).await.unwrap();
        assert_eq!(record(&job).inputs[0].mode, "copy");
    }
    assert_eq!(job.does("cat work/inputs/d/sub/x.txt").await, "X");
    // Within the workspace a link is one everywhere, and replaces what is there.
    job.put("a/b.txt", "B").await;
    job.put("work/inputs/b.txt", "old").await;
    let link = InputSpec { mode: "link".to_owned(), ..InputSpec::new("workspace://a/b.txt") };
    job.inputs(&Default::default(), vec![link]).await.unwrap();
    assert_eq!(job.does("echo more >> a/b.txt; cat work/inputs/b.txt").await, "Bmore\n");
}

#[tokio::test]
async fn case_48_a_directory_of_the_host_keeps_its_place() {
    let Some(runtime) = runtime() else { return };
    let (place, host) = granted(&runtime).await;
    let job = place.job().await;
    let from = format!("host://{}/granted/d", host.path().display());
    job.input(&from, "work/inputs/d").await.unwrap();
    job.input(&from, "").await.unwrap();
    assert_eq!(job.names(&["work/**"]).await, ["work/inputs/d/sub/x.txt"]);
}

#[tokio::test]
async fn case_49_a_single_file_of_the_host_is_copied() {
    let Some(runtime) = runtime() else { return };
    let (place, host) = granted(&runtime).await;
    let job = place.job().await;
    let from = format!("host://{}/granted/f.txt", host.path().display());
    job.input(&from, "work/inputs/f.txt").await.unwrap();
    assert_eq!(job.does("cat work/inputs/f.txt; echo more >> work/inputs/f.txt").await, "F");
    assert_eq!(std::fs::read_to_string(host.path().join("granted/f.txt")).unwrap(), "F");
}

#[tokio::test]
async fn case_50_sources_that_are_not_there_are_errors() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let (ctx, _) = with_artifacts();
    for from in [
        "http://x",
        "artifact://@0",
        "artifact://nope",
        "workspace://nope",
        "skill://nope",
        "plain",
        "workspace://",
        "skill://",
        "host://",
        "workspace:///",
        "ftp://a/b",
    ] {
        let refused = job.inputs(&ctx, vec![InputSpec::new(from)]).await;
        assert!(refused.is_err(), "{from}");
    }
    let refused = job.input("http://x", "a").await.unwrap_err();
    assert!(matches!(refused, WorkspaceError::UnsupportedScheme { .. }), "{refused:?}");
    let refused = job.input("artifact://a.txt", "a").await.unwrap_err();
    assert!(matches!(refused, WorkspaceError::NoArtifacts), "{refused:?}");
    assert_eq!(job.names(&["work/**", "a"]).await, [""; 0]);
}

#[tokio::test]
async fn case_51_no_input_comes_from_outside_or_goes_there() {
    let Some(runtime) = runtime() else { return };
    let (place, host) = granted(&runtime).await;
    let job = place.job().await;
    let other = place.job().await;
    other.put("theirs", "theirs").await;
    job.put("mine", "mine").await;
    let outside = place.outside("y");
    let name = other.dir().file_name().unwrap().to_str().unwrap();
    let up = format!("workspace://../{name}/theirs");
    for from in ["workspace://../../x", "skill://../../x", &up] {
        for mode in ["", "link"] {
            let spec = InputSpec { mode: mode.to_owned(), ..input(from, "got") };
            let refused = job.inputs(&Default::default(), vec![spec]).await.unwrap_err();
            assert!(matches!(refused, WorkspaceError::Escapes { .. }), "{from} {mode}: {refused:?}");
        }
    }
    for to in ["../../y", "../y", "a/../../../y"] {
        for mode in ["", "link"] {
            let spec = InputSpec { mode: mode.to_owned(), ..input("workspace://mine", to) };
            assert!(job.inputs(&Default::default(), vec![spec]).await.is_err(), "{to} {mode}");
        }
    }
    let root = host.path().display();
    std::os::unix::fs::symlink("../secret", host.path().join("granted/way-out")).unwrap();
    std::os::unix::fs::symlink("../secret/s.txt", host.path().join("granted/s.txt")).unwrap();
    for from in [
        format!("host://{root}/secret/s.txt"),
        format!("host://{root}/secret"),
        format!("host://{root}/granted/../secret/s.txt"),
        format!("host://{root}/granted/way-out/s.txt"),
        format!("host://{root}/granted/way-out"),
        format!("host://{root}/granted/s.txt"),
        format!("host://{root}/granted-too"),
        format!("host://{root}/granted"),
        "host:///etc/passwd".to_owned(),
        "host://../../../../etc/passwd".to_owned(),
        "host:///proc/self/environ".to_owned(),
        format!("host://{}", other.dir().display()),
    ] {
        assert!(job.input(&from, "got").await.is_err(), "{from}");
    }
    assert!(outside.is_dir() && listing(&outside).is_empty());
    assert_eq!(job.names(&["**"]).await, ["metadata.json", "mine"]);
}

#[tokio::test]
async fn no_host_path_is_granted_unless_somebody_says_so() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    for from in ["host:///etc/passwd", "host:///no/such/file", "host:///"] {
        let refused = job.input(from, "got").await.unwrap_err();
        assert!(matches!(refused, WorkspaceError::NotGranted { .. }), "{from}: {refused:?}");
    }
}

#[tokio::test]
async fn case_52_a_corrupt_record_is_begun_again() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.does("echo not-json > metadata.json").await;
    job.inputs(&Default::default(), Vec::new()).await.unwrap();
    assert_eq!(record(&job).version, 1);
}

#[tokio::test]
async fn case_26_everybody_who_records_something_at_the_same_time_is_recorded() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.put("a", "A").await;
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..24 {
        let (fs, ws) = (place.workspaces.fs(), job.ws.clone());
        callers.spawn(async move {
            let specs = vec![input("workspace://a", &format!("in/{number}"))];
            fs.stage_inputs(&Default::default(), &ws, specs).await.unwrap();
        });
    }
    in_time(callers.join_all()).await;
    let staged: std::collections::BTreeSet<_> = record(&job).inputs.into_iter().map(|one| one.to).collect();
    assert_eq!(staged.len(), 24, "{staged:?}");
    assert_eq!(listing(job.dir()), ["a", "in", "metadata.json", "out", "runs", "skills", "work"]);
}
