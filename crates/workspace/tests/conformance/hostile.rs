//! What a program plants in its workspace, for whoever touches it next from outside.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belljar_testing::{in_time, runtime};
use belljar_workspace::{OpenWorkspace, PutFile, RunProgramSpec, StageOptions, WorkspacePolicy};

use crate::place::{Job, Place, inline, input, listing, place, place_with, with_artifacts};

const SECRET: &str = "what no program may read";

/// A file outside of all workspaces that nobody may read or change.
struct Bait {
    directory: std::path::PathBuf,
}

impl Bait {
    fn new(place: &Place) -> Self {
        let directory = place.outside("bait");
        std::fs::write(directory.join("secret.txt"), SECRET).unwrap();
        Self { directory }
    }

    #[track_caller]
    fn assert_untouched(&self) {
        assert_eq!(listing(&self.directory), ["secret.txt"]);
        assert_eq!(std::fs::read_to_string(self.directory.join("secret.txt")).unwrap(), SECRET);
        assert_eq!(crate::place::mode_of(&self.directory.join("secret.txt")) & 0o777, 0o644);
    }
}

/// Everything that can be collected, saved or read, as text.
async fn everything(job: &Job<'_>) -> String {
    let (ctx, _) = with_artifacts();
    let mut all = String::new();
    for pattern in ["**", "*", "*/*", "*/*/*", "out/**"] {
        for file in job.collect(&[pattern]).await {
            all += &format!("{}: {}\n", file.name, file.text());
        }
        let spec = belljar_workspace::OutputSpec { save: true, ..inline(pattern) };
        for file in job.outputs(&ctx, spec).await.unwrap().files {
            all += &format!("{}: {}\n", file.name, file.text());
        }
    }
    all
}

#[tokio::test]
async fn case_39_nothing_is_written_through_a_link() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let (bait, job, other) = (Bait::new(&place), place.job().await, place.job().await);
    other.put("theirs", "theirs").await;
    let outside = bait.directory.display().to_string();
    let script = format!(
        r"
import os
os.symlink('{outside}', 'dir'); os.symlink('{outside}/secret.txt', 'file'); os.symlink('dir', 'chain')
os.symlink('{outside}/new', 'dangling'); os.symlink('loop', 'loop'); os.symlink('.', 'here'); os.symlink('/', 'root')
os.symlink('/etc/passwd', 'passwd'); os.symlink('{other}', 'other'); os.symlink('../{name}', 'sideways')
os.symlink('/proc/self/cwd', 'magic'); os.symlink('/proc/self/root/{outside}', 'magic-root')
",
        other = other.dir().display(),
        name = other.dir().file_name().unwrap().to_str().unwrap(),
    );
    job.py(&script).await;
    // A file takes the place of a link; nothing goes through one.
    for path in ["file", "dangling", "passwd", "loop"] {
        job.put(path, "ours").await;
        assert!(!job.dir().join(path).is_symlink(), "{path}");
        assert_eq!(job.text(path).await.as_deref(), Some("ours"));
    }
    job.py(&script.replace("import os", "import os, contextlib\nfor n in ['file', 'dangling', 'passwd', 'loop']: os.remove(n)\nfor n in ['dir', 'chain', 'here', 'root', 'other', 'sideways', 'magic', 'magic-root']: os.remove(n)")).await;
    let source = place.outside("source");
    std::fs::write(source.join("new"), "new").unwrap();
    for link in [
        "dir",
        "chain",
        "here",
        "root",
        "other",
        "sideways",
        "magic",
        "magic-root",
        "loop",
        "dangling",
        "passwd",
    ] {
        let below = format!("{link}/new");
        assert!(job.try_put(vec![PutFile::new(below.as_str(), "x")]).await.is_err(), "{link}");
        assert!(job.stage(&source, link).await.is_err(), "{link}");
        assert!(job.stage(&source, &format!("{link}/deep")).await.is_err(), "{link}");
        assert!(job.input("workspace://metadata.json", &below).await.is_err(), "{link}");
        assert!(job.input(&format!("workspace://{link}/secret.txt"), "got").await.is_err(), "{link}");
        assert!(job.input(&format!("skill://../{link}"), "got").await.is_err(), "{link}");
        let at = RunProgramSpec { cwd: link.to_owned(), ..crate::place::sh("touch new") };
        assert_eq!(job.run(at).await.exit_code, -1, "{link}");
    }
    bait.assert_untouched();
    assert_eq!(other.names(&["**"]).await, ["metadata.json", "theirs"]);
    let all = everything(&job).await;
    assert!(!all.contains(SECRET) && !all.contains("theirs") && !all.contains("root:"), "{all}");
    // As an input, a link is not what it leads to either.
    for link in ["file", "passwd", "dir", "other", "dangling", "loop"] {
        let staged = job.input(&format!("workspace://{link}"), "got").await;
        assert!(staged.is_err(), "{link}");
    }
    job.cleanup().await.unwrap();
    bait.assert_untouched();
    assert_eq!(other.names(&["**"]).await, ["metadata.json", "theirs"]);
}

