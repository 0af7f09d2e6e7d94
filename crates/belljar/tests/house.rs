//! Rules of the house that the compiler cannot check.

use std::path::{Path, PathBuf};

/// The manifests of the crates that must stay small and single-threaded.
const MANIFESTS: [(&str, &str); 2] =
    [("core", include_str!("../../core/Cargo.toml")), ("jail", include_str!("../../jail/Cargo.toml"))];

#[test]
fn the_vocabulary_and_the_jail_do_not_know_tokio() {
    for (name, manifest) in MANIFESTS {
        let forbidden = ["tokio", "async-std", "smol", "futures", "belljar-engine", "belljar-runtime"];
        let found: Vec<_> =
            manifest.lines().filter(|line| forbidden.iter().any(|word| line.starts_with(word))).collect();
        assert_eq!(found, Vec::<&str>::new(), "{name} must not depend on it");
    }
}

/// Every Rust source of the workspace that is not a test, with the part of it that is compiled into
/// a program.
fn sources() -> Vec<(PathBuf, String)> {
    fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).expect("a directory of sources").flatten() {
            match entry.path() {
                path if path.is_dir() => collect(&path, found),
                path if path.extension().is_some_and(|kind| kind == "rs") => found.push(path),
                _ => {}
            }
        }
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate has neighbours");
    let mut all = Vec::new();
    let homes = std::fs::read_dir(crates).expect("the crates").flatten();
    for home in homes.filter(|home| home.file_name() != "testing") {
        collect(&home.path().join("src"), &mut all);
    }
    assert!(all.len() > 100, "{} files", all.len());
    all.into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a source is text");
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
            (path, code)
        })
        .collect()
}

/// Both panic if the machine has no thread left. `std::thread::Builder` returns an error instead.
#[test]
fn no_thread_is_made_in_a_way_that_panics() {
    for (path, code) in sources() {
        if path.iter().any(|part| part == "bench") {
            continue;
        }
        for call in ["spawn_blocking(", "thread::spawn("] {
            assert!(!code.contains(call), "{} calls {call}", path.display());
        }
    }
}

/// Whether a line of code, not a comment, spells out a place in a guest or something inside it.
fn spells_out(line: &str, place: &str) -> bool {
    let is_comment = line.trim_start().starts_with("//");
    let goes_on = |rest: &str| rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    let begins =
        |before: &str| before.ends_with(|last: char| last.is_alphanumeric() || "._-}".contains(last));
    !is_comment
        && line
            .match_indices(place)
            .any(|(at, _)| !goes_on(&line[at + place.len()..]) && !begins(&line[..at]))
}

/// Only `core::layout` knows where things are in a guest. A copy would keep the old path when one
/// moves.
#[test]
fn places_in_guests_are_spelled_out_in_one_file() {
    use belljar_core::layout;
    let files = [layout::HARNESS, layout::TEMPLATE_SETTINGS];
    let places = [
        layout::WORKSPACE,
        layout::TOOLS,
        layout::LAYER,
        layout::PYTHON,
        layout::BELLJAR,
        layout::SUPERVISOR,
        layout::EGRESS,
    ];
    let excepted = |path: &Path, place: &str| {
        path.ends_with("core/src/layout.rs")
            // On a host, interpreters are in a directory that only happens to have the same name.
            || path.ends_with("engine/src/python/search.rs") && place == layout::PYTHON
            // This is the embedded source, which already has the name it gets.
            || path.ends_with("engine/src/guest/python.rs") && place == layout::HARNESS
            // Whole files of tests are compiled into no program.
            || path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("tests"))
    };
    let channel = layout::CHANNEL.to_string();
    let mut copies = Vec::new();
    for (path, code) in sources() {
        for (number, line) in code.lines().enumerate() {
            let spelled = places.into_iter().chain(files).filter(|place| !excepted(&path, place));
            let mut found: Vec<&str> = spelled.filter(|place| spells_out(line, place)).collect();
            if line.contains("Fd") && spells_out(line, &channel) {
                found.push(&channel);
            }
            copies.extend(found.iter().map(|place| format!("{}:{}: {place}", path.display(), number + 1)));
        }
    }
    assert_eq!(copies, Vec::<String>::new(), "take them from core::layout");
}

#[test]
fn a_copy_of_a_place_is_noticed_and_a_word_that_contains_it_is_not() {
    for line in [
        "\"/workspace\"",
        "format!(\"COPY tools /tools\\n\")",
        "\"/tools/{name}\"",
        "path = \"/run/belljar/x\"",
    ] {
        assert!(
            ["/workspace", "/tools", "/run/belljar"].iter().any(|place| spells_out(line, place)),
            "{line}"
        );
    }
    for line in
        ["// in /workspace", "    /// `/tools`", "\"/workspaces\"", "\"{home}/tools\"", "\"src/tools\""]
    {
        assert!(!["/workspace", "/tools"].iter().any(|place| spells_out(line, place)), "{line}");
    }
}

/// A name that is spelled out where it is read is missing from the manual. `core::environment` has
/// all names.
#[test]
fn environment_variables_are_read_by_constants() {
    let is_test =
        |path: &std::path::Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("test"));
    for (path, code) in sources().iter().filter(|(path, _)| !is_test(path)) {
        for call in ["env::var(\"", "env::var_os(\"", "env = \"", "set(\"", "environment.get(\"PATH"] {
            assert!(!code.contains(call), "{} has {call}…: name it in core::environment", path.display());
        }
    }
}
