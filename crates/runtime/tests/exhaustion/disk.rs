//! Bytes and inodes of every place that can be written to.

use belljar_runtime::Verdict;
use belljar_testing::data;

use crate::attack::Attack;

const PLACES: [&str; 3] = ["/workspace", "/tmp", "/dev/shm"];

async fn fills(script_for: impl Fn(&str) -> String) {
    for place in PLACES {
        Attack::new().ends_as(Verdict::Disk, &script_for(place)).await;
    }
}

#[tokio::test]
async fn all_bytes() {
    fills(|place| {
        format!("with open('{place}/f', 'wb', buffering=0) as f:\n    while True: f.write(b'x' * (1 << 20))")
    })
    .await;
}

#[tokio::test]
async fn all_bytes_of_a_file_that_is_gone_when_it_ends() {
    let script = "import tempfile\nwith tempfile.TemporaryFile(buffering=0) as f:\n    while True: f.write(b'x' * (1 << 20))";
    let Some(result) = Attack::new().run(script).await else { return };
    // The room is free again as soon as the exception leaves the block, so both are true.
    assert!(matches!(result.verdict, Verdict::Disk | Verdict::Exception), "{result:#?}");
    assert!(result.error.unwrap().contains("No space left on device"));
}

#[tokio::test]
async fn all_inodes() {
    fills(|place| format!("n = 0\nwhile True:\n    n += 1\n    open(f'{place}/{{n}}', 'w').close()")).await;
}

#[tokio::test]
async fn all_inodes_by_directories() {
    fills(|place| format!("n = 0\nwhile True:\n    n += 1\n    os.mkdir(f'{place}/{{n}}')")).await;
}

// The next two ask for more than there is room for, and for less than a file may be long: where no
// control group counts memory, that is the memory limit.

#[tokio::test]
async fn a_file_that_is_long_and_empty_takes_nothing() {
    let script = "with open('/workspace/f', 'wb') as f: f.truncate(64 << 20)\nemit_result(os.stat('/workspace/f').st_blocks)";
    if let Some(result) = Attack::new().run(script).await {
        assert_eq!(data(&result), "0");
    }
}

#[tokio::test]
async fn more_than_there_is_room_for_at_once() {
    let script =
        "fd = os.open('/workspace/f', os.O_CREAT | os.O_WRONLY)\nos.posix_fallocate(fd, 0, 64 << 20)";
    let Some(result) = Attack::new().run(script).await else { return };
    // Nothing was filled: the kernel refused the whole.
    assert_eq!(result.verdict, Verdict::Exception);
    assert!(result.error.unwrap().contains("No space left on device"));
}

#[tokio::test]
async fn a_script_that_handles_a_full_disk_is_fine() {
    let script = "try:\n    with open('/tmp/f', 'wb', buffering=0) as f:\n        while True: f.write(b'x' * (1 << 20))\nexcept OSError as e: emit_result(e.errno)";
    if let Some(result) = Attack::new().run(script).await {
        assert_eq!(data(&result), "28");
    }
}