/// Everything odd that a file system takes.
const ODD: &str = r"
import os, socket
os.mkfifo('out/fifo')
s = socket.socket(socket.AF_UNIX); s.bind('out/socket')
for name in ['CON', 'NUL', 'com1.txt', 'aux', 'A', 'a', 'ä', 'a\nb', '-rf', '*', '$(id)', '\\', 'x' * 255, ' ', 'tab\t', '\x1b[31m', '\u202etxt.exe']:
    open('out/' + name, 'w').write('odd')
open(b'out/\xff\xfe', 'w').write('odd')
with open('out/sparse', 'wb') as f:
    for size in (1 << 40, 1 << 30, 64 << 20):
        try: f.truncate(size)
        except OSError: continue
        break
deep = os.getcwd()
for _ in range(60): os.mkdir('d'); os.chdir('d')
open('bottom', 'w').write('deep')
os.chdir(deep)
open('out/none', 'w').write('closed'); os.chmod('out/none', 0)
os.mkdir('out/shut'); open('out/shut/in', 'w').write('in'); os.chmod('out/shut', 0)
open('out/suid', 'w').write('s')
try: os.chmod('out/suid', 0o6755)
except PermissionError: pass
open('out/one', 'w').write('linked'); os.link('out/one', 'out/two')
";

#[tokio::test]
async fn odd_files_are_collected_as_far_as_they_are_files() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.py(ODD).await;
    let files = job.collect(&["**"]).await;
    let find = |name: &str| files.iter().find(|file| file.name == name);
    for name in [
        "out/CON",
        "out/A",
        "out/a",
        "out/a\nb",
        "out/*",
        "out/\u{fffd}\u{fffd}",
        "out/suid",
        "out/one",
        "out/two",
    ] {
        assert!(find(name).is_some(), "{name:?}");
    }
    assert!(find(&format!("out/{}", "x".repeat(255))).is_some());
    let sparse = find("out/sparse").unwrap();
    // As large as this user's programs may make it: a terabyte, if nothing keeps them from it.
    let size = std::fs::metadata(job.dir().join("out/sparse")).unwrap().len();
    assert!(size >= 64 << 20, "{size}");
    assert_eq!((sparse.size_bytes, sparse.content.len(), sparse.truncated), (size, 4 << 20, true));
    assert!(find(&format!("{}bottom", "d/".repeat(60))).is_some());
    for name in ["out/fifo", "out/socket", "out/none", "out/shut/in"] {
        assert!(find(name).is_none(), "{name}");
    }
    let (ctx, artifacts) = with_artifacts();
    let manifest = job
        .outputs(
            &ctx,
            belljar_workspace::OutputSpec {
                save: true,
                globs: vec!["out/[a-zA]*".to_owned()],
                max_file_bytes: 1 << 20,
                ..Default::default()
            },
        )
        .await;
    assert!(manifest.is_err(), "the sparse one is too large to be saved");
    assert!(artifacts.service.unwrap().list_keys(&artifacts.session).await.unwrap().is_empty());
    job.cleanup().await.unwrap();
    assert_eq!(listing(place.workspaces.store().path()), [""; 0]);
}

async fn py(workspace: &OpenWorkspace, script: &str) {
    let result = in_time(workspace.run(RunProgramSpec::new("python3", ["-c", script]))).await.unwrap();
    assert!(result.is_success(), "{result:?} {}", result.stderr_text());
}

