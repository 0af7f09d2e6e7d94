//! Files into a workspace, and workspaces themselves.

use belljar_testing::{in_time, runtime};
use belljar_workspace::{
    Context, PutFile, RunProgramSpec, Workspace, WorkspaceEngine, WorkspaceError, WorkspacePolicy,
};

use crate::place::{listing, mode_of, place, sh};

#[tokio::test]
async fn case_37_paths_that_lead_out_or_nowhere_are_refused() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    for path in ["../evil.txt", "a/../../evil.txt", "work/..", "/../evil.txt"] {
        let refused = job.try_put(vec![PutFile::new(path, "x")]).await.unwrap_err();
        assert!(matches!(refused, WorkspaceError::Escapes { .. }), "{path}: {refused:?}");
    }
    for path in ["", ".", "/", "./."] {
        let refused = job.try_put(vec![PutFile::new(path, "x")]).await.unwrap_err();
        assert!(matches!(refused, WorkspaceError::EmptyPath), "{path:?}: {refused:?}");
    }
    assert!(job.try_put(vec![PutFile::new("a\0b", "x")]).await.is_err());
    assert!(job.try_put(vec![PutFile::new("x".repeat(256), "x")]).await.is_err());
    assert_eq!(job.names(&["**"]).await, ["metadata.json"]);
}

#[tokio::test]
async fn case_38_a_file_without_a_mode_is_readable_by_all() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.put("a/b/c.txt", "deep").await;
    job.put_program("a/run.sh", "#!/bin/sh\necho ran\n").await;
    job.try_put(vec![PutFile { mode: 0o4777, ..PutFile::new("a/odd", "x") }]).await.unwrap();
    let modes = ["a/b/c.txt", "a/run.sh", "a/odd"].map(|name| mode_of(&job.dir().join(name)));
    // Nothing in a workspace becomes somebody else by being run.
    assert_eq!(modes, [0o644, 0o755, 0o777]);
    assert_eq!(job.does("cat a/b/c.txt; ./a/run.sh").await, "deepran\n");
}

#[tokio::test]
async fn files_are_put_in_order_and_those_before_a_failure_stay() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let files = ["one", "one", "one/below", "two"].map(|path| PutFile::new(path, path)).to_vec();
    assert!(job.try_put(files).await.is_err());
    assert_eq!(job.names(&["one", "two"]).await, ["one"]);
    assert_eq!(listing(job.dir()), ["metadata.json", "one", "out", "runs", "skills", "work"]);
    // What a program wrote is replaced, and a program can change what was put.
    job.does("echo mine > two; chmod 444 two; echo more >> one").await;
    job.put("two", "ours").await;
    assert_eq!(
        (job.text("one").await, job.text("two").await),
        (Some("onemore\n".into()), Some("ours".into()))
    );
    job.does("rm one two && echo again > one").await;
}

#[tokio::test]
async fn a_workspace_of_nobody_is_not_found() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    for path in ["", "/", "/etc", "/etc/passwd", "../..", "/nowhere/.policy-x.json", "no-such-one"] {
        let ws = Workspace { id: "x".to_owned(), path: path.to_owned() };
        let ctx = Context::new();
        let put = place.workspaces.fs().put_files(&ctx, &ws, vec![PutFile::new("a", "b")]).await;
        assert!(matches!(put, Err(WorkspaceError::NotFound { .. })), "{path}");
        let run = place.workspaces.runner().run_program(&ctx, &ws, sh("true")).await;
        assert!(matches!(run, Err(WorkspaceError::NotFound { .. })), "{path}");
    }
    assert!(listing(place.workspaces.store().path()).is_empty());
}

#[tokio::test]
async fn case_85_ids_have_workspaces_of_their_own_and_an_empty_one_has_none() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let (manager, ctx) = (place.workspaces.manager(), Context::new());
    let persist = WorkspacePolicy { persist: true, ..WorkspacePolicy::default() };
    let mut paths = std::collections::BTreeSet::new();
    let long = "x".repeat(300);
    for id in ["session-xyz", "a/b", "a_b", "app/user/sess", "..", "a\nb", "é", long.as_str()] {
        let first = manager.create_workspace(&ctx, id, persist).await.unwrap();
        let again = manager.create_workspace(&ctx, id, persist).await.unwrap();
        assert_eq!((&first, first.id.as_str()), (&again, id));
        assert!(paths.insert(first.path.clone()), "{id}");
        assert!(std::path::Path::new(&first.path).is_dir(), "{id}");
    }
    assert!(manager.create_workspace(&ctx, "", persist).await.is_err());
    let listed = place.workspaces.list().unwrap();
    assert_eq!(listed.len(), 8, "{listed:?}");
    // Those that do not stay are never the same one.
    let pair = [place.job().await.ws, place.job().await.ws];
    assert_ne!(pair[0].path, pair[1].path);
}

#[tokio::test]
async fn a_workspace_that_persists_outlives_its_cleanup_and_its_engine() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let policy = WorkspacePolicy { persist: true, ..WorkspacePolicy::default() };
    let job = place.job_with(policy).await;
    job.put("a.txt", "kept").await;
    job.cleanup().await.unwrap();
    let mut options = belljar_workspace::WorkspacesOptions::new(place.workspaces.store().path());
    options.config.pool_size = 0;
    let again = belljar_workspace::Workspaces::open(&runtime, options).await.unwrap();
    let found = again.workspace("job").await.unwrap();
    assert_eq!(found.read("a.txt").await.unwrap(), b"kept");
    found.remove().await.unwrap();
    assert!(listing(place.workspaces.store().path()).is_empty());
}

#[tokio::test]
async fn cleaning_up_leaves_nothing_and_may_be_done_twice() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.does("mkdir -p a/b/c; echo x > a/b/c/d; ln -s /etc a/link; mkfifo a/fifo; chmod 000 a/b").await;
    job.cleanup().await.unwrap();
    job.cleanup().await.unwrap();
    assert!(listing(place.workspaces.store().path()).is_empty());
    let gone = job.try_run(RunProgramSpec::new("true", [""; 0])).await;
    assert!(matches!(gone, Err(WorkspaceError::NotFound { .. })), "{gone:?}");
}

#[tokio::test]
async fn many_callers_that_want_one_workspace_get_it() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let policy = WorkspacePolicy { persist: true, max_disk_bytes: 1 << 30, ..WorkspacePolicy::default() };
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let manager = place.workspaces.manager();
        callers.spawn(async move {
            let ctx = Context::new();
            let ws = manager.create_workspace(&ctx, "shared", policy).await.unwrap();
            // It stays, whoever cleans up first.
            manager.cleanup(&ctx, &ws).await.unwrap();
            ws
        });
    }
    let all = in_time(callers.join_all()).await;
    assert!(all.iter().all(|ws| *ws == all[0]));
    assert_eq!(listing(place.workspaces.store().path()), [".policy-shared.json", "shared"]);
    assert_eq!(place.workspaces.list().unwrap(), [("shared".to_owned(), policy)]);
}
