use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::metadata::{is_metadata_temporary, with_metadata_lock};
use crate::{Context, InputRecord};

fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[track_caller]
fn assert_no_temporaries(root: &Path) {
    assert!(!names(root).iter().any(|name| is_metadata_temporary(name.as_bytes())), "{:?}", names(root));
}

#[test]
fn case_23_a_new_workspace_has_four_directories_and_a_record() {
    let root = tempfile::tempdir().unwrap();
    let paths = ensure_layout(root.path()).unwrap();
    assert_eq!(names(root.path()), ["metadata.json", "out", "runs", "skills", "work"]);
    assert_eq!(paths["out"], root.path().join("out"));
    let record = load_metadata(root.path()).unwrap();
    assert_eq!((record.version, record.created_at.is_set()), (1, true));
    // A second time changes nothing.
    ensure_layout(root.path()).unwrap();
    assert_eq!(load_metadata(root.path()).unwrap(), record);
}

#[test]
fn case_24_a_file_in_the_way_of_a_directory_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("skills"), "").unwrap();
    let error = ensure_layout(root.path()).unwrap_err().to_string();
    assert!(error.contains("skills"), "{error}");
}

#[test]
fn a_directory_that_is_a_link_is_refused() {
    let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    symlink(elsewhere.path(), root.path().join("out")).unwrap();
    let error = ensure_layout(root.path()).unwrap_err().to_string();
    assert_eq!(error, "out is a link, not a directory");
}

#[test]
fn case_25_a_missing_record_is_a_new_one_and_a_damaged_one_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(load_metadata(root.path()).unwrap().version, 1);
    assert_eq!(names(root.path()), [""; 0]);
    for damaged in ["not-json", "", r#"{"version":"x"}"#, "[]"] {
        fs::write(root.path().join(layout::METADATA), damaged).unwrap();
        assert!(matches!(load_metadata(root.path()), Err(WorkspaceError::Metadata { .. })), "{damaged}");
    }
}

/// As readers of this format expect it, and private.
#[test]
fn a_record_is_indented_json_that_only_its_owner_reads() {
    let root = tempfile::tempdir().unwrap();
    let old = WorkspaceMetadata::new("2026-01-01T00:00:00.5Z".parse().unwrap());
    save_metadata(root.path(), &old).unwrap();
    let path = root.path().join(layout::METADATA);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\n  \"version\": 1,\n  \"created_at\": \"2026-01-01T00:00:00.5Z\""), "{text}");
    assert!(text.ends_with('}'));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let read = load_metadata(root.path()).unwrap();
    assert!(read.updated_at > old.updated_at && read.last_access == old.last_access);
}

#[test]
fn case_26_saves_at_the_same_time_leave_one_whole_record() {
    let root = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for number in 0..32 {
            let root = root.path();
            scope.spawn(move || {
                let mut record = WorkspaceMetadata::new(Timestamp::now());
                record.inputs = vec![InputRecord::default(); number * 10];
                save_metadata(root, &record).unwrap();
            });
        }
    });
    assert_eq!(load_metadata(root.path()).unwrap().inputs.len() % 10, 0);
    assert_eq!(names(root.path()), [layout::METADATA]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_26_changes_that_take_turns_are_all_kept() {
    let root = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let mut tasks = Vec::new();
    for number in 0..24 {
        let root = std::sync::Arc::clone(&root);
        tasks.push(tokio::spawn(async move {
            with_metadata_lock(&Context::new(), root.path(), || async {
                let mut record = load_metadata(root.path())?;
                tokio::task::yield_now().await;
                let from = format!("input-{number}");
                record.inputs.push(InputRecord { from, ..InputRecord::default() });
                save_metadata(root.path(), &record)
            })
            .await
        }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let record = load_metadata(root.path()).unwrap();
    let inputs: std::collections::BTreeSet<_> = record.inputs.iter().map(|input| &input.from).collect();
    assert_eq!((inputs.len(), record.inputs.len()), (24, 24));
    assert_no_temporaries(root.path());
}

#[test]
fn case_27_a_save_that_fails_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join(layout::METADATA)).unwrap();
    let record = WorkspaceMetadata::new(Timestamp::now());
    assert!(save_metadata(root.path(), &record).is_err());
    assert_eq!(names(root.path()), [layout::METADATA]);
    // A new record cannot take the place of a directory, so none is promised.
    assert!(matches!(load_or_recover(root.path()), Err(WorkspaceError::WrongKind { .. })));

    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(save_metadata(&file, &record).is_err());
}

#[test]
fn case_52_a_damaged_record_begins_anew() {
    let root = tempfile::tempdir().unwrap();
    for damaged in ["not-json", r#"{"version":"x"}"#, "{}"] {
        fs::write(root.path().join(layout::METADATA), damaged).unwrap();
        let record = load_or_recover(root.path()).unwrap();
        save_metadata(root.path(), &record).unwrap();
        assert_eq!(load_metadata(root.path()).unwrap().version, 1, "{damaged}");
    }
}

/// A program in the workspace could otherwise have the host read any file, or wait for ever.
#[test]
fn a_record_that_is_a_link_or_a_pipe_is_not_read() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, r#"{"version":7}"#).unwrap();
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(layout::METADATA);
    symlink(&secret, &path).unwrap();
    assert!(matches!(load_metadata(root.path()), Err(WorkspaceError::Metadata { .. })));
    let record = load_or_recover(root.path()).unwrap();
    assert_eq!(record.version, 1);
    save_metadata(root.path(), &record).unwrap();
    assert_eq!(fs::read_to_string(&secret).unwrap(), r#"{"version":7}"#);

    fs::remove_file(&path).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(load_metadata(root.path()), Err(WorkspaceError::Metadata { .. })));
}
