//! What a model is to do.

use belljar_core::{ExecutionId, ExecutionRequest, FileContent};

/// A task in words, and what its scripts are given.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Task {
    /// What is to be done, for the model.
    pub text: String,
    /// What each run of it is like: files, variables, arguments, time limit, which files come back.
    /// Its script is the model's, and its mode is the orchestrator's. In INTERACTIVE, files are
    /// there before the first step, and are collected after the last. Its name, if it has one, is
    /// followed by the number of the step.
    pub request: ExecutionRequest,
}

impl Task {
    /// A task without files.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), request: ExecutionRequest::new("") }
    }

    /// Puts a file into the directory that scripts work in.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<String>, content: impl Into<FileContent>) -> Self {
        self.request = self.request.with_file(path, content);
        self
    }

    /// Keeps files that scripts write: `*.png`.
    #[must_use]
    pub fn collecting(mut self, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.request = self.request.collecting(patterns);
        self
    }

    /// Says all that there is to say about a run.
    #[must_use]
    pub fn with_request(mut self, request: ExecutionRequest) -> Self {
        self.request = request;
        self
    }

    /// A request for a script of this task.
    pub(crate) fn request_for(&self, step: u32, script: &str) -> ExecutionRequest {
        let mut request = self.request.clone();
        if let Some(id) = &request.execution_id {
            request.execution_id = Some(ExecutionId::new(format!("{id}-{step}")));
        }
        script.clone_into(&mut request.script);
        request
    }
}

impl From<&str> for Task {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Task {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_a_name_of_its_own() {
        let task = Task::new("t").with_request(ExecutionRequest::new("").with_execution_id("job"));
        let ids = [1, 2].map(|step| task.request_for(step, "x").execution_id.map(|id| id.to_string()));
        assert_eq!(ids, [Some("job-1".to_owned()), Some("job-2".to_owned())]);
        assert_eq!(Task::new("t").request_for(1, "x").execution_id, None);
    }
}
