//! What holds wherever artifacts are kept.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use belljar_artifacts::{Artifact, ArtifactError, ArtifactService as _, DEFAULT_MIME_TYPE, SessionInfo};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, future, stream};
use sha2::{Digest as _, Sha256};

use crate::helping::{Place, failing_after, mebibyte, mebibytes, read, session, text};

macro_rules! everywhere {
    ($($claim:ident)*) => {
        mod in_memory { $(#[tokio::test] async fn $claim() { super::$claim(super::Place::memory()).await; })* }
        mod in_a_directory { $(#[tokio::test] async fn $claim() { super::$claim(super::Place::directory()).await; })* }
        mod in_a_bucket { $(#[tokio::test] async fn $claim() { super::$claim(super::Place::bucket()).await; })* }
    };
}

everywhere! {
    versions_count_from_zero_and_each_keeps_its_bytes
    what_was_never_saved_is_not_there
    a_version_that_does_not_exist_is_an_error
    everything_about_an_artifact_comes_back
    names_of_any_kind_are_listed_back_exactly
    a_name_of_the_user_is_seen_by_each_of_their_sessions_and_by_nobody_else
    what_is_deleted_is_gone_and_versions_start_again
    an_empty_artifact_is_an_artifact
    a_large_artifact_goes_in_and_out_as_a_stream
    content_that_ends_at_the_end_of_a_part_is_whole
    sixty_four_saves_at_once_have_sixty_four_versions
    saves_that_race_with_deletions_leave_versions_without_a_gap
    a_stream_that_fails_leaves_nothing
    a_save_that_is_dropped_leaves_nothing
    what_is_opened_can_be_saved_elsewhere
}

async fn versions_count_from_zero_and_each_keeps_its_bytes(Place { store, other, .. }: Place) {
    assert_eq!(store.save(&session(), "a.txt", text("first")).await.unwrap(), 0);
    assert_eq!(other.save(&session(), "a.txt", text("second")).await.unwrap(), 1);
    for store in [&store, &other] {
        let latest = store.load(&session(), "a.txt", None).await.unwrap().unwrap();
        assert_eq!((latest.artifact, latest.version), (text("second"), Some(1)));
        assert_eq!(read(store, "a.txt", Some(0)).await, "first");
        assert_eq!(read(store, "a.txt", Some(1)).await, "second");
        assert_eq!(store.versions(&session(), "a.txt").await.unwrap(), [0, 1]);
    }
}

async fn what_was_never_saved_is_not_there(Place { store, .. }: Place) {
    for _ in 0..2 {
        assert!(store.load(&session(), "a", None).await.unwrap().is_none());
        assert!(store.load(&session(), "a", Some(0)).await.unwrap().is_none());
        assert!(store.open(&session(), "a", None).await.unwrap().is_none());
        assert_eq!(store.versions(&session(), "a").await.unwrap(), [0u64; 0]);
        assert!(!store.list_keys(&session()).await.unwrap().contains(&"a".to_owned()));
        store.delete(&session(), "a").await.unwrap();
        // Now the place exists, and has other names that start like it.
        store.save(&session(), "ab", text("")).await.unwrap();
        store.save(&session(), "a/b", text("")).await.unwrap();
    }
}

async fn a_version_that_does_not_exist_is_an_error(Place { store, .. }: Place) {
    store.save(&session(), "a", text("x")).await.unwrap();
    for version in [1, u64::MAX] {
        let error = store.load(&session(), "a", Some(version)).await.unwrap_err();
        let told = format!("artifact \"a\" has no version {version}: the latest is 0");
        assert_eq!(error.to_string(), told);
    }
}

async fn everything_about_an_artifact_comes_back(Place { store, .. }: Place) {
    let artifact = Artifact {
        data: Bytes::from_static(b"\0\xff"),
        mime_type: "image/png".into(),
        url: "https://example.com/a b".into(),
        name: "A chart of \"everything\"\n".into(),
    };
    store.save(&session(), "chart", artifact.clone()).await.unwrap();
    assert_eq!(store.load(&session(), "chart", None).await.unwrap().unwrap().artifact, artifact);

    let before = SystemTime::now() - Duration::from_secs(1);
    let info = store.save_stream(&session(), "raw", "", mebibytes(1)).await.unwrap();
    assert_eq!((info.name.as_str(), info.version, info.size_bytes), ("raw", 0, 1 << 20));
    assert_eq!(info.mime_type, DEFAULT_MIME_TYPE);
    assert_eq!(info.sha256, sha256(&mebibyte(0)));
    assert!(info.created_at > before && info.created_at <= SystemTime::now());
    let opened = store.open(&session(), "raw", Some(0)).await.unwrap().unwrap();
    assert_eq!(opened.info.sha256, info.sha256);
    assert_eq!(opened.info.mime_type, DEFAULT_MIME_TYPE);
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn names_of_any_kind_are_listed_back_exactly(place: Place) {
    let store = &place.store;
    let long = "long/".repeat(2000);
    let names = [
        "",
        " ",
        ".",
        "..",
        "../../etc/passwd",
        "/",
        "a/b",
        "a/b/",
        "a",
        "a%2Fb",
        "%",
        "=",
        "=h",
        "a@1",
        "a#1",
        "ä",
        "\0",
        "\n",
        "a\\b",
        "user:x",
        "user:a/b",
        "user:",
        "日本語",
        "0000000000000000000",
        &long,
        "CON",
        "a?b&c=d+e",
    ];
    // Keys of the server used here are names of files, so they cannot be as long as those of S3.
    let odd = SessionInfo::new("../app", "", if place.is_bucket() { "/" } else { &long });
    for session in [&session(), &odd] {
        for name in names {
            assert_eq!(store.save(session, name, text(name.to_owned())).await.unwrap(), 0, "{name:?}");
        }
        let mut sorted = names.map(str::to_owned);
        sorted.sort();
        assert_eq!(store.list_keys(session).await.unwrap(), sorted);
        for name in names {
            let loaded = store.load(session, name, None).await.unwrap().unwrap();
            assert_eq!(loaded.artifact.data, name.as_bytes(), "{name:?}");
        }
    }
}

async fn a_name_of_the_user_is_seen_by_each_of_their_sessions_and_by_nobody_else(Place { store, .. }: Place) {
    let (one, two) = (SessionInfo::new("app", "ada", "one"), SessionInfo::new("app", "ada", "two"));
    store.save(&one, "user:settings", text("1")).await.unwrap();
    store.save(&one, "notes", text("of one")).await.unwrap();
    assert_eq!(store.list_keys(&one).await.unwrap(), ["notes", "user:settings"]);
    assert_eq!(store.list_keys(&two).await.unwrap(), ["user:settings"]);
    assert_eq!(store.save(&two, "user:settings", text("2")).await.unwrap(), 1);
    assert_eq!(read(&store, "user:settings", None).await, "2");
    for stranger in [
        SessionInfo::default(),
        SessionInfo::new("app", "bob", "one"),
        SessionInfo::new("other", "ada", "one"),
        SessionInfo::new("app", "", "ada"),
        SessionInfo::new("app/ada", "", "one"),
        SessionInfo::new("app", "ada/session", "one"),
    ] {
        assert_eq!(store.list_keys(&stranger).await.unwrap(), [""; 0], "{stranger:?}");
        assert!(store.load(&stranger, "user:settings", None).await.unwrap().is_none());
    }
}

async fn what_is_deleted_is_gone_and_versions_start_again(place: Place) {
    let Place { store, other, .. } = &place;
    for round in 0..3 {
        for version in 0..3 {
            let data = format!("{round} {version}");
            assert_eq!(store.save(&session(), "a", text(data)).await.unwrap(), version);
        }
        assert_eq!(read(store, "a", Some(0)).await, format!("{round} 0"));
        other.delete(&session(), "a").await.unwrap();
        for store in [store, other] {
            assert!(store.load(&session(), "a", None).await.unwrap().is_none());
            assert!(store.load(&session(), "a", Some(0)).await.unwrap().is_none());
            assert_eq!(store.versions(&session(), "a").await.unwrap(), [0u64; 0]);
            assert_eq!(store.list_keys(&session()).await.unwrap(), [""; 0]);
        }
        other.delete(&session(), "a").await.unwrap();
    }
    // What it was called is told by its key alone, and a long one is told by its records.
    let long = "x".repeat(1000);
    store.save(&session(), &long, text("")).await.unwrap();
    store.delete(&session(), &long).await.unwrap();
    assert_eq!(store.list_keys(&session()).await.unwrap(), [""; 0]);
}

async fn an_empty_artifact_is_an_artifact(Place { store, .. }: Place) {
    store.save(&session(), "empty", text("")).await.unwrap();
    store.save_stream(&session(), "empty", "", Box::pin(stream::empty())).await.unwrap();
    for version in 0..2 {
        assert_eq!(read(&store, "empty", Some(version)).await, "");
    }
}

async fn a_large_artifact_goes_in_and_out_as_a_stream(Place { store, .. }: Place) {
    let count = 21;
    let info = store.save_stream(&session(), "large", "video/mp4", mebibytes(count)).await.unwrap();
    assert_eq!(info.size_bytes, count << 20);
    let opened = store.open(&session(), "large", None).await.unwrap().unwrap();
    assert_eq!(opened.info, info);
    let whole: Vec<u8> = opened.stream.map_ok(|chunk| chunk.to_vec()).try_concat().await.unwrap();
    let expected: Vec<u8> = (0..count).flat_map(mebibyte).collect();
    assert!(whole == expected, "the bytes differ");
    assert!(read(&store, "large", None).await == expected, "the bytes differ");
}

async fn content_that_ends_at_the_end_of_a_part_is_whole(Place { store, .. }: Place) {
    for count in [8, 16] {
        let version = store.save_stream(&session(), "part", "", mebibytes(count)).await.unwrap().version;
        assert_eq!(read(&store, "part", Some(version)).await.len() as u64, count << 20);
        // In one piece, as somebody has it who never streams.
        let data: Vec<u8> = (0..count).flat_map(mebibyte).collect();
        let version = store.save(&session(), "part", text(data.clone())).await.unwrap();
        assert!(read(&store, "part", Some(version)).await == data, "the bytes differ");
    }
}

async fn sixty_four_saves_at_once_have_sixty_four_versions(Place { store, other, .. }: Place) {
    let saves = (0..64).map(|at| {
        let store = if at % 2 == 0 { store.clone() } else { other.clone() };
        tokio::spawn(async move {
            (store.save(&session(), "shared", text(at.to_string())).await.unwrap(), at.to_string())
        })
    });
    let saved = future::try_join_all(saves).await.unwrap();
    let versions: BTreeSet<u64> = saved.iter().map(|(version, _)| *version).collect();
    assert!(versions.into_iter().eq(0..64), "{saved:?}");
    assert!(store.versions(&session(), "shared").await.unwrap().into_iter().eq(0..64));
    for (version, data) in saved {
        assert_eq!(read(&other, "shared", Some(version)).await, data);
    }
}

async fn saves_that_race_with_deletions_leave_versions_without_a_gap(Place { store, other, .. }: Place) {
    let saves = (0..24).map(|at| {
        let store = store.clone();
        tokio::spawn(async move {
            let version = store.save(&session(), "raced", text(at.to_string())).await.unwrap();
            // It is there, or something deleted it. It is never half there.
            match store.load(&session(), "raced", Some(version)).await {
                Ok(_) | Err(ArtifactError::UnknownVersion { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        })
    });
    let deletions = (0..4).map(|_| {
        let store = other.clone();
        tokio::spawn(async move { store.delete(&session(), "raced").await.unwrap() })
    });
    future::try_join_all(saves.chain(deletions)).await.unwrap();

    let versions = store.versions(&session(), "raced").await.unwrap();
    assert!(versions.iter().copied().eq(0..versions.len() as u64), "{versions:?}");
    let mut seen = BTreeSet::new();
    for version in &versions {
        assert!(seen.insert(read(&other, "raced", Some(*version)).await), "a save has two versions");
    }
    assert_eq!(other.list_keys(&session()).await.unwrap().is_empty(), versions.is_empty());
    let next = other.save(&session(), "raced", text("last")).await.unwrap();
    assert_eq!(next, versions.len() as u64);
}

async fn a_stream_that_fails_leaves_nothing(Place { store, other, .. }: Place) {
    store.save(&session(), "kept", text("first")).await.unwrap();
    // Within the first part, and in the middle of the third.
    for count in [0, 1, 20] {
        for name in ["kept", "new"] {
            let error = store.save_stream(&session(), name, "", failing_after(count)).await.unwrap_err();
            let told = format!(
                "artifact {name:?} was not saved: its content could not be read to the end: the guest went away"
            );
            assert_eq!(error.to_string(), told);
        }
    }
    assert_eq!(other.list_keys(&session()).await.unwrap(), ["kept"]);
    assert_eq!(other.versions(&session(), "kept").await.unwrap(), [0]);
    assert_eq!(other.versions(&session(), "new").await.unwrap(), [0u64; 0]);
    assert_eq!(other.save(&session(), "new", text("")).await.unwrap(), 0);
}

async fn a_save_that_is_dropped_leaves_nothing(Place { store, other, .. }: Place) {
    for count in [0, 1, 20] {
        // The stream says when it has been read so far, and then nothing more.
        let (reached, was_reached) = tokio::sync::oneshot::channel();
        let stuck = stream::once(async move {
            let _ = reached.send(());
            future::pending().await
        });
        let saving = {
            let store = store.clone();
            tokio::spawn(async move {
                let content = Box::pin(mebibytes(count).chain(stuck));
                store.save_stream(&session(), "dropped", "", content).await
            })
        };
        was_reached.await.unwrap();
        saving.abort();
        assert!(saving.await.unwrap_err().is_cancelled());
        assert_eq!(other.list_keys(&session()).await.unwrap(), [""; 0]);
        assert_eq!(other.versions(&session(), "dropped").await.unwrap(), [0u64; 0]);
    }
    assert_eq!(other.save(&session(), "dropped", text("whole")).await.unwrap(), 0);
    assert_eq!(read(&store, "dropped", None).await, "whole");
}

async fn what_is_opened_can_be_saved_elsewhere(Place { store, .. }: Place) {
    let elsewhere = Place::memory().store;
    let saved = store.save_stream(&session(), "a", "text/csv", mebibytes(3)).await.unwrap();
    let opened = store.open(&session(), "a", None).await.unwrap().unwrap();
    let copy = elsewhere.save_stream(&session(), "b", &opened.info.mime_type, opened.stream).await.unwrap();
    assert_eq!((copy.sha256, copy.mime_type), (saved.sha256, saved.mime_type));
}
