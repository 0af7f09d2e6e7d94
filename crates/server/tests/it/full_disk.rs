//! A state directory without room: runs go on, and nobody is told that something was kept.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use belljar_testing::in_time;
use serde_json::json;

use crate::world::{World, lines, told};

/// A small file system on a directory, until it is dropped.
struct Small(PathBuf);

impl Small {
    /// `None`, with the reason printed, where nothing can be mounted.
    fn on(path: PathBuf) -> Option<Self> {
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs"])
            .arg(&path)
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Self(path)),
            _ => {
                println!("full disk: skipped (nothing can be mounted here; it needs root)");
                None
            }
        }
    }

    fn fill(&self) {
        let _ = std::fs::write(self.0.join("fill"), vec![1; 16 << 20]);
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("fill")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_cuts_no_stream_short_and_promises_nothing() {
    let state = Arc::new(tempfile::tempdir().unwrap());
    let Some(small) = Small::on(state.path().to_owned()) else { return };
    let Some(world) = World::on(state, |_| {}).await else { return };
    let script = json!({"script": "print('x' * 100_000)\nemit_result(1)"});
    let later = || world.post("/v1/runs", &script).header("prefer", "respond-async");
    let (_, begun) = told(world.post("/v1/runs", &json!({"script": "import sys\nsys.stdin.read()"}))).await;
    assert_eq!(begun["verdict"], "no_result", "there is room at first");
    small.fill();
    let is_refused = async {
        loop {
            let stream = world.post("/v1/runs", &script).header("accept", "application/x-ndjson");
            let events = lines(&stream.send().await.unwrap().text().await.unwrap());
            let last = events.last().unwrap();
            assert_eq!((&last["type"], &last["final_data"]), (&json!("ended"), &json!(1)), "{last}");
            match told(later()).await {
                (202, _) => {}
                refused => break refused,
            }
        }
    };
    let (status, problem) = in_time(is_refused).await;
    assert_eq!((status, &problem["code"]), (503, &json!("history-unavailable")));
    assert_eq!(told(world.get("/readyz")).await.0, 503);
    small.make_room();
    in_time(async { while told(world.get("/readyz")).await.0 != 200 {} }).await;
    let (status, accepted) = told(later()).await;
    assert_eq!(status, 202);
    let run = format!("/v1/runs/{}", accepted["id"].as_str().unwrap());
    in_time(async { while told(world.get(&run)).await.1["status"] != "ended" {} }).await;
    let (_, all) = told(world.get("/v1/runs?verdict=running")).await;
    assert_eq!(all["runs"], json!([]), "those that could not be written then have their end now");
    world.stop().await;
}
