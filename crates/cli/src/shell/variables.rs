//! The table of `:vars`.

use belljar::Variable;

use crate::terminal_text::quoted;

/// One line for each variable: its name, its type, and a few words on its value. All of it is
/// somebody else's text.
pub(crate) fn table(variables: &[Variable]) -> String {
    let width = |of: fn(&Variable) -> &str| variables.iter().map(|each| of(each).chars().count()).max();
    let names = width(|each| &each.name).unwrap_or(0);
    let kinds = width(|each| &each.kind).unwrap_or(0);
    let line = |each: &Variable| {
        let summary = each.summary.as_deref().unwrap_or_default();
        let line = format!("{:<names$}  {:<kinds$}  {summary}", each.name, each.kind);
        format!("  {}\n", quoted(line.trim_end()))
    };
    variables.iter().map(line).collect()
}
