//! Checks the variables and secrets of a sandbox.

use std::collections::{BTreeMap, BTreeSet};

use super::ConfigError;

/// Variables that make the loader or the interpreter run other code before any script.
const REFUSED: [&str; 6] =
    ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"];

/// The longest `NAME=value` that Linux takes, with its final NUL.
pub const ENTRY_BYTES: usize = 131_072;

/// How much all variables of a sandbox may take together, as [`entry_bytes`] and
/// [`POINTER_BYTES`] count it. Linux passes at most 2 MiB to a program with a usual stack. The
/// other half is for its arguments and for variables that the script sets itself.
pub const ENVIRONMENT_BYTES: usize = 1 << 20;

/// What Linux counts for each variable besides the variable itself.
pub const POINTER_BYTES: usize = 8;

/// What Linux counts for a variable: `NAME=value` and its final NUL.
pub fn entry_bytes(name: &str, value: &str) -> usize {
    name.len() + value.len() + 2
}

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
    let mut taken = 0;
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
        if entry_bytes(name, value) > ENTRY_BYTES {
            return Err(hidden("must be at most 128 KiB with its name, because the kernel takes no more"));
        }
        taken += entry_bytes(name, value) + POINTER_BYTES;
    }
    if taken > ENVIRONMENT_BYTES {
        return Err(ConfigError::Invalid {
            field: "env".to_owned(),
            value: format!("({} variables of {taken} bytes, not shown)", env.len()),
            rule: "must be at most 1 MiB together, because the kernel passes little more to a program"
                .to_owned(),
        });
    }
    Ok(())
}

/// The same, for variables of one request.
pub(crate) fn check_alone(env: &BTreeMap<String, String>) -> Result<(), ConfigError> {
    check(env, &[])
}

/// The same, for secrets that a tool needs.
pub(crate) fn check_secrets(secrets: &[String]) -> Result<(), ConfigError> {
    check(&BTreeMap::new(), secrets)
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
    fn all_variables_together_fit_an_environment() {
        let value = "x".repeat(100_000);
        let names: Vec<_> = (0..11).map(|number| format!("V{number}")).collect();
        let env: Vec<_> = names.iter().map(|name| (name.as_str(), value.as_str())).collect();
        let text = refusal(&env, &[]);
        assert_eq!(
            text,
            "env = (11 variables of 1100133 bytes, not shown) is invalid: must be at most 1 MiB together, \
             because the kernel passes little more to a program"
        );
        let fits = env[1..].iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        assert_eq!(check(&fits, &[]), Ok(()));
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
