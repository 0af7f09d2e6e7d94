//! `belljar ws fork` and `diff`: a second workspace of the same content.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::workspaces::Home;

#[test]
fn a_fork_goes_its_own_way_and_diff_says_which() {
    let home = Home::new();
    home.ok(&["ws", "new", "one"]);
    home.ok(&["ws", "run", "one", "--", "sh", "-c", "echo a > same; echo a > changed; echo a > gone"]);
    home.ok(&["ws", "fork", "one", "two"]);
    assert_eq!(home.ok(&["ws", "diff", "one", "two"]), "");
    home.ok(&["ws", "run", "two", "--", "sh", "-c", "echo b > changed; rm gone; echo b > out/new"]);
    assert_eq!(home.ok(&["ws", "diff", "one", "two"]), "~ changed\n- gone\n+ out/new\n");
    let told: serde_json::Value =
        serde_json::from_str(&home.ok(&["ws", "diff", "two", "one", "--json"])).unwrap();
    assert_eq!(
        told["differences"][1],
        json!({"path": "gone", "change": "added", "size_after": 2}),
        "{told:#}"
    );
    assert_eq!(home.ok(&["ws", "get", "one", "changed", "-"]), "a\n");
}

#[test]
fn a_fork_has_fifos_and_sockets_too() {
    let home = Home::new();
    home.ok(&["ws", "new", "one"]);
    let make = "mkfifo fifo; chmod 600 fifo; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\"";
    home.ok(&["ws", "run", "one", "--", "sh", "-c", make]);
    home.ok(&["ws", "fork", "one", "two"]);
    let look = "test -p fifo && test -S socket && stat -c %a fifo";
    assert_eq!(home.ok(&["ws", "run", "two", "--", "sh", "-c", look]), "600\n");
}

#[test]
fn a_fork_has_the_same_names_and_is_as_old() {
    let home = Home::new();
    home.ok(&["ws", "new", "one"]);
    // More than one thread copies, and a name may come before the file that it is another name of.
    let make = "mkdir -p a z; seq 300 | while read i; do echo $i > a/$i; ln a/$i z/$((301 - i)); done; \
                chmod 1777 a; ln -s a link; find . -exec touch -h -d '2001-02-03 04:05:06.789' {} +";
    home.ok(&["ws", "run", "one", "--", "sh", "-c", make]);
    home.ok(&["ws", "fork", "one", "two"]);
    let look = "find a z link -printf '%p %m %n %T@ %l\\n' | sort; cat z/*; find a z -type f -printf '%i\\n' | sort -u | wc -l";
    let seen = |name| home.ok(&["ws", "run", name, "--", "sh", "-c", look]);
    let (one, two) = (seen("one"), seen("two"));
    assert!(one.contains("a/300 644 2 981173106.78") && one.contains("a 1777 "), "{one}");
    assert_eq!(one, two);
    home.ok(&["ws", "run", "two", "--", "sh", "-c", "echo more >> a/1"]);
    assert_eq!(home.ok(&["ws", "diff", "one", "two"]), "~ a/1\n~ z/300\n");
}

#[test]
fn where_the_file_system_can_share_blocks_a_fork_takes_no_room() {
    let home = Home::new();
    // Two of the large file have no room in it. Everything is gone with the mount namespace.
    let script = r#"
        truncate -s 400M image && mkfs.xfs -q image && mkdir place && mount -o loop image place || exit 90
        export BELLJAR_WORKSPACES=$PWD/place/workspaces
        belljar ws new one
        head -c 240000000 /dev/urandom | belljar ws put one - --to large
        belljar ws fork one two
        belljar ws run two -- sh -c 'echo more >> large'
        belljar ws diff one two
    "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", script]).current_dir(home.place.path());
    let belljar = Path::new(env!("CARGO_BIN_EXE_belljar")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}:/usr/sbin", belljar.display()));
    command.env("BELLJAR_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command.env_remove("BELLJAR_ENGINE");
    if !Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|tried| tried.success()) {
        println!("reflink: skipped (no mount namespace can be made here)");
        return;
    }
    let output = command.output().unwrap();
    if output.status.code() == Some(90) {
        println!("reflink: skipped (XFS cannot be made and mounted here: {output:?})");
        return;
    }
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "~ large\n", "{output:?}");
}
