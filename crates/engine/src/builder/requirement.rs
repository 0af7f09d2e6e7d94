//! Which requirements a layer may have.
//!
//! [`Requirement`] decides what is safe to give to an installer, for configs too. A layer is
//! stricter in one point. It is kept under a key, and a path of this host may hold something else
//! tomorrow under the same key.

use belljar_core::config::{Requirement, RequirementFault};

/// Accepts a requirement that may go into a layer.
pub(super) fn check(text: &str, allow_source_builds: bool) -> Result<(), RequirementFault> {
    match Requirement::parse(text.trim())? {
        Requirement::Package | Requirement::Wheel => Ok(()),
        Requirement::Source if allow_source_builds => Ok(()),
        Requirement::Source => Err(RequirementFault::Source),
        _ => Err(RequirementFault::Local),
    }
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
            ("--index-url=https://evil.example", RequirementFault::Option),
            ("-r/etc/passwd", RequirementFault::Option),
            (" -e .", RequirementFault::Option),
            ("six --global-option=build", RequirementFault::Option),
            ("six\u{a0}--no-binary=:all:", RequirementFault::Option),
            ("six\n--index-url https://evil.example", RequirementFault::ControlCharacter),
            ("six\r--pre", RequirementFault::ControlCharacter),
            ("six\u{2028}--pre", RequirementFault::Option),
            ("six \\", RequirementFault::Expansion),
            ("six==${HOME}", RequirementFault::Expansion),
            ("six # a comment", RequirementFault::Comment),
            ("", RequirementFault::Empty),
            (" \t", RequirementFault::Empty),
        ] {
            assert_eq!(check(requirement, true), Err(reason), "{requirement:?}");
        }
    }

    #[test]
    fn paths_and_local_urls_are_refused() {
        for (requirement, reason) in [
            ("./six", RequirementFault::Local),
            ("/srv/wheels/six.whl", RequirementFault::Local),
            ("wheels/six.whl", RequirementFault::Local),
            ("six==1/../../src", RequirementFault::Local),
            ("~/six", RequirementFault::Local),
            ("~/six://x", RequirementFault::Local),
            ("file:///srv/six.whl", RequirementFault::Local),
            ("git+file:///srv/six", RequirementFault::Local),
            ("https://token@example.org/six.whl", RequirementFault::Credential),
            ("six[x", RequirementFault::Shape),
            ("six[../x]", RequirementFault::Local),
            ("six @", RequirementFault::Shape),
            ("six 1.0", RequirementFault::Shape),
            ("six @ file:///srv/six.whl", RequirementFault::Local),
            ("six @ git+file:///srv/six", RequirementFault::Local),
            ("six @ ../six", RequirementFault::Local),
            ("six @ ftp://example.org/six.whl", RequirementFault::Scheme),
            ("six @ https://token@example.org/six.whl", RequirementFault::Credential),
            ("six @ https://user:word@example.org/six.whl", RequirementFault::Credential),
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
            assert_eq!(check(requirement, false), Err(RequirementFault::Source), "{requirement}");
            assert_eq!(check(requirement, true), Ok(()), "{requirement}");
        }
    }
}
