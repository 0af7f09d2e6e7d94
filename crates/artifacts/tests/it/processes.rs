//! Several processes at once, and what they leave when they are killed. A process is this test
//! binary again, told by a variable what to be.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use belljar_artifacts::{ArtifactService as _, ArtifactStore};
use futures_util::{StreamExt as _, TryStreamExt as _, future, stream};

use crate::helping::{Place, mebibytes, read, session, store_in_bucket, text};

const ROLE: &str = "BELLJAR_TEST_ARTIFACTS_ROLE";
const WHERE: &str = "BELLJAR_TEST_ARTIFACTS_WHERE";

fn child(role: &str, place: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::what_a_child_does", "--nocapture"]);
    command.env(ROLE, role).env(WHERE, place).stdout(Stdio::piped()).spawn().unwrap()
}

/// Lines of a child that tell something.
fn told(child: &mut Child) -> impl Iterator<Item = String> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| line.split_once("told: ").map(|(_, it)| it.to_owned()))
}

fn store_at(place: &str) -> ArtifactStore {
    if place.starts_with("http") { store_in_bucket(place) } else { ArtifactStore::local(place) }
}

#[tokio::test]
async fn what_a_child_does() {
    let (Ok(role), Ok(place)) = (std::env::var(ROLE), std::env::var(WHERE)) else { return };
    let store = store_at(&place);
    match role.as_str() {
        "save" => {
            for at in 0..16 {
                let data = format!("{} {at}", std::process::id());
                let version = store.save(&session(), "shared", text(data.clone())).await.unwrap();
                println!("told: {version} {data}");
            }
        }
        "hang" => {
            let stuck = stream::once(async {
                println!("told: stuck");
                future::pending().await
            });
            let content = Box::pin(mebibytes(20).chain(stuck));
            store.save_stream(&session(), "shared", "", content).await.unwrap();
        }
        streaming => {
            let count: u64 = streaming.strip_prefix("stream ").unwrap().parse().unwrap();
            let info = store.save_stream(&session(), "large", "", mebibytes(count)).await.unwrap();
            let opened = store.open(&session(), "large", None).await.unwrap().unwrap();
            let read = opened.stream.try_fold(0, async |sum, chunk| Ok(sum + chunk.len() as u64));
            assert_eq!((info.size_bytes, read.await.unwrap()), (count << 20, count << 20));
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
            println!("told: {}", peak.trim().trim_end_matches(" kB"));
        }
    }
}

async fn three_processes_share_versions(place: &str, here: &ArtifactStore) {
    let mut children = [child("save", place), child("save", place), child("save", place)];
    let mut saved: Vec<(u64, String)> = Vec::new();
    for child in &mut children {
        saved.extend(told(child).map(|line| {
            let (version, data) = line.split_once(' ').unwrap();
            (version.parse().unwrap(), data.to_owned())
        }));
        assert!(child.wait().unwrap().success());
    }
    saved.sort();
    assert!(saved.iter().map(|(version, _)| *version).eq(0..48), "{saved:?}");
    for (version, data) in saved {
        assert_eq!(read(here, "shared", Some(version)).await, data);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_save_into_one_directory_share_no_version() {
    let place = Place::directory();
    three_processes_share_versions(place.kept().to_str().unwrap(), &place.store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_save_into_one_bucket_share_no_version() {
    let place = Place::bucket();
    three_processes_share_versions(&place.server().endpoint, &place.store).await;
}

async fn a_killed_save_is_not_seen(place: &str, here: &ArtifactStore) {
    let mut child = child("hang", place);
    assert_eq!(told(&mut child).next().as_deref(), Some("stuck"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(here.list_keys(&session()).await.unwrap(), [""; 0]);
    assert_eq!(here.save(&session(), "shared", text("whole")).await.unwrap(), 0);
    assert_eq!(read(here, "shared", None).await, "whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_killed_while_it_saves_into_a_directory_leaves_nothing_visible() {
    let place = Place::directory();
    a_killed_save_is_not_seen(place.kept().to_str().unwrap(), &place.store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_killed_while_it_saves_into_a_bucket_leaves_nothing_visible() {
    let place = Place::bucket();
    a_killed_save_is_not_seen(&place.server().endpoint, &place.store).await;
}

fn a_stream_stays_small(place: &str, mebibytes: u64) {
    let mut child = child(&format!("stream {mebibytes}"), place);
    let told: Vec<String> = told(&mut child).collect();
    assert!(child.wait().unwrap().success());
    let peak: u64 = told[0].parse().unwrap();
    assert!(peak < 72 << 10, "{mebibytes} MiB went through, and the process grew to {peak} KiB");
}

#[test]
fn what_goes_through_a_directory_as_a_stream_is_not_held_in_memory() {
    let directory = tempfile::TempDir::new().unwrap();
    a_stream_stays_small(directory.path().to_str().unwrap(), 256);
}

#[test]
fn what_goes_through_a_bucket_as_a_stream_is_not_held_in_memory() {
    let place = Place::bucket();
    a_stream_stays_small(&place.server().endpoint, 96);
}
