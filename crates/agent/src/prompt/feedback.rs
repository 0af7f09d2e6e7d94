//! How a step ended, for the model.

use belljar_core::{ExecutionResult, Verdict};

use super::clip;
use crate::AgentMode;
use crate::vet::Finding;

/// What is said besides how a step ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Aside {
    /// It has been tried before, and ended in the same way.
    pub(crate) is_repeated: bool,
    /// The session is gone, and a new one has begun.
    pub(crate) is_new_session: bool,
}

/// What the model should change before its script is run.
pub(crate) fn after_findings(findings: &[Finding], mode: AgentMode, aside: Aside) -> String {
    let mut text = String::from("Your script was not run:\n");
    for finding in findings {
        text.push_str(&format!("- {finding}\n"));
    }
    text.push_str(request(mode));
    text.push_str(remarks(aside));
    text
}

/// How a run ended.
pub(crate) fn after_run(result: &ExecutionResult, mode: AgentMode, aside: Aside, most: usize) -> String {
    let mut text = String::new();
    let failed = !result.success();
    if failed {
        text.push_str(&format!("It failed: {}\n", what_happened(result)));
    }
    let mut part = |name: &str, content: &str, share: usize| {
        if !content.trim().is_empty() {
            text.push_str(&format!("<{name}>\n{}\n</{name}>\n", clip(content.trim_end(), share)));
        }
    };
    if failed {
        part("traceback", result.traceback.as_deref().unwrap_or_default(), most / 4);
    }
    for intermediate in &result.intermediates {
        part("intermediate", &format!("{}: {}", intermediate.label, intermediate.data), most / 8);
    }
    part("stdout", &result.stdout, most / 2);
    part("stderr", &result.stderr, most / 8);
    let shown: Vec<&str> = result.displays.iter().filter_map(|display| display.text()).collect();
    part("shown", &shown.join("\n"), most / 4);
    if text.is_empty() {
        text.push_str("The step ended without output.\n");
    }
    // Many intermediates may still be more than is wanted.
    let mut text = clip(&text, most);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if failed || mode == AgentMode::Interactive {
        text.push_str(request(mode));
    }
    text.push_str(remarks(aside));
    text
}

fn what_happened(result: &ExecutionResult) -> String {
    let error = result.error.as_deref().unwrap_or("no reason was given");
    match &result.verdict {
        Verdict::Exception => clip(error, 2000),
        Verdict::NoResult => "the script ended and never called emit_result(…)".to_owned(),
        Verdict::TimeoutWall | Verdict::TimeoutCpu => {
            format!("out of time: {error}. Do less, or do it faster")
        }
        Verdict::Oom => format!("out of memory: {error}. Hold less at a time"),
        Verdict::Output => format!("it wrote too much: {error}. Print less"),
        Verdict::Infra => {
            format!("the sandbox was lost, which was not the script's fault: {error}. Send it again")
        }
        verdict => format!("{verdict}: {}", clip(error, 2000)),
    }
}

fn request(mode: AgentMode) -> &'static str {
    match mode {
        AgentMode::Plan => "Reply with the whole script, corrected, in one ```python block.",
        AgentMode::Interactive => "Reply with the next step, or end with emit_result(…) or DONE.",
    }
}

fn remarks(aside: Aside) -> &'static str {
    match aside {
        Aside { is_new_session: true, .. } => {
            "\nThe session is gone, and a new one has begun: no variable is left, and files are as they were given."
        }
        Aside { is_repeated: true, .. } => {
            "\nYou have sent this before, and it ended in the same way. Do something else."
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use belljar_core::{ExecutionId, Intermediate, Json};

    use super::*;
    use crate::vet::Rule;

    fn result(verdict: Verdict) -> ExecutionResult {
        ExecutionResult::new(ExecutionId::new("e"), verdict, "native")
    }

    #[test]
    fn a_failure_is_told_with_its_traceback_and_what_was_printed() {
        let mut failed = result(Verdict::Exception);
        failed.error = Some("KeyError: 'a'".into());
        failed.traceback = Some("Traceback (most recent call last):\n  line 1\nKeyError: 'a'\n".into());
        failed.stdout = "half\n".into();
        failed.intermediates.push(Intermediate::new("p", Json::parse("50").unwrap()));
        let findings = [Finding::new(2, Rule::Syntax, "no"), Finding::new(3, Rule::NoResult, "nothing")];
        let mut quiet = result(Verdict::Ok);
        quiet.stdout = String::new();
        let texts = [
            after_run(&failed, AgentMode::Plan, Aside::default(), 4000),
            after_run(&quiet, AgentMode::Interactive, Aside { is_repeated: true, ..Aside::default() }, 4000),
            after_findings(&findings, AgentMode::Plan, Aside::default()),
        ];
        insta::assert_snapshot!(texts.join("\n\n=====\n\n"));
    }

    #[test]
    fn long_output_is_shortened() {
        let mut long = result(Verdict::Ok);
        long.stdout = "x".repeat(100_000);
        long.intermediates =
            (0..500).map(|_| Intermediate::new("p", Json::parse("\"12345678\"").unwrap())).collect();
        let text = after_run(&long, AgentMode::Interactive, Aside::default(), 4000);
        assert!(text.len() < 4300, "{}", text.len());
        assert!(text.contains("bytes are left out"), "{text}");
    }
}
