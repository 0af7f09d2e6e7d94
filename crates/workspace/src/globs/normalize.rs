//! Variables at the beginning of a pattern.

use crate::layout;

/// Variables that a program knows, and the directories of a workspace that they mean.
const VARIABLES: [(&str, &str); 5] = [
    (layout::WORKSPACE_DIR, "."),
    (layout::SKILLS_DIR, layout::SKILLS),
    (layout::WORK_DIR, layout::WORK),
    (layout::OUTPUT_DIR, layout::OUT),
    (layout::RUN_DIR, layout::RUNS),
];

/// Patterns relative to the workspace, for patterns that begin with a variable of a program, such
/// as `$OUTPUT_DIR/*.csv`. Blank patterns are left out. Unknown variables stay as they are.
pub fn normalize_globs<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Vec<String> {
    let patterns = patterns.into_iter();
    patterns.map(|pattern| normalize(pattern.as_ref().trim())).filter(|pattern| !pattern.is_empty()).collect()
}

fn normalize(pattern: &str) -> String {
    for (variable, directory) in VARIABLES {
        let Some(tail) = after_variable(pattern, variable) else { continue };
        return match (directory, tail) {
            (_, "") => directory.to_owned(),
            // What is relative to the workspace may begin with another variable.
            (".", tail) => normalize(tail),
            _ => format!("{directory}/{tail}"),
        };
    }
    pattern.to_owned()
}

/// What follows a variable and a separator. `$WORK_DIRECTORY` does not begin with `$WORK_DIR`.
fn after_variable<'a>(pattern: &'a str, variable: &str) -> Option<&'a str> {
    let rest = pattern.strip_prefix('$')?;
    let braced = rest.strip_prefix('{').and_then(|rest| rest.strip_prefix(variable)?.strip_prefix('}'));
    let tail = braced.or_else(|| rest.strip_prefix(variable))?;
    if tail.is_empty() { Some(tail) } else { tail.strip_prefix(['/', '\\']) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_15_variables_become_directories() {
        let patterns =
            ["$OUTPUT_DIR/a.txt", "${WORK_DIR}/x/**", "$SKILLS_DIR/tool", "$WORKSPACE_DIR/out/b.txt"];
        assert_eq!(normalize_globs(patterns), ["out/a.txt", "work/x/**", "skills/tool", "out/b.txt"]);
        assert_eq!(
            normalize_globs(["$WORKSPACE_DIR", " $OUTPUT_DIR ", "${OUTPUT_DIR}/"]),
            [".", "out", "out"]
        );
        assert_eq!(normalize_globs(["$WORKSPACE_DIR/$OUTPUT_DIR/a", "$WORK_DIR\\a"]), ["out/a", "work/a"]);
    }

    #[test]
    fn case_16_blanks_go_and_unknown_variables_stay() {
        let patterns = ["", "  ", "out/c.txt", "$UNKNOWN_DIR/d.txt"];
        assert_eq!(normalize_globs(patterns), ["out/c.txt", "$UNKNOWN_DIR/d.txt"]);
        assert_eq!(normalize_globs::<&str>([]), [""; 0]);
    }

    #[test]
    fn case_17_a_longer_name_is_another_variable() {
        let patterns = ["$WORK_DIRECTORY/x", "$RUN_DIR/x", "$WORK_DIR.bak/x", "${WORK_DIR", "$"];
        assert_eq!(
            normalize_globs(patterns),
            ["$WORK_DIRECTORY/x", "runs/x", "$WORK_DIR.bak/x", "${WORK_DIR", "$"]
        );
    }
}
