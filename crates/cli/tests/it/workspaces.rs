//! `belljar ws`: workspaces, and the files in them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::belljar::{Outcome, command, finish};

/// Workspaces and artifacts of one test.
pub(crate) struct Home {
    pub(crate) place: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("BELLJAR_WORKSPACES", self.path(".workspaces"));
        command.env("BELLJAR_ARTIFACTS", self.path(".artifacts")).current_dir(self.place.path());
        command
    }

    /// Runs `belljar <arguments>`.
    pub(crate) fn belljar(&self, arguments: &[&str]) -> Outcome {
        self.with_stdin(arguments, "")
    }

    pub(crate) fn with_stdin(&self, arguments: &[&str], stdin: impl AsRef<[u8]>) -> Outcome {
        finish(self.command(arguments), stdin)
    }

    /// Runs it, and expects that it succeeds. Returns what it printed.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let outcome = self.belljar(arguments);
        assert_eq!(outcome.code, Some(0), "{arguments:?}: {outcome:#?}");
        outcome.stdout
    }

    /// Runs it, and expects that it is refused with these words.
    pub(crate) fn refused(&self, arguments: &[&str], words: &str) {
        let outcome = self.belljar(arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{arguments:?}: {outcome:#?}");
        assert!(outcome.stderr.contains(words), "{arguments:?}: {outcome:#?}");
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.place.path().join(name)
    }

    /// A FIFO that nobody writes to.
    pub(crate) fn fifo(&self, name: &str) -> String {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let path = self.path(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

#[test]
fn a_workspace_is_made_listed_and_removed() {
    let home = Home::new();
    assert_eq!(home.ok(&["ws", "ls"]), "");
    home.ok(&["ws", "new", "job-17", "--max-disk", "64m"]);
    home.ok(&["ws", "new", "other"]);
    let list: serde_json::Value = serde_json::from_str(&home.ok(&["ws", "ls", "--json", "--size"])).unwrap();
    let rows = list["workspaces"].as_array().unwrap();
    assert_eq!((&rows[0]["name"], &rows[1]["name"]), (&json!("job-17"), &json!("other")));
    assert_eq!((&rows[0]["max_disk_bytes"], &rows[1]["max_disk_bytes"]), (&json!(64 << 20), &json!(0)));
    assert!(rows[0]["size_bytes"].is_u64() && rows[0]["created"].as_u64().is_none_or(|when| when > 1 << 30));
    assert!(home.ok(&["ws", "ls"]).starts_with("job-17 "));
    home.refused(&["ws", "new", "other"], "there is a workspace \"other\" already");
    home.ok(&["ws", "rm", "job-17", "other"]);
    assert_eq!(home.ok(&["ws", "ls"]), "");
}

#[test]
fn wrong_names_and_workspaces_that_are_not_there_are_refused_with_what_to_do() {
    let home = Home::new();
    home.refused(&["ws", "new", "a/b"], "use 1 to 64 letters, digits");
    home.refused(&["ws", "new", ".."], "use 1 to 64 letters, digits");
    home.ok(&["ws", "new", "there"]);
    for arguments in [
        &["ws", "run", "gone", "--", "true"][..],
        &["ws", "put", "gone", "/etc/hostname"],
        &["ws", "get", "gone", "x"],
        &["ws", "collect", "gone", "*"],
        &["ws", "fork", "gone", "new"],
        &["ws", "diff", "there", "gone"],
        &["ws", "shell", "gone"],
        &["ws", "rm", "there", "gone"],
        &["ws", "get", "../there", "x"],
    ] {
        home.refused(arguments, "make it with `belljar ws new`");
    }
    home.refused(&["ws", "fork", "there", "there"], "already");
    home.ok(&["ws", "rm", "--force", "gone", "there"]);
    assert_eq!(home.ok(&["ws", "ls"]), "", "nothing was removed before every name was known");
}

#[test]
fn files_and_directories_go_in_and_come_out_as_they_were() {
    let home = Home::new();
    let binary: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    home.write("data.bin", &binary);
    home.write("tree/deep/tool.sh", "#!/bin/sh\necho tool\n");
    home.write("tree/empty.txt", "");
    fs::set_permissions(home.path("tree/deep/tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    home.ok(&["ws", "new", "w"]);
    home.ok(&["ws", "put", "w", "data.bin", "tree"]);
    assert_eq!(home.ok(&["ws", "run", "w", "--", "./tree/deep/tool.sh"]), "tool\n");
    home.ok(&["ws", "get", "w", "data.bin", "copy.bin"]);
    assert_eq!(fs::read(home.path("copy.bin")).unwrap(), binary);
    home.ok(&["ws", "get", "w", "tree", "copied"]);
    assert_eq!(fs::read(home.path("copied/deep/tool.sh")).unwrap(), b"#!/bin/sh\necho tool\n");
    let mode = |name: &str| fs::metadata(home.path(name)).unwrap().permissions().mode() & 0o111;
    assert_ne!(mode("copied/deep/tool.sh"), 0);
    assert_eq!(mode("copied/empty.txt"), 0);
    // To a directory that is there, under its own name.
    fs::create_dir(home.path("there")).unwrap();
    home.ok(&["ws", "get", "w", "tree/deep", "there"]);
    assert!(home.path("there/deep/tool.sh").exists());
    home.ok(&["ws", "get", "w", ".", "everything"]);
    assert!(home.path("everything/tree/deep/tool.sh").exists());
}

#[test]
fn where_files_go_is_what_cp_does() {
    let home = Home::new();
    home.write("a", "1");
    home.write("b", "2");
    home.write("d/c", "3");
    home.ok(&["ws", "new", "w"]);
    home.ok(&["ws", "put", "w", "a", "--to", "renamed"]);
    home.ok(&["ws", "put", "w", "a", "--to", "work"]);
    home.ok(&["ws", "put", "w", "a", "b", "--to", "new"]);
    home.ok(&["ws", "put", "w", "a", "--to", "slash/"]);
    home.ok(&["ws", "put", "w", "d", "--to", "as"]);
    home.ok(&["ws", "put", "w", "d", "--to", "new"]);
    home.ok(&["ws", "put", "w", "d/.", "--to", "contents"]);
    let found = home.ok(&["ws", "run", "w", "--", "sh", "-c", "find . -type f ! -name metadata.json | sort"]);
    assert_eq!(found, "./as/c\n./contents/c\n./new/a\n./new/b\n./new/d/c\n./renamed\n./slash/a\n./work/a\n");
    home.refused(&["ws", "put", "w", "nothing"], "nothing");
    home.refused(&["ws", "put", "w", "a", "--to", "../out"], "escapes workspace");
}

#[test]
fn stdin_goes_in_and_a_file_goes_to_stdout_byte_for_byte() {
    let home = Home::new();
    home.ok(&["ws", "new", "w"]);
    home.refused(&["ws", "put", "w", "-"], "stdin has no name");
    let text = "ä\0\r\nno newline at the end";
    let outcome = home.with_stdin(&["ws", "put", "w", "-", "--to", "in/text"], text);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(home.ok(&["ws", "get", "w", "in/text", "-"]), text);
    home.refused(&["ws", "get", "w", "in", "-"], "cannot read in");
    home.refused(&["ws", "get", "w", "in/none"], "has no \"in/none\"");
}

#[test]
fn a_put_that_waits_for_stdin_can_be_interrupted() {
    use rustix::process::{Pid, Signal, kill_process};
    let home = Home::new();
    home.ok(&["ws", "new", "w"]);
    let spools = home.path("spools");
    fs::create_dir(&spools).unwrap();
    let mut child =
        home.command(&["ws", "put", "w", "-", "--to", "x"]).env("TMPDIR", &spools).spawn().unwrap();
    let _open = child.stdin.take();
    // It waits once it has a place for what it reads.
    while fs::read_dir(&spools).unwrap().next().is_none() {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        std::thread::yield_now();
    }
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(fs::read_dir(&spools).unwrap().next().is_none(), "nothing is left");
    home.refused(&["ws", "get", "w", "x"], "has no \"x\"");
}

#[test]
fn nothing_on_this_machine_is_replaced_unless_that_is_said() {
    let home = Home::new();
    home.write("mine", "mine");
    home.write("other/f", "mine");
    home.ok(&["ws", "new", "w"]);
    home.ok(&[
        "ws",
        "run",
        "w",
        "--",
        "sh",
        "-c",
        "echo theirs > mine; mkdir d; echo theirs > d/f; echo new > d/a",
    ]);
    home.refused(&["ws", "get", "w", "mine"], "replace it with --force");
    home.refused(&["ws", "collect", "w", "mine", "--out", "."], "replace it with --force");
    assert_eq!(fs::read_to_string(home.path("mine")).unwrap(), "mine");
    fs::rename(home.path("other"), home.path("d")).unwrap();
    home.refused(&["ws", "get", "w", "d"], "replace it with --force");
    assert!(!home.path("d/a").exists(), "nothing is written if anything is in the way");
    home.ok(&["ws", "get", "w", "d", "--force"]);
    home.ok(&["ws", "get", "w", "mine", "--force"]);
    assert_eq!(fs::read_to_string(home.path("d/f")).unwrap(), "theirs\n");
    assert_eq!(fs::read_to_string(home.path("mine")).unwrap(), "theirs\n");
}

#[test]
fn a_link_that_a_program_made_leads_nowhere_on_this_machine() {
    let home = Home::new();
    let script = "ln -s /etc/passwd l; ln -s /etc d; mkdir t; ln -s /etc/passwd t/l; echo x > t/f";
    home.ok(&["ws", "new", "w"]);
    home.ok(&["ws", "run", "w", "--", "sh", "-c", script]);
    home.refused(&["ws", "get", "w", "l"], "links are not followed");
    home.refused(&["ws", "get", "w", "l", "-"], "links are not followed");
    home.refused(&["ws", "get", "w", "d/passwd", "-"], "links are not followed");
    home.refused(&["ws", "get", "w", "d/passwd"], "has no \"d/passwd\"");
    let outcome = home.belljar(&["ws", "get", "w", "t"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stderr.contains("t/l is left out: it is a link"), "{outcome:#?}");
    assert!(home.path("t/f").exists() && fs::symlink_metadata(home.path("t/l")).is_err());
    // A link of the user's own, where a file should go, is replaced and never written through.
    home.write("target", "mine");
    std::os::unix::fs::symlink("target", home.path("f")).unwrap();
    home.ok(&["ws", "get", "w", "t/f", "--force"]);
    assert_eq!(fs::read_to_string(home.path("target")).unwrap(), "mine");
    assert!(!fs::symlink_metadata(home.path("f")).unwrap().is_symlink());
}

/// The most memory that a command took, in KiB.
fn memory_of(home: &Home, arguments: &[&str]) -> u64 {
    const MEASURE: &str = "import resource, subprocess, sys\n\
        code = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)\n\
        print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let inner = home.command(arguments);
    let mut outer = Command::new("python3");
    outer.args(["-c", MEASURE]).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    let output = outer.current_dir(home.place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<u64> = said.split_whitespace().map(|number| number.parse().unwrap()).collect();
    assert_eq!(numbers[0], 0, "{arguments:?}: {output:?}");
    numbers[1]
}

#[test]
fn a_hundred_megabytes_pass_through_without_being_held_in_memory() {
    const SIZE: u64 = 100 << 20;
    let home = Home::new();
    let big = fs::File::create(home.path("big")).unwrap();
    big.set_len(SIZE).unwrap();
    drop(big);
    home.ok(&["ws", "new", "w"]);
    let usual = memory_of(&home, &["ws", "ls"]);
    let limit = usual + (SIZE >> 10) / 2;
    for arguments in [
        &["ws", "put", "w", "big"][..],
        &["ws", "get", "w", "big", "back"],
        &["ws", "collect", "w", "big", "--out", "collected"],
        &["ws", "collect", "w", "big", "--save"],
        &["artifact", "load", "big", "loaded"],
    ] {
        let took = memory_of(&home, arguments);
        assert!(took < limit, "{arguments:?} took {took} KiB; `ws ls` takes {usual}");
    }
    for name in ["back", "collected/big", "loaded"] {
        assert_eq!(fs::metadata(home.path(name)).unwrap().len(), SIZE, "{name}");
    }
}

#[test]
fn what_matches_is_listed_saved_and_kept() {
    let home = Home::new();
    home.ok(&["ws", "new", "w"]);
    let script = "echo 1 > out/a.csv; mkdir out/p; echo 2 > out/p/b.csv; echo 3 > c.txt";
    home.ok(&["ws", "run", "w", "--", "sh", "-c", script]);
    let list = home.ok(&["ws", "collect", "w", "out/**/*.csv"]);
    assert_eq!(list, "out/a.csv  text/csv, 2 bytes\nout/p/b.csv  text/csv, 2 bytes\n");
    home.ok(&["ws", "collect", "w", "out/**", "--out", "results"]);
    assert_eq!(fs::read_to_string(home.path("results/out/p/b.csv")).unwrap(), "2\n");
    let kept = home.ok(&["ws", "collect", "w", "**/*.csv", "--save", "--prefix", "r/"]);
    assert_eq!(kept, "r/out/a.csv@0\nr/out/p/b.csv@0\n");
    let told: serde_json::Value = serde_json::from_str(&home.ok(&[
        "ws",
        "collect",
        "w",
        "out/a.csv",
        "--save",
        "--prefix",
        "r/",
        "--json",
    ]))
    .unwrap();
    assert_eq!(
        (&told["files"][0]["saved_as"], &told["files"][0]["version"]),
        (&json!("r/out/a.csv"), &json!(1))
    );
    assert_eq!(home.ok(&["artifact", "load", "r/out/p/b.csv", "-"]), "2\n");
    home.refused(&["ws", "collect", "w", "a["], "bad pattern");
    assert_eq!(home.ok(&["ws", "collect", "w", "nothing/*"]), "");
}

#[test]
fn a_full_workspace_takes_no_more_and_says_how_much_it_may_hold() {
    let home = Home::new();
    home.write("big", vec![b'x'; 3 << 20]);
    home.ok(&["ws", "new", "w", "--max-disk", "2m"]);
    home.refused(&["ws", "put", "w", "big"], "the workspace may hold 2097152 bytes");
    let fill = "head -c 3000000 /dev/zero > big";
    let outcome = home.belljar(&["ws", "run", "w", "--", "sh", "-c", fill]);
    assert_ne!(outcome.code, Some(0), "{outcome:#?}");
}

#[test]
fn workspaces_are_where_the_user_keeps_data_and_closed_to_others() {
    let home = Home::new();
    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("XDG_DATA_HOME", home.place.path());
        finish(command, "")
    };
    assert_eq!(run(&["ws", "new", "w"]).code, Some(0));
    let place = home.path("belljar/workspaces/native");
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(place.join("w").is_dir());
    // An option wins over the environment.
    let elsewhere = home.path("elsewhere");
    let listed = home.ok(&["ws", "ls", "--store", elsewhere.to_str().unwrap()]);
    assert_eq!(listed, "");
    assert!(Path::new(&elsewhere).join("native").is_dir());
}

#[test]
fn a_hole_comes_out_as_a_hole_and_a_copy_that_fails_leaves_what_was_there() {
    use std::os::unix::fs::MetadataExt;
    let home = Home::new();
    home.ok(&["ws", "new", "job"]);
    home.ok(&[
        "ws",
        "run",
        "job",
        "--",
        "sh",
        "-c",
        "truncate -s 1G hole; echo end >> hole; head -c 8M /dev/zero > big",
    ]);
    home.ok(&["ws", "get", "job", "hole", "out-hole"]);
    let found = std::fs::metadata(home.path("out-hole")).unwrap();
    assert!(found.len() > 1 << 30 && found.blocks() * 512 < 1 << 20, "{} blocks", found.blocks());
    home.write("keep", "as it was");
    // The shell's limit is in blocks of 512 bytes.
    let line = format!("ulimit -f 2000; exec \"$0\" ws get job big {} --force", home.path("keep").display());
    let mut command = std::process::Command::new("sh");
    let ours = home.command(&[]);
    command
        .args(["-c", &line])
        .arg(ours.get_program())
        .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = command.output().unwrap();
    assert!(!ended.status.success(), "{ended:?}");
    assert_eq!(std::fs::read_to_string(home.path("keep")).unwrap(), "as it was");
}

#[test]
fn a_program_that_closes_or_fills_its_workspace_does_not_lose_it() {
    let home = Home::new();
    home.ok(&["ws", "new", "job", "--max-disk", "4m"]);
    home.ok(&["ws", "run", "job", "--", "sh", "-c", "echo kept > file; chmod 0 ."]);
    assert_eq!(home.ok(&["ws", "run", "job", "--", "cat", "file"]), "kept\n");
    for name in ["a", "b", "c", "d"] {
        let line = format!("head -c 1500k /dev/zero > {name}; sleep 1");
        home.belljar(&["ws", "run", "job", "--", "sh", "-c", &line]);
    }
    home.refused(&["ws", "put", "job", home.path("").to_str().unwrap()], "may hold");
    home.ok(&["ws", "run", "job", "--", "sh", "-c", "rm -f a b c d"]);
    assert_eq!(home.ok(&["ws", "run", "job", "--", "sh", "-c", "echo again > file; cat file"]), "again\n");
}

#[test]
fn what_has_a_name_that_is_not_text_is_left_out_and_the_rest_is_collected() {
    let home = Home::new();
    home.ok(&["ws", "new", "w"]);
    // Three names that look the same where they cannot be shown.
    let make = r"import os
for name in [b'out/a\xff', b'out/a\xfe', 'out/a\ufffd'.encode(), b'out/b']: open(name, 'w').write('x')";
    home.ok(&["ws", "run", "w", "--", "python3", "-c", make]);
    let outcome = home.belljar(&["ws", "collect", "w", "out/*", "--out", "here"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(outcome.stderr.matches("its name is not text").count(), 3, "{outcome:#?}");
    let saved: Vec<_> =
        fs::read_dir(home.path("here/out")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(saved, ["b"]);
}

#[test]
fn force_replaces_files_and_nothing_else() {
    let home = Home::new();
    home.ok(&["ws", "new", "w"]);
    home.ok(&["ws", "run", "w", "--", "sh", "-c", "echo new > out/a"]);
    home.fifo("fifo");
    home.refused(&["ws", "get", "w", "out/a", "fifo", "--force"], "is no file");
    home.write("file", "old");
    home.refused(&["ws", "get", "w", "out/a", "file"], "--force");
    home.ok(&["ws", "get", "w", "out/a", "file", "--force"]);
    assert_eq!(fs::read_to_string(home.path("file")).unwrap(), "new\n");
}
