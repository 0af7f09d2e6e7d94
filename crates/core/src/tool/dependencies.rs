//! Whose packages go together.
//!
//! A sandbox has one version of a package. If its config and its tools want one package in the same
//! way, it is installed once. If one of them does not care which version it gets, the others
//! decide. If two want different versions, nobody here can tell which is right, so that is an error
//! with both named.

use std::collections::BTreeSet;

use super::{DependencyConflict, Tool, ToolError};
use crate::config::{Requirement, RequirementFault, SandboxConfig};

/// The packages of a config and its tools, each once and in a stable order.
pub(super) fn merge<'a>(
    config: &SandboxConfig,
    tools: impl Iterator<Item = &'a Tool>,
) -> Result<Vec<String>, ToolError> {
    let mut merged: Vec<Wanted> = Vec::new();
    for text in &config.dependencies {
        include(config, &mut merged, Wanted::new("the sandbox's config".to_owned(), text))?;
    }
    for tool in tools {
        for (index, text) in tool.dependencies.iter().enumerate() {
            check_leave(config, tool, index)?;
            include(config, &mut merged, Wanted::new(format!("tool {:?}", tool.name), text))?;
        }
    }
    Ok(merged.into_iter().map(|wanted| wanted.text).collect())
}

/// A tool has no more leave to build from source than its sandbox.
fn check_leave(config: &SandboxConfig, tool: &Tool, index: usize) -> Result<(), ToolError> {
    let text = &tool.dependencies[index];
    match Requirement::parse(text) {
        Ok(Requirement::Package) => Ok(()),
        Ok(_) if config.allow_source_builds => Ok(()),
        _ => {
            let rule = RequirementFault::Source.to_string();
            Err(ToolError::invalid(&tool.name, format!("dependencies[{index}]"), text, rule))
        }
    }
}

fn include(config: &SandboxConfig, merged: &mut Vec<Wanted>, wanted: Wanted) -> Result<(), ToolError> {
    if let Some(earlier) = merged.iter().find(|earlier| earlier.contradicts(&wanted)) {
        return Err(ToolError::from(Box::new(DependencyConflict {
            sandbox: config.name.clone(),
            package: wanted.package,
            first: earlier.owner.clone(),
            first_requirement: earlier.text.clone(),
            second: wanted.owner,
            second_requirement: wanted.text,
        })));
    }
    if merged.iter().any(|earlier| earlier.covers(&wanted)) {
        return Ok(());
    }
    match merged.iter().position(|earlier| wanted.covers(earlier)) {
        Some(place) => {
            let rest = merged.split_off(place + 1);
            merged.extend(rest.into_iter().filter(|earlier| !wanted.covers(earlier)));
            merged[place] = wanted;
        }
        None => merged.push(wanted),
    }
    Ok(())
}

/// One requirement, taken apart.
struct Wanted {
    /// Who wants it.
    owner: String,
    /// The requirement as it is given to an installer.
    text: String,
    /// The package's name in its normal form (PEP 503), or the whole text of a bare URL.
    package: String,
    /// The extras in their normal form.
    extras: BTreeSet<String>,
    /// The version, URL and hashes, without white space. Empty if any version will do.
    constraint: String,
    /// When it is needed at all, without white space.
    marker: String,
}

impl Wanted {
    fn new(owner: String, text: &str) -> Self {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let (name, rest) = text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()));
        let rest = rest.trim_start();
        let (extras, rest) =
            rest.strip_prefix('[').and_then(|inside| inside.split_once(']')).unwrap_or(("", rest));
        // A URL or a repository without a name in front is only the same as itself.
        let is_named = !name.is_empty() && !rest.starts_with(['+', ':', '/']);
        // Hashes stand behind the marker, and belong to the version.
        let (front, hashes) = rest.split_once("--hash").unwrap_or((rest, ""));
        let (version, marker) = front.split_once(';').unwrap_or((front, ""));
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        Self {
            package: if is_named { normal(name) } else { text.to_owned() },
            extras: extras.split(',').map(normal).filter(|extra| !extra.is_empty()).collect(),
            constraint: plain(version).trim_matches(['(', ')']).to_owned() + &plain(hashes),
            marker: plain(marker).replace('"', "'"),
            text: text.to_owned(),
            owner,
        }
    }

    /// Requirements with different markers are for different interpreters, and never meet.
    fn is_about_the_same(&self, other: &Self) -> bool {
        (&self.package, &self.marker) == (&other.package, &other.marker)
    }

    /// One owner may say two things about a package: an installer knows what they mean together.
    fn contradicts(&self, other: &Self) -> bool {
        let differ = self.constraint != other.constraint;
        let care = !self.constraint.is_empty() && !other.constraint.is_empty();
        differ && care && self.owner != other.owner && self.is_about_the_same(other)
    }

    /// Whether the other one has what it wants if this one has.
    fn covers(&self, other: &Self) -> bool {
        self.is_about_the_same(other)
            && self.extras.is_superset(&other.extras)
            && (other.constraint.is_empty() || self.constraint == other.constraint)
    }
}

