//! Forks of workspaces, and what differs between two.

use belljar_testing::{in_time, runtime};
use belljar_workspace::kept::Change;
use belljar_workspace::{OpenWorkspace, RunProgramSpec, WorkspaceError};

use crate::place::{listing, place};

async fn py(workspace: &OpenWorkspace, script: &str) {
    let result = in_time(workspace.run(RunProgramSpec::new("python3", ["-c", script]))).await.unwrap();
    assert!(result.is_success(), "{result:?} {}", result.stderr_text());
}

async fn changes(one: &OpenWorkspace, other: &OpenWorkspace) -> Vec<(String, Change)> {
    let differences = in_time(one.diff(other)).await.unwrap();
    differences.into_iter().map(|difference| (difference.path, difference.change)).collect()
}

#[tokio::test]
async fn a_fork_of_two_thousand_files_is_a_twin_and_independent_both_ways() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let one = place.workspaces.workspace("one").await.unwrap();
    py(&one, "import os\nfor n in range(2000):\n    os.makedirs(f'd/{n % 50}', exist_ok=True)\n    open(f'd/{n % 50}/{n}', 'w').write(str(n))\n\
              os.chmod('d/1/1', 0o755); os.chmod('d/2', 0o500); os.symlink('../nowhere', 'd/link')").await;
    let two = in_time(one.fork("two")).await.unwrap();
    assert_eq!(changes(&one, &two).await, []);
    py(&two, "import os\nos.remove('d/3/3'); open('d/4/4', 'w').write('x' * 1); os.chmod('d/5/5', 0o600); open('new', 'w')").await;
    py(&one, "import os\nopen('d/6/6', 'a').write('more'); os.remove('d/7/7')").await;
    use Change::{Added, Changed, Removed};
    let expected = [
        ("d/3/3", Removed),
        ("d/4/4", Changed),
        ("d/5/5", Changed),
        ("d/6/6", Changed),
        ("d/7/7", Added),
        ("new", Added),
    ];
    assert_eq!(changes(&one, &two).await, expected.map(|(path, change)| (path.to_owned(), change)));
    assert_eq!(two.read("d/6/6").await.unwrap(), b"6");
    assert_eq!(one.read("d/4/4").await.unwrap(), b"4");
    let sizes = one.diff(&two).await.unwrap();
    assert_eq!((sizes[3].size_before, sizes[3].size_after), (Some(5), Some(1)));
    one.remove().await.unwrap();
    assert_eq!(two.read("d/7/7").await.unwrap(), b"7");
    two.remove().await.unwrap();
    assert_eq!(listing(place.workspaces.store().path()), [""; 0]);
}

#[tokio::test]
async fn a_twin_has_what_its_owner_has_closed_to_himself() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let one = place.workspaces.workspace("one").await.unwrap();
    py(
        &one,
        r"
import os
os.makedirs('closed/in'); open('closed/in/f', 'w').write('inner'); open('secret', 'w').write('s')
os.mkdir('listed'); open('listed/f', 'w').write('l')
open(b'odd-\xff', 'w').write('o'); open('a\nb', 'w').write('n'); open('x' * 255, 'w').write('x')
open('suid', 'w').close(); os.chmod('suid', 0o755)
try: os.chmod('suid', 0o4755)
except PermissionError: pass
os.chmod('secret', 0); os.chmod('closed/in', 0); os.chmod('closed', 0); os.chmod('listed', 0o444)",
    )
    .await;
    let two = in_time(one.fork("two")).await.unwrap();
    assert_eq!(changes(&one, &two).await, []);
    for kept in [&one, &two] {
        let modes = ["closed", "secret", "listed"]
            .map(|name| crate::place::mode_of(&std::path::Path::new(&kept.workspace().path).join(name)));
        assert_eq!(modes, [0, 0, 0o444]);
    }
    assert_eq!(crate::place::mode_of(&std::path::Path::new(&two.workspace().path).join("suid")), 0o755);
    // What cannot be read by its name or its mode is compared all the same.
    py(
        &two,
        r"
import os
os.chmod('secret', 0o600); open('secret', 'w').write('t'); os.chmod('secret', 0)
open(b'odd-\xff', 'w').write('p')
os.chmod('closed', 0o700); os.chmod('closed/in', 0o700); open('closed/in/f', 'w').write('INNER')
os.chmod('closed/in', 0); os.chmod('closed', 0)",
    )
    .await;
    let expected = ["closed/in/f", "odd-\u{fffd}", "secret"].map(|path| (path.to_owned(), Change::Changed));
    assert_eq!(changes(&one, &two).await, expected);
    in_time(one.remove()).await.unwrap();
    in_time(two.remove()).await.unwrap();
    assert_eq!(listing(place.workspaces.store().path()), [""; 0]);
}

#[tokio::test]
async fn differences_are_of_content_kind_and_permissions() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let one = place.workspaces.workspace("one").await.unwrap();
    let two = place.workspaces.workspace("two").await.unwrap();
    py(&one, "import os\nos.mkdir('a'); os.symlink('x', 'l'); open('zeros', 'wb').write(bytes(200_000)); open('runs-of-mine', 'w').write('1'); open('runs/mine', 'w')").await;
    py(&two, "import os\nopen('a', 'w'); os.symlink('y', 'l'); open('zeros', 'wb').truncate(200_000); open('runs-of-mine', 'w').write('2')").await;
    let expected = ["a", "l", "runs-of-mine"].map(|path| (path.to_owned(), Change::Changed));
    assert_eq!(changes(&one, &two).await, expected);
    assert_eq!(changes(&one, &one).await, []);
    // Not over another, and not of one that is gone.
    assert!(one.fork("two").await.is_err());
    assert_eq!(two.read("a").await.unwrap(), b"");
    let gone = two.clone();
    two.remove().await.unwrap();
    assert!(gone.fork("three").await.is_err());
    assert!(matches!(one.diff(&gone).await, Err(WorkspaceError::NotFound { .. })));
    assert!(matches!(gone.read("a").await, Err(WorkspaceError::NotFound { .. })));
    let names: Vec<String> = place.workspaces.list().unwrap().into_iter().map(|(id, _)| id).collect();
    assert_eq!(names, ["one"]);
}

#[tokio::test]
async fn more_directories_are_copied_than_a_process_may_have_files_open() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let one = place.workspaces.workspace("one").await.unwrap();
    py(&one, "import os\nfor n in range(3000): os.mkdir(f'd{n}')").await;
    let rustix::process::Rlimit { maximum, .. } =
        rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let few = rustix::process::Rlimit { current: Some(512), maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, few).unwrap();
    let two = in_time(one.fork("two")).await.unwrap();
    assert_eq!(changes(&one, &two).await, []);
    let source = place.outside("source");
    for number in 0..1000 {
        std::fs::create_dir(source.join(number.to_string())).unwrap();
    }
    let options = belljar_workspace::StageOptions { read_only: true, ..Default::default() };
    let spec = belljar_workspace::DirectorySpec { source, to: "staged".to_owned(), options };
    in_time(two.stage(spec)).await.unwrap();
    in_time(two.remove()).await.unwrap();
}
