//! Runs the examples of the chapter about workspaces, as its readers would.

use std::process::Command;

use crate::world::World;

const CHAPTER: &str = include_str!("../../../../docs/guide/server-workspaces.md");

/// The commands of the chapter, and what each prints.
fn commands() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut is_console = false;
    for line in CHAPTER.lines() {
        match (line.strip_prefix("```"), line.strip_prefix("$ ")) {
            (Some(language), _) => is_console = language == "console",
            (None, Some(command)) if is_console => found.push((command.to_owned(), String::new())),
            (None, None) if is_console => {
                let (_, printed) = found.last_mut().expect("a command comes before what it prints");
                printed.push_str(line);
                printed.push('\n');
            }
            _ => {}
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chapter_about_workspaces_tells_the_truth() {
    let Some(world) = World::new().await else { return };
    for (command, expected) in commands() {
        let mut shell = Command::new("bash");
        shell.args(["-c", &command]).env("URL", &world.url);
        shell.env("AUTH", format!("Authorization: Bearer {}", world.admin));
        let output = tokio::task::block_in_place(|| shell.output()).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{command}: {output:?}");
    }
    assert_eq!(commands().len(), 14, "commands of the chapter");
    world.stop().await;
}
