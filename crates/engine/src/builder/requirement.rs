//! Which requirement strings may reach an installer.
//!
//! Configs can come from callers who are not the host's owner, and installers read far more than names: options,
//! `-r` includes, paths, `${VARIABLES}`, source trees whose build scripts run at once. A config's own check comes
//! first; this one holds for every caller, and is stricter about what a key cannot stand for: files of this host, which
//! may change under the same name, and credentials, which would be kept in the manifest.

use std::fmt;

/// Why a requirement is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing in it.
    Empty,
    /// A line break, NUL or other control character.
    ControlCharacter,
    /// A word that begins with a dash.
    Option,
    /// `$` or a backslash, which requirement files expand.
    Expansion,
    /// A comment.
    Comment,
    /// Not a requirement's shape; paths among them.
    Shape,
    /// A URL with a user or a token in it.
    Credential,
    /// A URL that is not fetched over the web.
    Scheme,
    /// It would have to be built, which runs its code on the host.
    Source,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty",
            Self::ControlCharacter => "it holds a line break or another control character",
            Self::Option => "it holds an installer option",
            Self::Expansion => "it holds '$' or '\\', which installers expand",
            Self::Comment => "it holds a comment",
            Self::Shape => {
                "it is not of the form name, name[extra], name==version, url or name @ url; \
                 for local wheels set PIP_FIND_LINKS"
            }
            Self::Credential => "its URL holds a credential; put it into the index settings or a netrc file",
            Self::Scheme => {
                "its URL is neither http(s) nor a git repository over https or ssh; for local wheels set PIP_FIND_LINKS"
            }
            Self::Source => {
                "its URL is not a wheel, and building from source runs its code on the host; \
                 set allow_source_builds = true to permit that"
            }
        })
    }
}

/// Accepts what is safe to write on a line of a requirements file.
pub(super) fn check(requirement: &str, allow_source_builds: bool) -> Result<(), Refusal> {
    let text = requirement.trim();
    if text.is_empty() {
        return Err(Refusal::Empty);
    }
    if text.chars().any(char::is_control) {
        return Err(Refusal::ControlCharacter);
    }
    if text.contains(['$', '\\']) {
        return Err(Refusal::Expansion);
    }
    for word in text.split_whitespace() {
        match word.chars().next() {
            Some('-') => return Err(Refusal::Option),
            Some('#') => return Err(Refusal::Comment),
            _ => {}
        }
    }
    if text.split_once("://").is_some_and(|(scheme, _)| scheme.chars().all(|c| is_name(c) || c == '+')) {
        return check_url(text, allow_source_builds);
    }
    let rest = after_extras(after_name(text)?)?;
    match rest.strip_prefix('@') {
        Some(url) => check_url(url.trim_start(), allow_source_builds),
        None if rest.contains(['/', '@']) => Err(Refusal::Shape),
        None if rest.is_empty() || rest.starts_with(['<', '>', '=', '!', '~', '(', ';']) => Ok(()),
        None => Err(Refusal::Shape),
    }
}

fn after_name(text: &str) -> Result<&str, Refusal> {
    let end = text.find(|c: char| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let whole = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric());
    if whole { Ok(rest.trim_start()) } else { Err(Refusal::Shape) }
}

