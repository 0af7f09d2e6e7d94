//! Checks the variables and secrets of a sandbox.

use std::collections::{BTreeMap, BTreeSet};

use super::ConfigError;

/// Variables that make the loader or the interpreter run other code before any script.
const REFUSED: [&str; 6] =
    ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"];

/// The longest `NAME=value` that Linux takes, with its final NUL.
const ENTRY_BYTES: usize = 131_072;

/// Checks that each name can be a variable and that no name is given twice.
///
/// Errors never show values, because a variable may hold something that must not be in a log.
pub(super) fn check(env: &BTreeMap<String, String>, secrets: &[String]) -> Result<(), ConfigError> {
    let mut seen = BTreeSet::new();
    for (index, name) in secrets.iter().enumerate() {
        let invalid = |rule| ConfigError::invalid(format!("secrets[{index}]"), name, rule);
        check_name(name).map_err(invalid)?;
        if !seen.insert(name) {
            return Err(invalid("must not be listed twice"));
        }
        if env.contains_key(name) {
            return Err(invalid("must not be in env too, because only one of the two values could win"));
        }
    }
    for (name, value) in env {
        check_name(name).map_err(|rule| ConfigError::invalid("env", name, rule))?;
        let hidden = |rule: &str| ConfigError::Invalid {
            field: format!("env.{name}"),
            value: format!("({} bytes, not shown)", value.len()),
            rule: rule.to_owned(),
        };
        if value.contains('\0') {
            return Err(hidden("must not hold a NUL, which would end it early"));
        }
        if name.len() + value.len() + 2 > ENTRY_BYTES {
            return Err(hidden("must be at most 128 KiB with its name, because the kernel takes no more"));
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), &'static str> {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !begins || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err("must be a name of ASCII letters, digits and `_` that does not begin with a digit");
    }
    if REFUSED.contains(&name) {
        return Err("must not be set, because it decides what code runs before the script");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(env: &[(&str, &str)], secrets: &[&str]) -> String {
        let env = env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let secrets: Vec<_> = secrets.iter().map(ToString::to_string).collect();
        check(&env, &secrets).unwrap_err().to_string()
    }

    #[test]
    fn each_bad_name_is_refused_by_field_value_and_rule() {
        for name in ["", "1A", "A-B", "A B", "A=B", "Ä", "A\0"] {
            let expected = format!("{name:?} is invalid: must be a name of ASCII letters");
            assert!(refusal(&[], &["OK", name]).starts_with(&format!("secrets[1] = {expected}")));
            assert!(refusal(&[(name, "x")], &[]).starts_with(&format!("env = {expected}")));
        }
    }

    #[test]
    fn what_would_choose_the_code_that_runs_is_refused() {
        for name in REFUSED {
            let expected = format!("{name:?} is invalid: must not be set");
            assert!(refusal(&[], &[name]).starts_with(&format!("secrets[0] = {expected}")));
            assert!(refusal(&[(name, "x")], &[]).starts_with(&format!("env = {expected}")));
        }
    }

    #[test]
    fn a_name_is_given_once() {
        assert!(
            refusal(&[], &["A", "A"]).starts_with("secrets[1] = \"A\" is invalid: must not be listed twice")
        );
        assert!(
            refusal(&[("A", "x")], &["A"])
                .starts_with("secrets[0] = \"A\" is invalid: must not be in env too")
        );
    }

    #[test]
    fn a_refused_value_is_not_shown() {
        let text = refusal(&[("KEY", "hunter2\0")], &[]);
        assert_eq!(
            text,
            "env.KEY = (8 bytes, not shown) is invalid: must not hold a NUL, which would end it early"
        );
        let text = refusal(&[("KEY", &"x".repeat(ENTRY_BYTES))], &[]);
        assert!(text.starts_with("env.KEY = (131072 bytes, not shown) is invalid: must be at most 128 KiB"));
    }
}
