//! A program that swaps a directory and a link as fast as it can, while the host works there.

use std::time::{Duration, Instant};

use belljar_testing::{eventually, in_time, runtime};
use belljar_workspace::{Context, PutFile, RunProgramSpec, WorkspaceEngine};

use crate::place::{Place, inline, listing, place, with_artifacts};

const SECRET: &str = "what no program may read";

/// Exchanges `swap`, a directory with a file, with a link that leads out.
fn swapper(outside: &str) -> String {
    format!(
        r"
import ctypes, os
os.makedirs('real'); open('real/secret.txt', 'w').write('mine'); os.symlink('{outside}', 'swap')
os.symlink('{outside}/secret.txt', 'file'); open('plain', 'w').write('mine')
libc = ctypes.CDLL(None)
def exchange(a, b):
    if libc.renameat2(-100, a, -100, b, 2) != 0:
        os.rename(a, a + b'.x'); os.rename(b, a); os.rename(a + b'.x', b)
open('began', 'w')
while True:
    try:
        exchange(b'swap', b'real'); exchange(b'file', b'plain')
    except OSError:
        for name, make in ((b'swap', lambda: os.mkdir(b'swap')), (b'real', lambda: os.mkdir(b'real')), (b'plain', lambda: open(b'plain', 'w'))):
            try: make()
            except OSError: pass
"
    )
}

/// How long each race lasts: thousands of swaps, and at least this many rounds.
const LONG: Duration = Duration::from_secs(4);
const ROUNDS: u32 = 30;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outside_is_read_or_written_while_a_directory_is_swapped_with_a_link() {
    let Some(runtime) = runtime() else { return };
    let place: Place = place(&runtime).await;
    let job = place.job().await;
    let outside = place.outside("bait");
    std::fs::write(outside.join("secret.txt"), SECRET).unwrap();
    let path = outside.display().to_string();
    let session = job.start(RunProgramSpec::new("python3", ["-c", &swapper(&path)])).await;
    eventually("it swaps", || job.dir().join("began").exists()).await;
    let source = place.outside("source");
    std::fs::create_dir(source.join("sub")).unwrap();
    std::fs::write(source.join("sub/new"), "new").unwrap();
    let (began, mut rounds, mut seen) = (Instant::now(), 0, 0);
    let (ctx, artifacts) = with_artifacts();
    let service = artifacts.service.clone().unwrap();
    while began.elapsed() < LONG || rounds < ROUNDS {
        rounds += 1;
        let files = [
            PutFile::new("swap/new", "x"),
            PutFile::new("file/new", "x"),
            PutFile::new("swap/secret.txt", "mine"),
        ];
        for file in files {
            let _ = job.try_put(vec![file]).await;
        }
        let _ = job.stage(&source, "swap").await;
        let _ = job.input("workspace://swap/secret.txt", "got").await;
        let _ = job.input("workspace://plain", "swap/got").await;
        let _ = job.input("workspace://swap", "copied").await;
        let fs = place.workspaces.fs();
        let patterns = ["**".to_owned(), "swap/*".to_owned(), "file".to_owned(), "plain".to_owned()];
        for file in in_time(fs.collect(&Context::new(), &job.ws, &patterns)).await.unwrap_or_default() {
            assert!(!file.text().contains(SECRET), "{}", file.name);
            seen += 1;
        }
        let spec = belljar_workspace::OutputSpec { save: true, ..inline("{swap/*,file,plain,copied/*,got}") };
        let _ = in_time(fs.collect_outputs(&ctx, &job.ws, spec)).await;
        for key in in_time(service.list_keys(&artifacts.session)).await.unwrap() {
            let loaded = in_time(service.load(&artifacts.session, &key, None)).await.unwrap().unwrap();
            assert!(!String::from_utf8_lossy(&loaded.artifact.data).contains(SECRET), "{key}");
        }
        assert_eq!(listing(&outside), ["secret.txt"], "round {rounds}");
        assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), SECRET, "round {rounds}");
    }
    assert!(seen > 0 && !session.state().is_exited(), "{seen} {:?}", session.result());
    println!("{rounds} rounds");
    in_time(session.kill(Duration::ZERO)).await.unwrap();
    job.cleanup().await.unwrap();
    assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), SECRET);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outside_is_read_or_removed_while_a_fork_is_made_and_removed() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let one = place.workspaces.workspace("one").await.unwrap();
    let outside = place.outside("bait");
    std::fs::write(outside.join("secret.txt"), SECRET).unwrap();
    std::fs::set_permissions(&outside, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let path = outside.display().to_string();
    let program = RunProgramSpec::new("python3", ["-c", &swapper(&path)]);
    let spec = belljar_workspace::InteractiveProgramSpec { program, ..Default::default() };
    let session = in_time(one.start(spec)).await.unwrap();
    let root = std::path::Path::new(&one.workspace().path).to_owned();
    eventually("it swaps", || root.join("began").exists()).await;
    let (began, mut rounds) = (Instant::now(), 0);
    while began.elapsed() < LONG || rounds < ROUNDS {
        rounds += 1;
        let id = format!("twin-{rounds}");
        if let Ok(twin) = in_time(one.fork(&id)).await {
            for file in in_time(twin.collect(&["**".to_owned()])).await.unwrap() {
                assert!(!file.text().contains(SECRET), "{}", file.name);
            }
            let _ = in_time(one.diff(&twin)).await;
            for name in ["swap/secret.txt", "file", "plain"] {
                let read = in_time(one.read(name)).await.unwrap_or_default();
                assert!(!String::from_utf8_lossy(&read).contains(SECRET), "{name}");
            }
            in_time(twin.remove()).await.unwrap();
        }
    }
    assert!(!session.state().is_exited(), "{:?}", session.result());
    // While it still swaps.
    in_time(one.remove()).await.unwrap();
    in_time(session.kill(Duration::ZERO)).await.unwrap();
    assert_eq!(listing(&outside), ["secret.txt"]);
    assert_eq!(crate::place::mode_of(&outside), 0o700);
    assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), SECRET);
}
