//! Frames the host sends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::ExecutionMode;
use crate::tool::ToolBytes;
use crate::{ExecutionId, Json, Secret};

/// What the host can ask of a guest, by the frame's `type`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum HostFrame<'a> {
    /// Run one script.
    Execute(Execute<'a>),
    /// Become a program. Nothing more is asked of this guest.
    Program(StartProgram<'a>),
    /// The terminal of the program has another size.
    Resize(TerminalSize),
    /// The SIGINT that comes next is for one script and no other.
    Interrupt {
        /// The seal of that script's `execute`.
        seal: &'a str,
    },
    /// Answer a question about the session, between two steps. Nothing runs.
    Ask(Ask<'a>),
    /// The answer to a `tool_call`.
    ToolResult {
        /// The number of the call.
        call_id: u64,
        /// Whether the tool did what it was asked for.
        success: bool,
        /// What it found.
        data: &'a Json,
        /// What it has to say about that, for the script's author.
        message: &'a str,
    },
}

/// Asks the guest about its session. The guest runs no code of the session for it.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// The answer must carry it.
    pub seal: &'a str,
    /// The question.
    pub question: Question<'a>,
    /// Seconds that the guest may look for an answer. What it has found by then is none.
    pub timeout: f64,
}

/// What the host can ask about a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question<'a> {
    /// How can this text go on? It is a line of Python up to the cursor.
    Completions(&'a str),
    /// Which variables are there?
    Variables,
}

/// Asks the guest to run one script.
#[derive(Debug, Clone)]
pub struct Execute<'a> {
    /// The execution's id, shown to the script's author.
    pub execution_id: &'a ExecutionId,
    /// Every frame of this execution must carry it.
    pub seal: &'a str,
    /// The source of the script.
    pub script: &'a str,
    /// Whether the script gets fresh globals or the session's.
    pub mode: ExecutionMode,
    /// The script's file name, if it has one.
    pub name: Option<&'a str>,
    /// What is in `sys.argv` after the script's name.
    pub args: &'a [String],
    /// Variables for this script.
    pub env: &'a BTreeMap<String, String>,
    /// Whether there is something to read from stdin. The guest asks for it with a `stdin` frame
    /// before the script starts, and then gets a descriptor over the channel.
    pub has_stdin: bool,
    /// Seconds until the guest's own alarm. The alarm is a courtesy: the host enforces the limit.
    pub timeout: f64,
    /// The limit on all output together. The guest refuses larger payloads where they are made.
    pub max_output_bytes: u64,
    /// Variables that must be in the environment.
    pub required_secrets: &'a [String],
    /// Variables to put there first, with their values.
    pub secrets: &'a BTreeMap<String, Secret>,
}

/// Asks the guest to become a program.
#[derive(Debug, Clone)]
pub struct StartProgram<'a> {
    /// Every frame of this execution must carry it.
    pub seal: &'a str,
    /// The program and its arguments.
    pub argv: &'a [String],
    /// Its variables, besides those the guest has.
    pub env: &'a BTreeMap<String, String>,
    /// Whether it gets only these, and the least that programs need.
    pub is_clean: bool,
    /// Where it starts, below the workspace. Made if it is not there.
    pub directory: &'a str,
    /// Directories below the workspace that are made first, by the variables that name them to the
    /// program. The empty path is the workspace itself.
    pub places: &'a BTreeMap<String, String>,
    /// Whether there is something to read from stdin, as in `execute`.
    pub has_stdin: bool,
    /// Whether it has a terminal, and the size of that.
    pub terminal: Option<TerminalSize>,
    /// The most bytes that a file it writes may have.
    pub largest_file: Option<u64>,
    /// Variables with values that are to be kept secret.
    pub secrets: &'a BTreeMap<String, Secret>,
}

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

impl Default for TerminalSize {
    /// What a terminal has had since there were any.
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

impl HostFrame<'_> {
    /// The line to write, newline included.
    pub fn to_line(&self) -> Vec<u8> {
        let exposed = match self {
            Self::Execute(execute) => Exposed::Execute {
                execution_id: execute.execution_id.as_str(),
                seal: execute.seal,
                script: execute.script,
                mode: execute.mode,
                name: execute.name,
                args: Some(execute.args).filter(|args| !args.is_empty()),
                env: Some(execute.env).filter(|env| !env.is_empty()),
                has_stdin: execute.has_stdin,
                timeout: execute.timeout,
                max_output_bytes: execute.max_output_bytes,
                required_secrets: execute.required_secrets,
                secrets: exposed(execute.secrets),
            },
            Self::Program(start) => Exposed::Program {
                seal: start.seal,
                argv: start.argv,
                env: start.env,
                is_clean: start.is_clean,
                directory: start.directory,
                places: start.places,
                has_stdin: start.has_stdin,
                terminal: start.terminal,
                largest_file: start.largest_file,
                secrets: exposed(start.secrets),
            },
            Self::Resize(size) => Exposed::Resize { size: *size },
            Self::Interrupt { seal } => Exposed::Interrupt { seal },
            Self::Ask(Ask { seal, question, timeout }) => {
                let (about, text) = match question {
                    Question::Completions(text) => (About::Completions, Some(*text)),
                    Question::Variables => (About::Variables, None),
                };
                Exposed::Ask { seal, about, text, timeout: *timeout }
            }
            Self::ToolResult { call_id, success, data, message } => Exposed::ToolResult {
                call_id: *call_id,
                success: *success,
                data,
                message,
                has_bytes: ToolBytes::may_be_in(data.as_str()),
            },
        };
        let mut line = serde_json::to_vec(&exposed).expect("strings and finite numbers always serialise");
        line.push(b'\n');
        line
    }
}