/// A package's name as every index knows it (PEP 503).
fn normal(name: &str) -> String {
    let words: Vec<_> = name.trim().split(['-', '_', '.']).filter(|word| !word.is_empty()).collect();
    words.join("-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a config and two tools get together.
    fn merged(config: &[&str], a: &[&str], b: &[&str]) -> Result<Vec<String>, String> {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let config = SandboxConfig { dependencies: texts(config), ..SandboxConfig::default() };
        let tool = |name, dependencies| Tool { dependencies, ..Tool::new(name, "").in_guest("t.py", "") };
        let tools = [tool("a", texts(a)), tool("b", texts(b))];
        merge(&config, tools.iter()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_package_is_there_once_however_it_is_spelled() {
        for (config, a, b, expected) in [
            (vec!["pandas"], vec!["numpy"], vec!["Pandas"], vec!["pandas", "numpy"]),
            (vec![], vec!["pandas>=2,<3"], vec!["pandas >= 2, < 3"], vec!["pandas>=2,<3"]),
            (vec![], vec!["scikit_learn==1"], vec!["scikit-learn (==1)"], vec!["scikit_learn==1"]),
            (vec!["pandas", "six"], vec!["pandas>=2"], vec![], vec!["pandas>=2", "six"]),
            (vec!["pandas>=2"], vec!["pandas"], vec![], vec!["pandas>=2"]),
            (vec!["uvicorn"], vec!["uvicorn[standard]"], vec![], vec!["uvicorn[standard]"]),
            (vec!["a[x]", "a[y]>=1"], vec!["a[X , y]>=1"], vec![], vec!["a[X , y]>=1"]),
            (vec!["a[x]>=1"], vec!["a[y]>=1"], vec![], vec!["a[x]>=1", "a[y]>=1"]),
            (
                vec![],
                vec!["tomli; python_version < '3.11'"],
                vec!["tomli==2"],
                vec!["tomli; python_version < '3.11'", "tomli==2"],
            ),
            (vec!["a>=1", "a<2"], vec!["a"], vec![], vec!["a>=1", "a<2"]),
        ] {
            assert_eq!(merged(&config, &a, &b).unwrap(), expected);
        }
    }

    #[test]
    fn two_versions_of_a_package_are_refused_with_both_named() {
        assert_eq!(
            merged(&[], &["Pandas>=2"], &["pandas==1.5"]).unwrap_err(),
            "sandbox \"default\" cannot have two versions of pandas: tool \"a\" wants \"Pandas>=2\" and tool \
             \"b\" wants \"pandas==1.5\"; make them the same, or give one tool another sandbox"
        );
        let error = merged(&["pandas", "six==1"], &[], &["six[x]==2"]).unwrap_err();
        assert!(error.contains("six: the sandbox's config wants \"six==1\" and tool \"b\""), "{error}");
        let hash = |digit: &str| format!("six==1 --hash=sha256:{}", digit.repeat(64));
        assert!(merged(&[&hash("a")], &[&hash("b")], &[]).is_err());
        // Whoever decided about the version is named, not who came first.
        let error = merged(&["six"], &["six==1"], &["six==2"]).unwrap_err();
        assert!(error.contains("tool \"a\" wants \"six==1\" and tool \"b\" wants \"six==2\""), "{error}");
    }

    #[test]
    fn a_tool_builds_from_source_only_where_its_sandbox_may() {
        let url = "six @ https://example.org/six.tar.gz";
        let error = merged(&[], &["numpy", url], &[]).unwrap_err();
        assert!(error.starts_with("tool \"a\": dependencies[1] = "), "{error}");
        let config = SandboxConfig { allow_source_builds: true, ..SandboxConfig::default() };
        let tool = Tool::new("a", "").in_guest("t.py", "").with_dependency(url).with_dependency(url);
        assert_eq!(merge(&config, [&tool].into_iter()).unwrap(), [url]);
    }
}
