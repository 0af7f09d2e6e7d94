//! What an installer may be told.
//!
//! A dependency reaches an installer as one argument or one line of a file. It must not be able to become an option, a
//! second line or, unless the config allows source builds, a place to fetch and run a build script from.

/// Suffixes that make an installer take a bare word for a file beside it.
const ARCHIVES: [&str; 7] = [".whl", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"];

/// The rule that a dependency breaks, if it breaks one.
pub(super) fn check(requirement: &str, allow_source_builds: bool) -> Result<(), &'static str> {
    if requirement.trim().is_empty() {
        return Err("must not be empty");
    }
    if requirement.trim() != requirement {
        return Err("must not begin or end with white space");
    }
    if requirement.chars().any(char::is_control) {
        return Err("must not hold a NUL, a line break or another control character");
    }
    if requirement.split_whitespace().any(|word| word.starts_with('-')) {
        return Err(
            "must not hold a word that begins with `-`, because the installer would take it for an option",
        );
    }
    if allow_source_builds {
        return Ok(());
    }
    if is_reference(requirement) {
        return Err("must be a package name with an optional version, not a URL, a repository or a path, \
                    unless allow_source_builds is true, because building from source runs the package's code");
    }
    if !requirement.starts_with(|first: char| first.is_ascii_alphanumeric())
        || !requirement.chars().all(is_plain)
    {
        return Err(
            "must be a package name with optional extras, version and marker, such as \"pandas>=2,<3\"",
        );
    }
    Ok(())
}

/// Whether an installer would fetch it from somewhere other than its index.
fn is_reference(requirement: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name = requirement.split(|c| !is_name(c)).next().unwrap_or_default().to_ascii_lowercase();
    requirement.contains(['@', '/', '\\', ':'])
        || requirement.starts_with('.')
        || requirement.contains("git+")
        || ARCHIVES.iter().any(|suffix| name.ends_with(suffix))
}

/// The characters of names, extras, version specifiers and environment markers (PEP 508). `$` is not one: installers
/// expand variables in requirement files.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || " ._-+*!~=<>,;()[]'\"".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_with_extras_versions_and_markers_are_taken() {
        for requirement in [
            "pandas",
            "scikit-learn==1.5.0",
            "numpy >= 1.26, < 3",
            "uvicorn[standard]~=0.30",
            "torch==2.3.0+cpu",
            "tomli; python_version < '3.11'",
            "zope.interface",
        ] {
            assert_eq!(check(requirement, false), Ok(()), "{requirement}");
        }
    }

    #[test]
    fn a_dependency_cannot_become_an_option_or_a_second_line() {
        for allow_source_builds in [false, true] {
            for (requirement, rule) in [
                ("", "must not be empty"),
                (" ", "must not be empty"),
                (" -r x", "white space"),
                ("-r/etc/passwd", "begins with `-`"),
                ("--index-url=http://evil", "begins with `-`"),
                ("pandas --config-settings=x", "begins with `-`"),
                ("pandas\n--index-url=http://evil", "line break"),
                ("pandas\0", "NUL"),
            ] {
                let error = check(requirement, allow_source_builds).unwrap_err();
                assert!(error.contains(rule), "{requirement:?}: {error}");
            }
        }
    }

    #[test]
    fn what_may_build_from_source_needs_leave() {
        for requirement in [
            "evil @ https://evil.com/evil.tar.gz",
            "git+https://github.com/a/b",
            "https://evil.com/x.whl",
            "file:///tmp/x",
            "./local",
            "/abs/path",
            "..",
            "evil.tar.gz",
            "evil-1.0-py3-none-any.whl",
            "evil.ZIP[extra]",
        ] {
            let error = check(requirement, false).unwrap_err();
            assert!(error.contains("allow_source_builds"), "{requirement}: {error}");
            assert_eq!(check(requirement, true), Ok(()), "{requirement}");
        }
    }

    #[test]
    fn what_no_index_knows_is_refused() {
        for requirement in ["${HOME}", "a#b", "naïve", "=1.0", "a|b", "a`b`"] {
            let error = check(requirement, false).unwrap_err();
            assert!(error.contains("must be a package name with optional extras"), "{requirement}: {error}");
        }
    }
}
