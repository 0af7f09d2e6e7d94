//! Directories of the host into a workspace.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use belljar_testing::runtime;
use belljar_workspace::StageOptions;

use crate::place::{Place, mode_of, place};

/// A directory with a program, data, a link within it, and a directory that is empty.
fn source(place: &Place) -> std::path::PathBuf {
    let source = place.outside("source");
    std::fs::create_dir_all(source.join("sub/empty")).unwrap();
    std::fs::write(source.join("sub/x.txt"), "x").unwrap();
    std::fs::write(source.join("run.sh"), "#!/bin/sh\ncat \"$(dirname \"$0\")/sub/x.txt\"\n").unwrap();
    std::fs::set_permissions(source.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("sub/x.txt", source.join("link")).unwrap();
    source
}

fn read_only() -> StageOptions {
    StageOptions { read_only: true, ..StageOptions::default() }
}

#[tokio::test]
async fn case_40_what_is_staged_to_be_read_can_be_run_and_cleaned_up() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.stage_with(&source(&place), "skills/tool", read_only()).await.unwrap();
    let staged = job.dir().join("skills/tool");
    assert_eq!((mode_of(&staged.join("run.sh")), mode_of(&staged.join("sub")) & 0o222), (0o555, 0));
    assert_eq!(job.does("skills/tool/run.sh").await, "x");
    let tried =
        job.sh("echo y > skills/tool/sub/x.txt; touch skills/tool/new; rm -f skills/tool/run.sh").await;
    if rustix::process::geteuid().is_root() && belljar_testing::engine() == "local" {
        println!("local: what root may not write is not tried");
    } else {
        assert!(!tried.is_success(), "{tried:?}");
        assert_eq!(job.names(&["skills/tool/**"]).await, ["skills/tool/run.sh", "skills/tool/sub/x.txt"]);
        assert_eq!(job.text("skills/tool/sub/x.txt").await.as_deref(), Some("x"));
    }
    // The next version of a skill takes its place.
    std::fs::write(place.outside("source").join("sub/x.txt"), "z").unwrap();
    job.stage_with(&place.outside("source"), "skills/tool", read_only()).await.unwrap();
    assert_eq!(job.does("skills/tool/run.sh").await, "z");
    assert_eq!(mode_of(&staged) & 0o222, 0);
    job.cleanup().await.unwrap();
    assert!(!job.dir().exists());
}

#[tokio::test]
async fn the_whole_workspace_is_not_staged_to_be_read_only() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    assert!(job.stage_with(&source(&place), "", read_only()).await.is_err());
    assert_eq!(job.names(&["**"]).await, ["metadata.json"]);
}

#[tokio::test]
async fn case_41_a_directory_is_staged_whole_with_permissions_and_links() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let source = source(&place);
    std::fs::create_dir(source.join("dst")).unwrap();
    std::fs::write(source.join("img.bin"), [0, 159, 146, 150]).unwrap();
    std::fs::write(source.join("sub/a.txt"), "A").unwrap();
    job.stage(&source, "dst").await.unwrap();
    assert_eq!(
        job.names(&["dst/**/*.txt", "dst/*.bin"]).await,
        ["dst/img.bin", "dst/sub/a.txt", "dst/sub/x.txt"]
    );
    assert_eq!(std::fs::read_link(job.dir().join("dst/link")).unwrap(), Path::new("sub/x.txt"));
    assert!(job.dir().join("dst/sub/empty").is_dir());
    assert_eq!(mode_of(&job.dir().join("dst/run.sh")), 0o755);
    assert_eq!(job.does("dst/run.sh; cat dst/link; echo more >> dst/sub/x.txt; rm -r dst/sub").await, "xx");
    // Into the workspace itself, over what is there.
    job.put("keep", "kept").await;
    job.stage(&source, ".").await.unwrap();
    assert_eq!(job.does("./run.sh; cat keep").await, "xkept");
}

#[tokio::test]
async fn what_only_its_owner_may_read_is_staged_for_that_owner() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let source = place.outside("private");
    std::fs::create_dir(source.join("sub")).unwrap();
    for name in ["secret", "sub/secret"] {
        std::fs::write(source.join(name), "s").unwrap();
        std::fs::set_permissions(source.join(name), PermissionsExt::from_mode(0o600)).unwrap();
    }
    for directory in [source.join("sub"), source.clone()] {
        std::fs::set_permissions(directory, PermissionsExt::from_mode(0o700)).unwrap();
    }
    job.stage(&source, "private").await.unwrap();
    assert_eq!(job.does("cat private/secret private/sub/secret").await, "ss");
}

#[tokio::test]
async fn a_source_with_links_that_lead_out_of_it_is_refused() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    for target in ["/etc/passwd", "../outside", "../../outside", "../sub/../../x", "/", ".."] {
        let job = place.job().await;
        let source = source(&place);
        symlink(target, source.join("sub/evil")).unwrap();
        let refused = job.stage(&source, "dst").await;
        match target {
            // From `sub`, that is in the source.
            ".." | "../outside" => refused.unwrap(),
            _ => assert!(refused.unwrap_err().to_string().contains("leads out"), "{target}"),
        }
        std::fs::remove_dir_all(source).unwrap();
    }
}

#[tokio::test]
async fn sources_that_are_no_directories_are_errors() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let file = place.outside("s").join("file");
    std::fs::write(&file, "x").unwrap();
    for source in [Path::new(""), &file, Path::new("/no/such/directory")] {
        assert!(job.stage(source, "dst").await.is_err(), "{}", source.display());
    }
    assert!(job.stage(&place.outside("s"), "../dst").await.is_err());
    assert_eq!(job.names(&["**"]).await, ["metadata.json"]);
}