fn exposed(secrets: &BTreeMap<String, Secret>) -> BTreeMap<&str, &str> {
    secrets.iter().map(|(name, value)| (name.as_str(), value.expose())).collect()
}

/// A frame as it is on the wire. It is private, because only here secrets are in clear text.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "HostFrame", description = "One line from the host."))]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Exposed<'a> {
    /// Run one script.
    Execute {
        /// The execution's id, shown to the script's author.
        execution_id: &'a str,
        /// Every frame of this execution must carry it: 128 random bits in hexadecimal.
        seal: &'a str,
        /// The source of the script.
        script: &'a str,
        /// Whether the script must call `emit_result`, is a step of a session, or is a program.
        mode: ExecutionMode,
        /// The script's file name, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        /// What is in `sys.argv` after the script's name.
        #[serde(skip_serializing_if = "Option::is_none")]
        args: Option<&'a [String]>,
        /// Variables for this script.
        #[serde(skip_serializing_if = "Option::is_none")]
        env: Option<&'a BTreeMap<String, String>>,
        /// Whether there is something to read from stdin. The guest asks for it with a `stdin`
        /// frame before the script starts, and then gets a descriptor over the channel.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        has_stdin: bool,
        /// Seconds until the guest's own alarm. The alarm is a courtesy: the host enforces the
        /// limit.
        timeout: f64,
        /// The limit on all output together. The guest refuses larger payloads where they are made.
        max_output_bytes: u64,
        /// Variables that must be in the environment.
        required_secrets: &'a [String],
        /// Variables to put there first, with their values.
        secrets: BTreeMap<&'a str, &'a str>,
    },
    /// Become a program. Nothing more is asked of this guest. Its end is the program's: a guest
    /// that cannot start it says why in an `error` frame.
    Program {
        /// Every frame of this execution must carry it: 128 random bits in hexadecimal.
        seal: &'a str,
        /// The program and its arguments. One without a slash is looked for in its own `PATH`.
        argv: &'a [String],
        /// Its variables, besides those the guest has.
        env: &'a BTreeMap<String, String>,
        /// Whether it gets only these, and the least that programs need.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_clean: bool,
        /// Where it starts, below the workspace. Made if it is not there.
        directory: &'a str,
        /// Directories below the workspace that are made first, by the variables that name them to
        /// the program. The empty path is the workspace itself.
        places: &'a BTreeMap<String, String>,
        /// Whether there is something to read from stdin, as in `execute`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        has_stdin: bool,
        /// Whether it has a terminal, and the size of that.
        #[serde(skip_serializing_if = "Option::is_none")]
        terminal: Option<TerminalSize>,
        /// The most bytes that a file it writes may have.
        #[serde(skip_serializing_if = "Option::is_none")]
        largest_file: Option<u64>,
        /// Variables to put there first, with their values.
        secrets: BTreeMap<&'a str, &'a str>,
    },
    /// The terminal of the program has another size.
    Resize {
        /// The size.
        #[serde(flatten)]
        size: TerminalSize,
    },
    /// The SIGINT that comes next is for one script and no other. If it comes before that script
    /// begins, it is kept for it. If it comes after that script has ended, it is forgotten.
    Interrupt {
        /// The seal of that script's `execute`.
        seal: &'a str,
    },
    /// Answer a question about the session, between two steps. Nothing runs.
    Ask {
        /// The answer must carry it: 128 random bits in hexadecimal.
        seal: &'a str,
        /// What is asked.
        about: About,
        /// For completions: a line of Python up to the cursor.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        /// Seconds that the guest may look for an answer.
        timeout: f64,
    },
    /// The answer to a `tool_call`.
    ToolResult {
        /// The number of the call. No two calls of one guest have the same.
        call_id: u64,
        /// Whether the tool did what it was asked for.
        success: bool,
        /// What it found: any JSON.
        #[cfg_attr(test, schemars(with = "serde_json::Value"))]
        data: &'a Json,
        /// What it has to say about that, for the script's author.
        message: &'a str,
        /// Whether `{"__bytes__": "…base64…"}` is somewhere in `data`, and stands for bytes.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        has_bytes: bool,
    },
}

/// What is asked.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum About {
    /// How a line can go on. The answer is `{replace, matches}`: what can stand in place of the
    /// last `replace` characters.
    Completions,
    /// The variables of the session. The answer is a list of `{name, kind, summary}`.
    Variables,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execute_frame_is_one_line_whatever_the_script_holds() {
        let secrets = BTreeMap::from([("KEY".to_owned(), Secret::new("v\n"))]);
        let execute = HostFrame::Execute(Execute {
            execution_id: &ExecutionId::new("e"),
            seal: "s",
            script: "a = 1\nb = '\u{2028}'\r\n",
            mode: ExecutionMode::Plan,
            name: None,
            args: &[],
            env: &BTreeMap::new(),
            has_stdin: false,
            timeout: 1.5,
            max_output_bytes: 1024,
            required_secrets: &["KEY".to_owned()],
            secrets: &secrets,
        });
        let line = execute.to_line();
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        assert_eq!(line.last(), Some(&b'\n'));
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value["type"], "execute");
        assert_eq!(value["script"], "a = 1\nb = '\u{2028}'\r\n");
        assert_eq!(value["mode"], "plan");
        assert_eq!(value["secrets"]["KEY"], "v\n");
        assert!(!format!("{execute:?}").contains("v\\n"), "Debug shows a secret");
    }
}
