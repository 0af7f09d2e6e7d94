//! What scripts are looked at for.

/// What a script is looked at for. Syntax always is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vetting {
    /// Functions that a script must not call, as they are called: `input`, `os.system`. Names that
    /// a script gives to modules and their functions on import are seen through.
    pub forbidden_calls: Vec<String>,
    /// Whether `x = search`, where `search(…)` was meant, is found.
    pub tools_are_called: bool,
    /// Whether a script that defines its own `search`, in place of the tool, is found.
    pub nothing_is_hidden: bool,
    /// Whether a script of PLAN that never calls `emit_result` is found.
    pub must_emit: bool,
}

impl Default for Vetting {
    /// All of it. Nobody answers `input` and `breakpoint`, and a script ends by itself.
    fn default() -> Self {
        let forbidden_calls = ["input", "breakpoint", "exit", "quit"].map(str::to_owned).into();
        Self { forbidden_calls, tools_are_called: true, nothing_is_hidden: true, must_emit: true }
    }
}

impl Vetting {
    /// Syntax alone.
    pub fn syntax_only() -> Self {
        Self {
            forbidden_calls: Vec::new(),
            tools_are_called: false,
            nothing_is_hidden: false,
            must_emit: false,
        }
    }

    /// Adds functions that must not be called.
    #[must_use]
    pub fn forbidding(mut self, calls: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.forbidden_calls.extend(calls.into_iter().map(Into::into));
        self
    }
}
