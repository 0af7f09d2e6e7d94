//! Which requirements are safe to give to an installer. This is the only place that decides it.
//!
//! A dependency reaches an installer as one line of a file. Installers read far more there than
//! names: options, includes, paths, `${VARIABLES}`, source trees whose build scripts run at once. A
//! requirement must not be able to become any of these by accident. The one option that may follow
//! a requirement is `--hash`, which only makes an installer stricter.
//!
//! ```text
//!  text ──► Requirement::parse ──► Package | Wheel | Source | Local, or the rule it breaks
//!             config: anything but a Package needs allow_source_builds
//!             builder: no Local, and Source needs allow_source_builds
//! ```

use std::fmt;

/// What an installer takes a requirement for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requirement {
    /// A name with optional extras, version and marker. It comes from an index.
    Package,
    /// A wheel at a URL.
    Wheel,
    /// An archive or a repository at a URL. Building it runs its code.
    Source,
    /// A file or a directory on the machine that installs.
    Local,
}

/// The rule that a requirement breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequirementFault {
    /// It is empty.
    Empty,
    /// It has white space around it.
    Edges,
    /// It has a line break, NUL or other control character.
    ControlCharacter,
    /// It has a word that begins with a dash.
    Option,
    /// It has a word that begins with `#`.
    Comment,
    /// It has a `$` or a backslash.
    Expansion,
    /// It does not have the form of a requirement.
    Shape,
    /// It is a URL with a user or a token in it.
    Credential,
    /// It is a URL that is not fetched over the web.
    Scheme,
    /// It may have to be built from source, which the config does not allow.
    Source,
    /// It is a path. Only an index or a URL can be used here.
    Local,
}

impl fmt::Display for RequirementFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "must not be empty",
            Self::Edges => "must not begin or end with white space",
            Self::ControlCharacter => "must not hold a NUL, a line break or another control character",
            Self::Option => {
                "must not hold a word that begins with `-`, because the installer would take it for an option"
            }
            Self::Comment => {
                "must not hold a word that begins with `#`, because the installer would take it for a comment"
            }
            Self::Expansion => {
                "must be a package name with optional extras, version and marker, without `$` and `\\`, which \
                 installers expand"
            }
            Self::Shape => {
                "must be a package name with optional extras, version and marker, such as \"pandas>=2,<3\""
            }
            Self::Credential => {
                "must not hold a credential in its URL: put it into the index settings or a netrc file"
            }
            Self::Scheme => "must be fetched over http or https, or from a git repository over https or ssh",
            Self::Source => {
                "must be a package name with an optional version, not a URL, a repository or a path, unless \
                 allow_source_builds is true, because building from source runs the package's code"
            }
            Self::Local => {
                "must not be a path, because what is there may change: for local wheels set PIP_FIND_LINKS"
            }
        })
    }
}