#[tokio::test]
async fn odd_files_are_forked_compared_and_removed() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let one = place.workspaces.workspace("one").await.unwrap();
    py(&one, ODD).await;
    let two = in_time(one.fork("two")).await.unwrap();
    let differences = in_time(one.diff(&two)).await.unwrap();
    let told: Vec<_> = differences.iter().map(|one| (one.path.as_str(), one.change)).collect();
    // Also what is no file.
    assert_eq!(told, []);
    let sparse = std::fs::metadata(Path::new(&two.workspace().path).join("out/sparse")).unwrap();
    assert!(std::os::unix::fs::MetadataExt::blocks(&sparse) < 1000);
    for odd in ["out/fifo", "out/socket", "out", "out/none", "d/d"] {
        assert!(in_time(one.read(odd)).await.is_err(), "{odd}");
        assert!(
            in_time(
                one.stage_inputs(&Default::default(), vec![input(&format!("workspace://{odd}/"), "got")])
            )
            .await
            .is_err()
                || odd == "d/d",
            "{odd}"
        );
    }
    // What is in the way is replaced if it is no directory.
    for odd in ["out/fifo", "out/socket", "out/none", "out/suid"] {
        one.put(odd, "ours").await.unwrap();
        assert_eq!(one.read(odd).await.unwrap(), b"ours");
    }
    assert!(one.put("out/shut", "ours").await.is_err());
    assert!(one.put("out/shut/in", "ours").await.is_err());
    in_time(one.remove()).await.unwrap();
    in_time(two.remove()).await.unwrap();
    assert_eq!(listing(place.workspaces.store().path()), [""; 0]);
}

#[tokio::test]
async fn a_tree_that_is_too_deep_is_refused_and_removed() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let one = place.workspaces.workspace("one").await.unwrap();
    py(
        &one,
        "import os\nfor n in range(1500):\n    os.mkdir('d' * 10); os.chdir('d' * 10)\nopen('bottom', 'w')",
    )
    .await;
    // Half of a workspace is no twin of it.
    let refused = in_time(one.fork("two")).await.unwrap_err();
    assert!(refused.to_string().contains("too deep"), "{refused}");
    assert!(in_time(one.diff(&one)).await.is_err());
    assert!(in_time(one.collect(&["**".to_owned()])).await.is_ok());
    in_time(one.remove()).await.unwrap();
    assert_eq!(listing(place.workspaces.store().path()), [""; 0]);
}

#[tokio::test]
async fn whatever_takes_the_place_of_the_record_is_nobodys_way_out() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let bait = Bait::new(&place);
    let secret = bait.directory.join("secret.txt").display().to_string();
    for (what, works) in [
        (format!("os.symlink('{secret}', m)"), true),
        ("os.symlink('/dev/zero', m)".to_owned(), true),
        ("os.symlink(m, m)".to_owned(), true),
        ("os.mkfifo(m)".to_owned(), true),
        ("open(m, 'wb').truncate(64 << 20)".to_owned(), true),
        ("open(m, 'w').write('[' * 1_000_000)".to_owned(), true),
        ("open(m, 'w').write('{\"version\": 99, \"inputs\": null, \"outputs\": 7}')".to_owned(), true),
        ("open(m, 'w').write('x'); os.chmod(m, 0)".to_owned(), true),
        ("os.mkdir(m)".to_owned(), false),
        ("os.mkdir(m); open(m + '/x', 'w')".to_owned(), false),
    ] {
        let job = place.job().await;
        job.py(&format!("import os\nm = 'metadata.json'\nos.remove(m)\n{what}")).await;
        job.put("a", "A").await;
        let staged = job.input("workspace://a", "b").await;
        assert_eq!(staged.is_ok(), works, "{what}: {staged:?}");
        let recorded = job.outputs(&Default::default(), inline("a")).await;
        // Nothing is saved, so nothing is lost but the record.
        assert!(recorded.is_ok(), "{what}: {recorded:?}");
        if works {
            let metadata = std::fs::symlink_metadata(job.dir().join("metadata.json")).unwrap();
            assert!(
                metadata.is_file() && !metadata.file_type().is_fifo() && metadata.len() < 10_000,
                "{what}"
            );
        }
        in_time(job.cleanup()).await.unwrap();
    }
    bait.assert_untouched();
}

#[tokio::test]
async fn a_workspace_that_is_closed_to_its_owner_is_opened_again_and_can_be_removed() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.does("mkdir -p a/b; chmod 000 a/b a .").await;
    job.put("x", "x").await;
    job.does("test -e x").await;
    job.cleanup().await.unwrap();
    assert_eq!(listing(place.workspaces.store().path()), [""; 0]);
}

