//! What a script has to be like.

use crate::AgentMode;
use crate::task::Task;

const PLAN: &str = "\
You solve a task by writing one Python script. It is run for you in a sandbox, and you never see the task's data except through it.

Rules:
1. Reply with exactly one ```python block that holds the whole script.
2. It runs from its first line in a fresh process. Nothing of an earlier attempt is there.
3. Give the answer by calling emit_result(value) once, at the end. The value is made of dicts, lists, strings, numbers, booleans and None.
4. Functions that are listed below are there already. Call them, without await. Do not import them and do not define your own in their place.
5. emit_intermediate(label, value) reports a part of the work. print is for notes.
6. Nobody answers questions while it runs. Do not call input().
7. If it fails you are told the error. Then reply with the whole script, corrected.";

const INTERACTIVE: &str = "\
You solve a task step by step in one Python session, in a sandbox. You see what each step gives before you write the next.

Rules:
1. Reply with one ```python block: the next step. Keep steps small.
2. Variables, imports and files stay from step to step.
3. What a step prints, and the value of its last expression, is shown to you. Long output is shortened: look at parts.
4. Functions that are listed below are there already. Call them, without await. Do not import them and do not define your own in their place.
5. When you have the answer, call emit_result(value) in a step. That ends the session. The value is made of dicts, lists, strings, numbers, booleans and None.
6. If there is no value to give, reply without a block, in words, with DONE alone on the first line.
7. A step that fails leaves the session as it is. Read the error, and do something else.
8. Nobody answers questions while a step runs. Do not call input().";

/// The rules, and what is there.
pub(crate) fn system_message(mode: AgentMode, python: &str, stubs: &str, more: &str) -> String {
    let rules = match mode {
        AgentMode::Plan => PLAN,
        AgentMode::Interactive => INTERACTIVE,
    };
    let mut text = format!("{rules}\n\nThe interpreter is Python {python}.");
    match stubs.trim_end() {
        "" => text.push_str(" There are no functions besides Python's own and the emit_ functions."),
        stubs => text.push_str(&format!("\n\nFunctions:\n\n```python\n{stubs}\n```")),
    }
    if !more.trim().is_empty() {
        text.push_str(&format!("\n\n{}", more.trim()));
    }
    text
}

/// The task.
pub(crate) fn first_message(task: &Task) -> String {
    let mut text = format!("Task: {}", task.text.trim());
    let files: Vec<String> = task.request.files.iter().map(|file| file.path.clone()).collect();
    match files.as_slice() {
        [] => {}
        [one] if one == "." => text.push_str("\n\nThere are files in the current directory. List them."),
        files => text.push_str(&format!("\n\nFiles in the current directory: {}", files.join(", "))),
    }
    if !task.request.collect.is_empty() {
        text.push_str("\n\nFiles that you write to the current directory are kept for the user.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompts_look_like_this() {
        let task = Task::new("Which region grew most?").with_file("sales.csv", "a").with_file("b.csv", "b");
        let stubs = "def search(query: str) -> ToolResponse: ...\n";
        let plan = system_message(AgentMode::Plan, "3.11.2", stubs, "Answer in English.");
        let interactive = system_message(AgentMode::Interactive, "3.11.2", "", "");
        insta::assert_snapshot!([plan, interactive, first_message(&task)].join("\n\n=====\n\n"));
    }
}