/// An installer takes a bare word with one of these suffixes for a file in the current directory.
const ARCHIVES: [&str; 7] = [".whl", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"];

/// Returns the rule that a config's dependency breaks, if any.
pub(super) fn check(text: &str, allow_source_builds: bool) -> Result<(), RequirementFault> {
    match Requirement::parse(text)? {
        Requirement::Package => Ok(()),
        _ if allow_source_builds => Ok(()),
        _ => Err(RequirementFault::Source),
    }
}

impl Requirement {
    /// Reads a requirement that is safe to write on a line of a requirements file.
    pub fn parse(text: &str) -> Result<Self, RequirementFault> {
        if text.trim().is_empty() {
            return Err(RequirementFault::Empty);
        }
        if text.trim() != text {
            return Err(RequirementFault::Edges);
        }
        if text.chars().any(char::is_control) {
            return Err(RequirementFault::ControlCharacter);
        }
        let text = without_hashes(text);
        if text.contains(['$', '\\']) {
            return Err(RequirementFault::Expansion);
        }
        for word in text.split_whitespace() {
            match word.chars().next() {
                Some('-') => return Err(RequirementFault::Option),
                Some('#') => return Err(RequirementFault::Comment),
                _ => {}
            }
        }
        if text.split_once("://").is_some_and(|(scheme, _)| scheme.chars().all(|c| is_name(c) || c == '+')) {
            return Self::of_url(text);
        }
        if let Some((named, url)) = text.split_once('@')
            && after_name(named).and_then(after_extras) == Some("")
        {
            return Self::of_url(url);
        }
        if is_path(text) {
            return Ok(Self::Local);
        }
        let rest = after_name(text).and_then(after_extras).ok_or(RequirementFault::Shape)?;
        let is_specifier = rest.is_empty() || rest.starts_with(['<', '>', '=', '!', '~', '(', ';']);
        if is_specifier && rest.chars().all(is_plain) {
            Ok(Self::Package)
        } else {
            Err(RequirementFault::Shape)
        }
    }

    /// Reads a URL, which a marker may follow.
    fn of_url(text: &str) -> Result<Self, RequirementFault> {
        let url = text.split_whitespace().next().ok_or(RequirementFault::Shape)?;
        let Some((scheme, rest)) = url.split_once("://") else { return Ok(Self::Local) };
        let (place, _fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let (place, _query) = place.split_once('?').unwrap_or((place, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        if authority.rsplit_once('@').is_some_and(|(user, _)| user != "git") {
            return Err(RequirementFault::Credential);
        }
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" if path.ends_with(".whl") => Ok(Self::Wheel),
            "http" | "https" | "git+https" | "git+ssh" => Ok(Self::Source),
            "file" | "git+file" => Ok(Self::Local),
            _ => Err(RequirementFault::Scheme),
        }
    }
}

/// The text without the hashes that may follow it: `--hash=sha256:…`, as installers read it. With
/// one of them, installers want one for every package.
fn without_hashes(mut text: &str) -> &str {
    while let Some((front, last)) = text.rsplit_once(' ')
        && is_hash(last)
    {
        text = front.trim_end_matches(' ');
    }
    text
}

fn is_hash(word: &str) -> bool {
    let Some((kind, digits)) = word.strip_prefix("--hash=").and_then(|hash| hash.split_once(':')) else {
        return false;
    };
    let length = match kind {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The text after the name. `None` if there is no name.
fn after_name(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let is_whole = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric());
    is_whole.then(|| rest.trim_start())
}

fn after_extras(rest: &str) -> Option<&str> {
    let Some(inside) = rest.strip_prefix('[') else { return Some(rest) };
    let (extras, rest) = inside.split_once(']')?;
    extras.chars().all(|c| is_name(c) || c == ',' || c == ' ').then(|| rest.trim_start())
}

/// Whether an installer would look for a file.
fn is_path(text: &str) -> bool {
    let name = text.split(|c| !is_name(c)).next().unwrap_or_default().to_ascii_lowercase();
    text.contains('/') || text.starts_with('.') || ARCHIVES.iter().any(|suffix| name.ends_with(suffix))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// The characters of version specifiers and environment markers (PEP 508).
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
                let error = check(requirement, allow_source_builds).unwrap_err().to_string();
                assert!(error.contains(rule), "{requirement:?}: {error}");
            }
        }
    }

    #[test]
    fn hashes_may_follow_a_package_and_nothing_may_hide_behind_them() {
        let hash = format!("--hash=sha256:{}", "a1".repeat(32));
        let long = format!("--hash=sha512:{}", "A1".repeat(64));
        for text in [format!("six==1.0 {hash}"), format!("six==1.0; python_version > '3'  {long} {hash}")] {
            assert_eq!(Requirement::parse(&text), Ok(Requirement::Package), "{text}");
        }
        for text in [
            hash.clone(),
            format!("{hash} six"),
            format!("six {hash} --pre"),
            format!("six --pre {hash}"),
            format!("six {hash}0"),
            format!("six --hash={}", "a1".repeat(32)),
            "six --hash=md5:d41d8cd98f00b204e9800998ecf8427e".to_owned(),
            format!("six\u{a0}{hash}"),
        ] {
            assert_eq!(Requirement::parse(&text), Err(RequirementFault::Option), "{text}");
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
            let error = check(requirement, false).unwrap_err().to_string();
            assert!(error.contains("allow_source_builds"), "{requirement}: {error}");
            assert_eq!(check(requirement, true), Ok(()), "{requirement}");
        }
    }

    #[test]
    fn what_no_index_knows_is_refused() {
        for requirement in ["${HOME}", "a#b", "naïve", "=1.0", "a|b", "a`b`"] {
            let error = check(requirement, false).unwrap_err().to_string();
            assert!(error.contains("must be a package name with optional extras"), "{requirement}: {error}");
        }
    }

    #[test]
    fn each_kind_is_told_apart() {
        for (text, kind) in [
            ("numpy", Requirement::Package),
            ("requests[socks, security] ~= 2.31", Requirement::Package),
            ("tomli (>=1.0)", Requirement::Package),
            ("six @ https://example.org/six-1-py3-none-any.whl#sha256=8abb", Requirement::Wheel),
            ("six@https://example.org/six-1-py3-none-any.whl ; python_version > '3'", Requirement::Wheel),
            ("six @ https://example.org/six-1.0.tar.gz#.whl", Requirement::Source),
            ("six @ https://example.org/six-1.0.zip?x=.whl", Requirement::Source),
            ("six @ git+ssh://git@example.org/six", Requirement::Source),
            ("git+https://example.org/six@v1", Requirement::Source),
            ("~/six", Requirement::Local),
            ("~/six://x", Requirement::Local),
            ("six==1/../../src", Requirement::Local),
            ("six[../x]", Requirement::Local),
            ("six @ ../six", Requirement::Local),
            ("six @ file:///srv/six.whl", Requirement::Local),
            ("git+file:///srv/six", Requirement::Local),
        ] {
            assert_eq!(Requirement::parse(text), Ok(kind), "{text}");
        }
    }

    #[test]
    fn what_no_installer_is_told_breaks_a_rule_of_its_own() {
        for (text, fault) in [
            ("six\u{a0}--no-binary=:all:", RequirementFault::Option),
            ("six\u{2028}--pre", RequirementFault::Option),
            ("six\r--pre", RequirementFault::ControlCharacter),
            ("six \\", RequirementFault::Expansion),
            ("six==${HOME}", RequirementFault::Expansion),
            ("six # a comment", RequirementFault::Comment),
            ("six[x", RequirementFault::Shape),
            ("six @", RequirementFault::Shape),
            ("six 1.0", RequirementFault::Shape),
            ("six==1|2", RequirementFault::Shape),
            ("six @ ftp://example.org/six.whl", RequirementFault::Scheme),
            ("https://token@example.org/six.whl", RequirementFault::Credential),
            ("six @ https://user:word@example.org/six.whl", RequirementFault::Credential),
        ] {
            assert_eq!(Requirement::parse(text), Err(fault), "{text:?}");
            assert_eq!(check(text, true), Err(fault), "{text:?}");
        }
    }
}
