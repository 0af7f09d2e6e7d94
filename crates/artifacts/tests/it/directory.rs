//! What holds in a directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use belljar_artifacts::{ArtifactError, ArtifactService as _, ArtifactStore};
use futures_util::TryStreamExt as _;

use crate::helping::{Place, failing_after, mebibytes, read, session, text};

#[tokio::test]
async fn the_directory_is_made_by_the_first_save_and_is_nobody_elses() {
    let place = Place::directory();
    place.store.load(&session(), "a", None).await.unwrap();
    place.store.list_keys(&session()).await.unwrap();
    place.store.delete(&session(), "a").await.unwrap();
    assert!(!place.kept().exists());
    place.store.save(&session(), "a", text("x")).await.unwrap();
    assert_eq!(fs::metadata(place.kept()).unwrap().permissions().mode() & 0o7777, 0o700);
    // It may vanish, with everything in it.
    fs::remove_dir_all(place.kept()).unwrap();
    assert!(place.store.load(&session(), "a", None).await.unwrap().is_none());
    assert_eq!(place.store.save(&session(), "a", text("x")).await.unwrap(), 0);
    assert_eq!(fs::metadata(place.kept()).unwrap().permissions().mode() & 0o7777, 0o700);
}

#[tokio::test]
async fn a_file_in_place_of_the_directory_is_said() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for path in [file.path().to_owned(), file.path().join("below")] {
        let store = ArtifactStore::local(&path);
        let saved = store.save(&session(), "a", text("")).await.unwrap_err();
        let listed = store.list_keys(&session()).await.unwrap_err();
        for error in [saved, listed].map(|error| error.to_string()) {
            let expected = format!("artifacts cannot be kept in {}: ", path.display());
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}

#[tokio::test]
async fn data_that_is_not_what_was_saved_is_reported() {
    type Attack = fn(&Path);
    let attacks: [(&str, Attack); 4] = [
        ("it has 3 bytes, and had 5 when it was saved", |file| fs::write(file, "hel").unwrap()),
        ("it has 6 bytes, and had 5 when it was saved", |file| fs::write(file, "hello!").unwrap()),
        ("its SHA-256 is ", |file| fs::write(file, "jello").unwrap()),
        ("its data is gone", |file| fs::remove_file(file).unwrap()),
    ];
    for (problem, attack) in attacks {
        let place = Place::directory();
        place.store.save(&session(), "b", text("hello")).await.unwrap();
        let files = place.files_in("data");
        assert_eq!(files.len(), 1);
        attack(&files[0]);
        let error = place.store.load(&session(), "b", None).await.unwrap_err();
        assert!(matches!(error, ArtifactError::Damaged { version: 0, .. }), "{error}");
        let error = error.to_string();
        assert!(error.starts_with("artifact \"b\", version 0, in /") && error.contains(problem), "{error}");
        // As a stream it is found out before the end is told.
        match place.store.open(&session(), "b", None).await {
            Err(ArtifactError::Damaged { .. }) => {}
            Ok(Some(opened)) => {
                let error = opened.stream.try_for_each(async |_| Ok(())).await.unwrap_err().to_string();
                assert!(error.contains(problem), "{error}");
            }
            other => panic!("{other:?}"),
        }
        // A new version is not affected.
        assert_eq!(place.store.save(&session(), "b", text("new")).await.unwrap(), 1);
        assert_eq!(read(&place.store, "b", None).await, "new");
    }
}

#[tokio::test]
async fn a_record_that_is_not_what_was_saved_is_reported() {
    for written in ["", "{}", "this is no json", r#"{"name":"b","data":"../../etc/passwd"}"#] {
        let place = Place::directory();
        place.store.save(&session(), "b", text("hello")).await.unwrap();
        fs::write(&place.files_in("records")[0], written).unwrap();
        let error = place.store.load(&session(), "b", None).await.unwrap_err();
        assert!(matches!(error, ArtifactError::Damaged { .. }), "{error}");
        place.store.delete(&session(), "b").await.unwrap();
        assert!(place.store.load(&session(), "b", None).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_record_cannot_point_out_of_the_directory() {
    let place = Place::directory();
    place.store.save(&session(), "b", text("hello")).await.unwrap();
    fs::write(place.kept().parent().unwrap().join("secret"), "hello").unwrap();
    let record = place.files_in("records").remove(0);
    let mut value: serde_json::Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    for path in ["../secret", "/etc/passwd", "data/../../secret", "data/%2e%2e/secret"] {
        value["data"] = path.into();
        fs::write(&record, value.to_string()).unwrap();
        let error = place.store.load(&session(), "b", None).await.unwrap_err();
        assert!(matches!(error, ArtifactError::Damaged { .. }), "{path}: {error}");
    }
}

#[tokio::test]
async fn deleting_and_failing_leave_no_data_behind() {
    let place = Place::directory();
    for _ in 0..3 {
        place.store.save(&session(), "a", text("x")).await.unwrap();
    }
    place.store.save_stream(&session(), "a", "", mebibytes(9)).await.unwrap();
    assert_eq!((place.files_in("data").len(), place.files_in("pending").len()), (4, 0));
    for count in [1, 20] {
        place.store.save_stream(&session(), "a", "", failing_after(count)).await.unwrap_err();
    }
    assert_eq!((place.files_in("data").len(), place.files_in("pending").len()), (4, 0));
    place.store.delete(&session(), "a").await.unwrap();
    // The deletion itself is remembered.
    assert_eq!(place.files().len(), 1, "{:?}", place.files());
}

/// A deletion is told by its length.
#[tokio::test]
async fn a_record_damaged_into_the_length_of_a_deletion_makes_nobody_remove_data() {
    let place = Place::directory();
    for _ in 0..3 {
        place.store.save(&session(), "a", text("x")).await.unwrap();
    }
    let mut records = place.files_in("records");
    records.sort();
    fs::write(&records[2], "8 bytes!").unwrap();
    place.store.save(&session(), "a", text("x")).await.unwrap();
    place.store.save(&session(), "a", text("x")).await.unwrap();
    assert_eq!((place.files_in("records").len(), place.files_in("data").len()), (5, 5));
}
