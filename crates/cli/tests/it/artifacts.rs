//! `belljar artifact`: files in versions.

use std::fs;

use serde_json::json;

use crate::workspaces::Home;

#[test]
fn versions_are_kept_listed_loaded_and_removed() {
    let home = Home::new();
    home.write("a.txt", "first");
    assert_eq!(home.ok(&["artifact", "save", "a.txt"]), "a.txt@0\n");
    home.write("a.txt", "second");
    assert_eq!(home.ok(&["artifact", "save", "a.txt"]), "a.txt@1\n");
    let info: serde_json::Value =
        serde_json::from_str(&home.ok(&["artifact", "save", "a.txt", "dir/b.txt", "--json"])).unwrap();
    assert_eq!((&info["version"], &info["size_bytes"]), (&json!(0), &json!(6)), "{info:#}");
    assert!(info["mime_type"].as_str().unwrap().starts_with("text/plain"), "{info:#}");
    assert_eq!(home.ok(&["artifact", "ls"]), "a.txt\ndir/b.txt\n");
    assert_eq!(home.ok(&["artifact", "versions", "a.txt"]), "0\n1\n");
    assert_eq!(home.ok(&["artifact", "load", "a.txt@0", "-"]), "first");
    home.refused(&["artifact", "load", "a.txt"], "replace it with --force");
    home.ok(&["artifact", "load", "a.txt@0", "--force"]);
    assert_eq!(fs::read_to_string(home.path("a.txt")).unwrap(), "first");
    home.ok(&["artifact", "load", "dir/b.txt"]);
    assert_eq!(fs::read_to_string(home.path("b.txt")).unwrap(), "second");
    home.ok(&["artifact", "rm", "a.txt"]);
    let names: serde_json::Value = serde_json::from_str(&home.ok(&["artifact", "ls", "--json"])).unwrap();
    assert_eq!(names, json!({"names": ["dir/b.txt"]}));
}

#[test]
fn what_is_not_there_is_refused() {
    let home = Home::new();
    for arguments in [["load", "none"], ["versions", "none"], ["rm", "none"]] {
        home.refused(&[&["artifact"][..], &arguments].concat(), "artifact not found: none");
    }
    home.write("a", "x");
    home.ok(&["artifact", "save", "a"]);
    home.refused(&["artifact", "load", "a@7", "b"], "has no version 7: the latest is 0");
    assert!(!home.path("b").exists());
    home.refused(&["artifact", "save", "none"], "none");
    home.refused(&["artifact", "save", "."], "no");
    home.refused(&["artifact", "save", "-"], "it has no name");
    home.refused(&["artifact", "ls", "--session", "a/b"], "such as reports/ada/2026-10");
    home.refused(&["artifact", "ls", "--store", "ftp://x"], "no place for artifacts");
}

#[test]
fn sessions_do_not_see_each_other_but_share_what_is_their_users() {
    let home = Home::new();
    home.write("a", "x");
    home.ok(&["artifact", "save", "a", "--session", "app/ada/one"]);
    home.ok(&["artifact", "save", "a", "user:a", "--session", "app/ada/one"]);
    assert_eq!(home.ok(&["artifact", "ls", "--session", "app/ada/two"]), "user:a\n");
    assert_eq!(home.ok(&["artifact", "ls", "--session", "app/bob/one"]), "");
    let outcome = home.with_stdin(&["artifact", "save", "-", "typed", "--store", "elsewhere"], "bytes\0");
    assert_eq!(outcome.stdout, "typed@0\n", "{outcome:#?}");
    assert_eq!(home.ok(&["artifact", "load", "typed", "-", "--store", "elsewhere"]), "bytes\0");
}

#[test]
fn what_is_no_file_is_refused_and_nobody_waits_for_it() {
    let home = Home::new();
    home.refused(&["artifact", "save", &home.fifo("fifo")], "not a regular file");
    home.refused(&["artifact", "save", home.place.path().to_str().unwrap(), "name"], "not a regular file");
}
