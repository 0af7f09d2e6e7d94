//! Tools, and the sandboxes they belong to.
//!
//! A set holds valid tools only, each by a name of its own. It is what a runtime wraps as its
//! registry, and what every form for models is written from. Tools come in the order of their
//! names, whatever the order they were added in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::needs::file;
use super::{Tool, ToolError, safe_tool_name};
use crate::config::SandboxConfig;

/// The sandbox of tools that name none. Every set has it.
pub const DEFAULT_SANDBOX: &str = "default";

/// Tools, and the sandboxes they belong to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct ToolSet {
    sandboxes: BTreeMap<String, SandboxConfig>,
    tools: BTreeMap<String, Tool>,
}

/// A set as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    sandboxes: Vec<SandboxConfig>,
    #[serde(default)]
    tools: Vec<Tool>,
}

impl From<ToolSet> for Written {
    fn from(set: ToolSet) -> Self {
        Self { sandboxes: set.sandboxes.into_values().collect(), tools: set.tools.into_values().collect() }
    }
}

impl TryFrom<Written> for ToolSet {
    type Error = ToolError;

    fn try_from(written: Written) -> Result<Self, ToolError> {
        let mut set = Self::new();
        written.sandboxes.into_iter().try_for_each(|config| set.set_sandbox(config))?;
        written.tools.into_iter().try_for_each(|tool| set.add(tool))?;
        Ok(set)
    }
}

impl Default for ToolSet {
    fn default() -> Self {
        let sandboxes = [(DEFAULT_SANDBOX.to_owned(), SandboxConfig::new(DEFAULT_SANDBOX))].into();
        Self { sandboxes, tools: BTreeMap::new() }
    }
}

impl ToolSet {
    /// A set without tools. Its only sandbox is the default one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sandbox, or replaces the one of the same name.
    pub fn set_sandbox(&mut self, config: SandboxConfig) -> Result<(), ToolError> {
        config.validate().map_err(|error| ToolError::Config { sandbox: config.name.clone(), error })?;
        self.sandboxes.insert(config.name.clone(), config);
        Ok(())
    }

    /// Adds a tool. Refuses one that breaks a rule, whose name is taken, or whose sandbox is
    /// unknown. The set is as before then.
    pub fn add(&mut self, tool: Tool) -> Result<(), ToolError> {
        tool.validate()?;
        if !self.sandboxes.contains_key(&tool.sandbox) {
            return Err(ToolError::HomelessTool {
                tool: tool.name,
                sandbox: tool.sandbox,
                known: self.known(),
            });
        }
        if let Some(other) = self.tools.get(&tool.name) {
            return Err(ToolError::Duplicate {
                name: tool.name,
                place: tool.place.name(),
                sandbox: tool.sandbox,
                other_place: other.place.name(),
                other_sandbox: other.sandbox.clone(),
            });
        }
        if let Some((other, file_name)) = self.tools.values().find_map(|other| clash(other, &tool)) {
            return Err(ToolError::SourceConflict {
                sandbox: tool.sandbox.clone(),
                file_name: file_name.to_owned(),
                first: other.to_owned(),
                second: tool.name.clone(),
            });
        }
        self.tools.insert(tool.name.clone(), tool);
        Ok(())
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// Every tool, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Every sandbox as it was given, in the order of the names.
    pub fn sandboxes(&self) -> impl Iterator<Item = &SandboxConfig> {
        self.sandboxes.values()
    }

    /// A sandbox as it was given.
    pub fn sandbox(&self, sandbox: &str) -> Result<&SandboxConfig, ToolError> {
        let unknown = || ToolError::UnknownSandbox { sandbox: sandbox.to_owned(), known: self.known() };
        self.sandboxes.get(sandbox).ok_or_else(unknown)
    }

    /// One sandbox's tools alone: those that a script in it can call.
    pub fn of_sandbox(&self, sandbox: &str) -> Result<Self, ToolError> {
        let config = self.sandbox(sandbox)?;
        let mut set = Self::new();
        set.sandboxes.insert(config.name.clone(), config.clone());
        set.tools = self.tools_of(sandbox).map(|tool| (tool.name.clone(), tool.clone())).collect();
        Ok(set)
    }

    /// A name for a stranger's tool that [`add`](Self::add) would take.
    pub fn free_name(&self, server: &str, tool: &str) -> String {
        safe_tool_name(server, tool, |name| self.tools.contains_key(name))
    }

    /// The tools of one sandbox, in the order of the names.
    pub(super) fn tools_of<'a>(&'a self, sandbox: &str) -> impl Iterator<Item = &'a Tool> {
        self.tools.values().filter(move |tool| tool.sandbox == sandbox)
    }

    fn known(&self) -> String {
        let names: Vec<_> = self.sandboxes.keys().map(|name| format!("{name:?}")).collect();
        names.join(", ")
    }
}

