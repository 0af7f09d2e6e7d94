//! Which tools there are, and what they take. Models read this.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// The tools by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolName {
    RunCode,
    RunStep,
    CloseSession,
    RunProgram,
    ReadFile,
    WriteFile,
    ListFiles,
    SaveArtifact,
}

impl ToolName {
    pub(crate) const ALL: [Self; 8] = [
        Self::RunCode,
        Self::RunStep,
        Self::CloseSession,
        Self::RunProgram,
        Self::ReadFile,
        Self::WriteFile,
        Self::ListFiles,
        Self::SaveArtifact,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RunCode => "run_code",
            Self::RunStep => "run_step",
            Self::CloseSession => "close_session",
            Self::RunProgram => "run_program",
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::ListFiles => "list_files",
            Self::SaveArtifact => "save_artifact",
        }
    }

    /// The tool of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tool as clients learn of it.
    pub(super) fn described(self) -> Tool {
        let (title, description) = self.words();
        let (properties, required) = self.parameters();
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        let schema = match schema {
            Value::Object(schema) => schema,
            _ => JsonObject::new(),
        };
        let reads = matches!(self, Self::ReadFile | Self::ListFiles);
        // Nothing outside of a sandbox is changed, and what is kept is only added to.
        let destroys = matches!(self, Self::WriteFile | Self::RunProgram | Self::CloseSession);
        let hints = ToolAnnotations::with_title(title).read_only(reads).open_world(false);
        let hints = if reads { hints } else { hints.destructive(destroys) };
        Tool::new(self.name(), description, Arc::new(schema)).with_title(title).with_annotations(hints)
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::RunCode => (
                "Run Python code",
                "Runs Python in a fresh sandbox that is gone afterwards. Answers with what the code printed, \
                 the value of its last line, pictures that it showed, and the error with its line if it \
                 failed. `display(x)` shows a table, a figure, or anything with a rich form; \
                 `emit_intermediate(label, data)` tells of progress. Variables do not stay: for that use \
                 run_step.",
            ),
            Self::RunStep => (
                "Run a step in a session",
                "Runs Python in a session that keeps variables, imports and files between steps. Without \
                 `session` a new one is opened, and the answer names it: give that to the next steps.",
            ),
            Self::CloseSession => (
                "Close a session",
                "Ends a session of run_step, and frees what it holds. Its variables and files are gone.",
            ),
            Self::RunProgram => (
                "Run a program",
                "Runs a command, such as [\"ls\", \"-l\"] or [\"sh\", \"-c\", \"…\"], in a sandbox with a \
                 workspace: a directory that stays from one call to the next. Answers with what it printed \
                 and its exit code.",
            ),
            Self::ReadFile => (
                "Read a file",
                "Reads a file of a workspace or of a session. Pictures come as pictures, text as text.",
            ),
            Self::WriteFile => (
                "Write a file",
                "Writes a file into a workspace or a session, over one that is there. Give `text`, or \
                 `base64` for other bytes.",
            ),
            Self::ListFiles => ("List files", "Lists the files of a workspace or of a session."),
            Self::SaveArtifact => (
                "Save an artifact",
                "Keeps a file for good, as a new version under a name. It can be read as a resource later. \
                 Give `path` for a file of a workspace or of a session, or else `text` or `base64`.",
            ),
        }
    }

    fn parameters(self) -> (Value, &'static [&'static str]) {
        let text = |description: &str| json!({"type": "string", "description": description});
        let words = |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
        let code = text("Python source. The value of its last line is shown");
        let timeout = json!({
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "How long it may take, in seconds",
        });
        let session = text("A session, as run_step named it");
        let workspace = text("The name of a workspace; without one, and without `session`, it is `default`");
        let base64 = text("Bytes in base64, instead of `text`");
        match self {
            Self::RunCode => {
                let content = json!({"anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "properties": {"base64": {"type": "string"}},
                        "required": ["base64"],
                        "additionalProperties": false,
                    },
                ]});
                let files = json!({
                    "type": "object",
                    "additionalProperties": content,
                    "description": "Files that are there before it starts: text, or {\"base64\": …}, by path",
                });
                let collect = words("Files that come back, as patterns: [\"*.csv\", \"out/**\"]");
                let sandbox = text("The sandbox to use, if the server has several");
                let all = json!({
                    "code": code, "files": files, "timeout": timeout, "collect": collect, "sandbox": sandbox,
                });
                (all, &["code"])
            }
            Self::RunStep => {
                let session = text("The session to go on with. Without one a new one is opened");
                (json!({"code": code, "session": session, "timeout": timeout}), &["code"])
            }
            Self::CloseSession => (json!({"session": session}), &["session"]),
            Self::RunProgram => {
                let command = words("The program and its arguments");
                let workspace = text("The name of the workspace it runs in; without one it is `default`");
                let stdin = text("What it reads");
                let all = json!({
                    "command": command, "workspace": workspace, "stdin": stdin, "timeout": timeout,
                });
                (all, &["command"])
            }
            Self::ReadFile => {
                let path = text("Its path");
                (json!({"path": path, "session": session, "workspace": workspace}), &["path"])
            }
            Self::WriteFile => {
                let (path, content) = (text("Where to"), text("What is to be in it"));
                let all = json!({
                    "path": path, "text": content, "base64": base64,
                    "session": session, "workspace": workspace,
                });
                (all, &["path"])
            }
            Self::ListFiles => (json!({"session": session, "workspace": workspace}), &[]),
            Self::SaveArtifact => {
                let name = text("What to call it, such as chart.png");
                let path = text("The file to keep, in a workspace or a session");
                let content = text("What is to be in it, instead of `path`");
                let mime = text("Its media type; without one, the name and the content tell");
                let all = json!({
                    "name": name, "path": path, "text": content, "base64": base64, "mime_type": mime,
                    "session": session, "workspace": workspace,
                });
                (all, &["name"])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_can_be_found_and_says_what_it_takes() {
        for tool in ToolName::ALL {
            assert_eq!(ToolName::named(tool.name()), Some(tool));
            let described = tool.described();
            let schema = described.schema_as_json_value();
            let properties = schema["properties"].as_object().unwrap();
            for required in schema["required"].as_array().unwrap() {
                assert!(properties.contains_key(required.as_str().unwrap()), "{}", tool.name());
            }
            assert!(properties.values().all(|it| it["description"].is_string()), "{}", tool.name());
        }
        assert_eq!(ToolName::named("run_command"), None);
    }
}
