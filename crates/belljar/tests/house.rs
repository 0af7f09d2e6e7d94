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