/// The file in which two tools of one sandbox differ, with the first tool's name.
fn clash<'a>(one: &'a Tool, other: &'a Tool) -> Option<(&'a str, &'a str)> {
    let ((name, source), (other_name, other_source)) = (file(one)?, file(other)?);
    let clashes = one.sandbox == other.sandbox && name == other_name && source != other_source;
    clashes.then_some((one.name.as_str(), name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tool::tests::{sets, several};

    #[test]
    fn tools_come_in_the_order_of_their_names() {
        let mut set = ToolSet::new();
        for name in ["c", "a", "b"] {
            set.add(Tool::new(name, "")).unwrap();
        }
        assert_eq!(set.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn a_second_tool_of_a_name_is_refused_with_both_named() {
        let mut set = ToolSet::new();
        set.set_sandbox(SandboxConfig::new("maths")).unwrap();
        set.add(Tool::new("add", "").in_guest("a.py", "").with_sandbox("maths")).unwrap();
        assert_eq!(
            set.add(Tool::new("add", "")).unwrap_err().to_string(),
            "tool \"add\" (host tool of sandbox \"default\") has the same name as the guest tool of sandbox \
             \"maths\": a script can call only one of them by that name"
        );
        assert_eq!(set.len(), 1);
    }

    #[test]
    fn an_unknown_sandbox_is_answered_with_the_known_ones() {
        let mut set = ToolSet::new();
        set.set_sandbox(SandboxConfig::new("maths")).unwrap();
        assert_eq!(
            set.add(Tool::new("add", "").with_sandbox("math")).unwrap_err().to_string(),
            "tool \"add\" belongs to sandbox \"math\", which is unknown: there are \"default\", \"maths\""
        );
        let error = set.sandbox_checksum("x").unwrap_err().to_string();
        assert_eq!(error, "sandbox \"x\" is unknown: there are \"default\", \"maths\"");
    }

    #[test]
    fn files_of_one_name_are_the_same_within_a_sandbox() {
        let mut set = ToolSet::new();
        set.set_sandbox(SandboxConfig::new("other")).unwrap();
        set.add(Tool::new("a", "").in_guest("t.py", "1")).unwrap();
        set.add(Tool::new("b", "").in_guest("t.py", "1")).unwrap();
        set.add(Tool::new("c", "").in_guest("t.py", "2").with_sandbox("other")).unwrap();
        let error = set.add(Tool::new("d", "").in_guest("t.py", "2")).unwrap_err().to_string();
        assert!(
            error.starts_with("tools \"a\" and \"d\" of sandbox \"default\" both come from \"t.py\""),
            "{error}"
        );
        assert_eq!(set.guest_sources("default"), Ok([("t.py", "1")].into()));
    }

    #[test]
    fn a_sandbox_has_its_own_tools_alone() {
        let set = several();
        let names = |sandbox| -> Vec<String> {
            set.of_sandbox(sandbox).unwrap().iter().map(|tool| tool.name.clone()).collect()
        };
        assert_eq!(names("default"), ["github_list_issues", "search"]);
        assert_eq!(names("analytics"), ["plot", "total"]);
    }

    #[test]
    fn strangers_get_names_that_are_free() {
        let mut set = ToolSet::new();
        for expected in ["s_a_b", "s_a_b_2"] {
            let name = set.free_name("s", "a-b");
            assert_eq!(name, expected);
            set.add(Tool::new(name, "").on_mcp_server("s", "a-b")).unwrap();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_set_is_read_back_as_it_was(set in sets()) {
            let text = serde_json::to_string(&set).unwrap();
            prop_assert_eq!(serde_json::from_str::<ToolSet>(&text).unwrap(), set);
        }
    }

    #[test]
    fn a_set_that_breaks_a_rule_is_not_read() {
        let text = r#"{"tools":[{"name":"a"},{"name":"a"}]}"#;
        let error = serde_json::from_str::<ToolSet>(text).unwrap_err().to_string();
        assert!(error.contains("has the same name as"), "{error}");
    }
}
