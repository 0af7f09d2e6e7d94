//! Rules of the house that the compiler does not know.

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

/// Both panic where the machine has no thread to give; `std::thread::Builder` says so instead.
#[test]
fn no_thread_is_made_in_a_way_that_panics() {
    fn sources(directory: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => sources(&path, found),
                path if path.extension().is_some_and(|kind| kind == "rs") => found.push(path),
                _ => {}
            }
        }
    }
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    for home in std::fs::read_dir(crates).unwrap().flatten() {
        sources(&home.path().join("src"), &mut all);
    }
    assert!(all.len() > 100, "{} files", all.len());
    for path in all.iter().filter(|path| !path.iter().any(|part| part == "bench")) {
        let text = std::fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for call in ["spawn_blocking(", "thread::spawn("] {
            assert!(!code.contains(call), "{} calls {call}", path.display());
        }
    }
}
