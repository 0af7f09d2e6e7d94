//! Runs the examples of the guide, as its readers would.
//!
//! A block whose first line is `# name` is a file of that name. In a `console` block each line
//! after `$` is a command, and the lines after it are what it prints.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::mcp::servers_of_others;

#[test]
fn the_chapter_about_scripts_tells_the_truth() {
    chapter(include_str!("../../../../docs/guide/scripts.md"), 7);
}

#[test]
fn the_chapter_about_tools_tells_the_truth() {
    chapter(include_str!("../../../../docs/guide/tools.md"), 15);
}

#[test]
fn the_chapter_about_agents_tells_the_truth() {
    chapter(include_str!("../../../../docs/guide/agents.md"), 1);
}

#[test]
fn the_chapter_about_workspaces_tells_the_truth() {
    chapter(include_str!("../../../../docs/guide/workspaces.md"), 32);
}

#[test]
fn the_chapter_about_the_server_tells_the_truth() {
    chapter(include_str!("../../../../docs/guide/server.md"), 27);
}

fn chapter(text: &str, commands: usize) {
    let place = tempfile::tempdir().unwrap();
    let mut run = 0;
    for (language, block) in blocks(text) {
        match language {
            "console" => run += console(&block, place.path()),
            "sh" | "text" | "" => {}
            language if language.starts_with("rust") => {}
            _ => file(&block, place.path()),
        }
    }
    assert_eq!(run, commands, "commands of the chapter");
}

/// The language and the text of each block.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(language) if !is_open => found.push((language, String::new())),
            Some(_) => {}
            None if is_open => {
                let block = &mut found.last_mut().expect("a block is open").1;
                block.push_str(line);
                block.push('\n');
                continue;
            }
            None => continue,
        }
        is_open = !is_open;
    }
    found
}

fn file(block: &str, place: &Path) {
    let (first, rest) = block.split_once('\n').expect("a file has lines");
    let name = first.strip_prefix("# ").expect("its first line is its name");
    fs::write(place.join(name), rest).unwrap();
}

fn console(block: &str, place: &Path) -> usize {
    let mut commands: Vec<(&str, String)> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command, String::new())),
            None => {
                let expected = &mut commands.last_mut().expect("a command comes first").1;
                expected.push_str(line);
                expected.push('\n');
            }
        }
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_belljar")).parent().unwrap();
    let mut path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for (command, expected) in &commands {
        if command.contains("--mcp") {
            let Some(servers) = servers_of_others() else { continue };
            path = format!("{path}:{}/py/bin", servers.display());
        }
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(place)
            .env("PATH", &path)
            .env("BELLJAR_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
            .env("BELLJAR_WORKSPACES", place.join(".workspaces"))
            .env("BELLJAR_ARTIFACTS", place.join(".artifacts"))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        // Where limits are weaker, every run says so.
        let said: String = said
            .lines()
            .filter(|line| !line.contains("limits are weaker"))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(said, *expected, "{command}");
    }
    commands.len()
}
