//! Rules of the house that the compiler does not know.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

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

/// What each crate compiles into its users, without tests: path and text.
fn sources() -> Vec<(std::path::PathBuf, String)> {
    fn look(directory: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => look(&path, found),
                path if path.extension().is_some_and(|kind| kind == "rs") => found.push(path),
                _ => {}
            }
        }
    }
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    for home in std::fs::read_dir(crates).unwrap().flatten().filter(|home| home.path().join("src").is_dir()) {
        look(&home.path().join("src"), &mut all);
    }
    assert!(all.len() > 100, "{} files", all.len());
    let code = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap().to_owned();
        (path, code)
    };
    all.into_iter().map(code).collect()
}

/// Both panic where the machine has no thread to give; `std::thread::Builder` says so instead.
#[test]
fn no_thread_is_made_in_a_way_that_panics() {
    for (path, code) in sources().iter().filter(|(path, _)| !path.iter().any(|part| part == "bench")) {
        for call in ["spawn_blocking(", "thread::spawn("] {
            assert!(!code.contains(call), "{} calls {call}", path.display());
        }
    }
}

/// A name that is spelled where it is read is in no manual. `core::environment` has them all.
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