#[tokio::test]
async fn places_of_a_workspace_that_are_links_are_refused_and_said_so() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let (bait, job) = (Bait::new(&place), place.job().await);
    for name in ["work", "out", "runs", "skills"] {
        job.py(&format!(
            "import shutil, os\nshutil.rmtree('{name}'); os.symlink('{}', '{name}')",
            bait.directory.display()
        ))
        .await;
        let result = job.sh("echo x > $WORK_DIR/x; echo x > $OUTPUT_DIR/x").await;
        assert_eq!((result.exit_code, result.verdict.as_deref()), (-1, Some("not_started")), "{result:?}");
        assert!(result.stderr_text().contains("no directory of the workspace"), "{result:?}");
        // The caller takes the link away, and goes on.
        std::fs::remove_file(job.dir().join(name)).unwrap();
        job.does("test -d $WORK_DIR").await;
    }
    bait.assert_untouched();
}

#[tokio::test]
async fn a_spill_file_goes_through_no_link_and_counts() {
    let Some(runtime) = runtime() else { return };
    let place = place_with(&runtime, |options| options.max_output_bytes = 10).await;
    let (bait, job) = (Bait::new(&place), place.job().await);
    let outside = bait.directory.display();
    for script in [
        format!("rm -rf $RUN_DIR; ln -s {outside} $RUN_DIR; yes | head -c 1000"),
        format!("ln -s {outside}/secret.txt $RUN_DIR/stdout; yes | head -c 1000"),
        "mkfifo $RUN_DIR/stdout $RUN_DIR/stderr; yes | head -c 1000; yes | head -c 1000 >&2".to_owned(),
    ] {
        let result = job.sh(&script).await;
        assert_eq!(result.truncated.stdout.unwrap().total_bytes, 1000, "{script}");
    }
    bait.assert_untouched();
    // What is spilled is in the workspace, so it counts.
    let policy = WorkspacePolicy { max_disk_bytes: 1 << 20, ..WorkspacePolicy::default() };
    let small = place.job_with(policy).await;
    let result = small.sh("while :; do head -c 1000000 /dev/zero; sleep 0.05; done").await;
    assert_eq!(result.verdict.as_deref(), Some("disk"), "{result:?}");
}

#[tokio::test]
async fn setuid_files_give_nobody_anything() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    // Where a cell may not even make one, it has not got one.
    job.does("cp $(command -v id) work/id; chmod 6755 work/id || chmod 755 work/id").await;
    let own = job.does("id -u; id -g").await;
    assert_eq!(job.does("work/id -u; work/id -g").await, own);
    let source = place.outside("source");
    std::fs::write(source.join("s"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(source.join("s"), std::os::unix::fs::PermissionsExt::from_mode(0o6755)).unwrap();
    job.stage_with(&source, "dst", StageOptions::default()).await.unwrap();
    assert_eq!(crate::place::mode_of(&job.dir().join("dst/s")), 0o755);
}

#[tokio::test(flavor = "multi_thread")]
async fn links_of_a_source_are_not_followed_while_they_are_swapped() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let (bait, job) = (Bait::new(&place), place.job().await);
    let source = place.outside("source");
    std::fs::write(source.join("f"), "fine").unwrap();
    let (secret, stop) = (bait.directory.join("secret.txt"), Arc::new(AtomicBool::new(false)));
    let (directory, stopped) = (source.clone(), Arc::clone(&stop));
    let swapping = std::thread::spawn(move || {
        let [file, link, other] = ["f", "l.tmp", "o.tmp"].map(|name| directory.join(name));
        while !stopped.load(Ordering::Relaxed) {
            let _ = std::os::unix::fs::symlink(&secret, &link);
            let _ = std::fs::rename(&link, &file);
            let _ = std::fs::write(&other, "fine");
            let _ = std::fs::rename(&other, &file);
        }
    });
    for _ in 0..200 {
        let _ = job.stage(&source, "dst").await;
        let staged = job.dir().join("dst/f");
        let got = std::fs::read_to_string(&staged).unwrap_or_default();
        assert!(!staged.is_symlink() && !got.contains(SECRET), "{got}");
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    bait.assert_untouched();
}