fn after_extras(rest: &str) -> Result<&str, Refusal> {
    let Some(inside) = rest.strip_prefix('[') else {
        return Ok(rest);
    };
    let (extras, rest) = inside.split_once(']').ok_or(Refusal::Shape)?;
    let plain = extras.chars().all(|c| is_name(c) || c == ',' || c == ' ');
    if plain { Ok(rest.trim_start()) } else { Err(Refusal::Shape) }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

fn check_url(url: &str, allow_source_builds: bool) -> Result<(), Refusal> {
    let url = url.split_whitespace().next().ok_or(Refusal::Shape)?;
    let (scheme, rest) = url.split_once("://").ok_or(Refusal::Scheme)?;
    let (place, _fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (place, _query) = place.split_once('?').unwrap_or((place, ""));
    let (authority, path) = place.split_once('/').unwrap_or((place, ""));
    if authority.rsplit_once('@').is_some_and(|(user, _)| user != "git") {
        return Err(Refusal::Credential);
    }
    let is_wheel = match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => path.ends_with(".whl"),
        "git+https" | "git+ssh" => false,
        _ => return Err(Refusal::Scheme),
    };
    if is_wheel || allow_source_builds { Ok(()) } else { Err(Refusal::Source) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_requirements_are_accepted() {
        for requirement in [
            "numpy",
            " numpy==1.26.4 ",
            "zope.interface>=5,<7",
            "requests[socks, security] ~= 2.31",
            "tomli (>=1.0)",
            "tomli; python_version < '3.11'",
            "typing_extensions != 4.0 ; sys_platform == \"linux\"",
            "six @ https://files.example.org/six-1.16.0-py2.py3-none-any.whl#sha256=8abb",
            "six@https://files.example.org/six-1.16.0-py2.py3-none-any.whl ; python_version > '3'",
        ] {
            assert_eq!(check(requirement, false), Ok(()), "{requirement}");
        }
    }

    #[test]
    fn options_in_any_disguise_are_refused() {
        for (requirement, reason) in [
            ("--index-url=https://evil.example", Refusal::Option),
            ("-r/etc/passwd", Refusal::Option),
            (" -e .", Refusal::Option),
            ("six --global-option=build", Refusal::Option),
            ("six\u{a0}--no-binary=:all:", Refusal::Option),
            ("six\n--index-url https://evil.example", Refusal::ControlCharacter),
            ("six\r--pre", Refusal::ControlCharacter),
            ("six\u{2028}--pre", Refusal::Option),
            ("six \\", Refusal::Expansion),
            ("six==${HOME}", Refusal::Expansion),
            ("six # a comment", Refusal::Comment),
            ("", Refusal::Empty),
            (" \t", Refusal::Empty),
        ] {
            assert_eq!(check(requirement, true), Err(reason), "{requirement:?}");
        }
    }

    #[test]
    fn paths_and_local_urls_are_refused() {
        for (requirement, reason) in [
            ("./six", Refusal::Shape),
            ("/srv/wheels/six.whl", Refusal::Shape),
            ("wheels/six.whl", Refusal::Shape),
            ("six==1/../../src", Refusal::Shape),
            ("~/six", Refusal::Shape),
            ("~/six://x", Refusal::Shape),
            ("file:///srv/six.whl", Refusal::Scheme),
            ("git+file:///srv/six", Refusal::Scheme),
            ("https://token@example.org/six.whl", Refusal::Credential),
            ("six[x", Refusal::Shape),
            ("six[../x]", Refusal::Shape),
            ("six @", Refusal::Shape),
            ("six 1.0", Refusal::Shape),
            ("six @ file:///srv/six.whl", Refusal::Scheme),
            ("six @ git+file:///srv/six", Refusal::Scheme),
            ("six @ ../six", Refusal::Scheme),
            ("six @ ftp://example.org/six.whl", Refusal::Scheme),
            ("six @ https://token@example.org/six.whl", Refusal::Credential),
            ("six @ https://user:word@example.org/six.whl", Refusal::Credential),
        ] {
            assert_eq!(check(requirement, true), Err(reason), "{requirement:?}");
        }
    }

    #[test]
    fn source_by_url_needs_leave_to_build() {
        for requirement in [
            "six @ https://example.org/six-1.0.tar.gz",
            "six @ https://example.org/six-1.0.tar.gz#.whl",
            "six @ https://example.org/six-1.0.zip?x=.whl",
            "six @ git+https://example.org/six@v1",
            "six @ git+ssh://git@example.org/six",
            "https://example.org/six-1.0.tar.gz",
            "git+https://example.org/six",
        ] {
            assert_eq!(check(requirement, false), Err(Refusal::Source), "{requirement}");
            assert_eq!(check(requirement, true), Ok(()), "{requirement}");
        }
    }
}
