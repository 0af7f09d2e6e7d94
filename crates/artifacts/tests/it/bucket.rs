//! What holds in a bucket.

use belljar_artifacts::{ArtifactError, ArtifactService as _};
use std::sync::atomic::Ordering;

use crate::helping::{Place, failing_after, mebibytes, read, session, store_in_bucket, text};
use crate::s3_server::Faults;

#[tokio::test]
async fn a_server_that_overwrites_is_refused_before_anything_is_saved() {
    let place = Place::faulty_bucket(Faults { ignores_conditions: true, ..Faults::default() });
    for _ in 0..2 {
        let error = place.store.save(&session(), "a", text("x")).await.unwrap_err();
        assert!(matches!(error, ArtifactError::NoConditionalPut { .. }), "{error}");
        assert!(error.to_string().contains("s3://bucket/some/prefix"), "{error}");
    }
    assert_eq!(place.files_in("records").len(), 0);
}

/// The client sends a request again if the server fails. The record is there already then, and must
/// not be taken for somebody else's.
#[tokio::test]
async fn a_save_whose_answer_is_lost_is_one_version() {
    let place = Place::faulty_bucket(Faults { lost_answers: 2, ..Faults::default() });
    assert_eq!(place.store.save(&session(), "a", text("x")).await.unwrap(), 0);
    assert_eq!(place.store.save(&session(), "a", text("y")).await.unwrap(), 1);
    assert_eq!(place.server().lost.load(Ordering::SeqCst), 0, "both answers were lost");
    assert_eq!(place.store.versions(&session(), "a").await.unwrap(), [0, 1]);
    assert_eq!(read(&place.store, "a", None).await, "y");
}

#[tokio::test]
async fn deleting_and_failing_leave_no_data_behind() {
    let place = Place::bucket();
    place.store.save_stream(&session(), "a", "", mebibytes(9)).await.unwrap();
    for count in [1, 20] {
        place.store.save_stream(&session(), "a", "", failing_after(count)).await.unwrap_err();
    }
    let pending = || place.files_in("pending");
    assert_eq!(pending().len(), 0, "{:?}", pending());
    assert_eq!(place.files_in("data").len(), 1);
    place.store.delete(&session(), "a").await.unwrap();
    assert_eq!(place.files_in("data").len(), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_what_was_tried() {
    let place = Place::bucket();
    let wrong = place.server().endpoint.clone();
    drop(place);
    // Nobody listens there any more. The client tries a few times, then says so.
    let error = store_in_bucket(&wrong).load(&session(), "a", None).await.unwrap_err().to_string();
    assert!(error.contains("artifact \"a\" failed in s3://bucket/some/prefix"), "{error}");
    assert!(!error.contains(crate::s3_server::KEY), "{error}");
}
