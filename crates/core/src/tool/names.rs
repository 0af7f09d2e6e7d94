//! Which names tools and parameters may have, and safe names for those that have others.
//!
//! A tool is a global of every script, and its parameters are written in Python signatures. So both
//! are Python identifiers. Servers of others call their tools `search-v2` or `list.all`:
//! [`safe_tool_name`] makes an identifier of that, always the same one.

/// The longest name, in bytes. Models' APIs take no longer ones.
pub const LONGEST_TOOL_NAME: usize = 64;

/// How much of a server's name is part of a tool's name, in bytes. The tool's own says more.
const LONGEST_SERVER: usize = 24;

/// Python's keywords. Soft ones (`match`, `type`) may be names.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Functions and classes that the harness gives to every script.
const HARNESS: [&str; 7] =
    ["emit_result", "emit_log", "emit_intermediate", "display", "ToolResponse", "ToolError", "ToolBytes"];

/// Modules that the harness gives to every script.
const MODULES: [&str; 8] = ["asyncio", "datetime", "json", "math", "os", "re", "time", "uuid"];

/// What signatures of tools are written with.
const ANNOTATIONS: [&str; 9] = ["Any", "Literal", "bool", "bytes", "dict", "float", "int", "list", "str"];

/// Returns the rule that a tool's name breaks, if any.
pub(super) fn check_tool_name(name: &str) -> Result<(), &'static str> {
    check_identifier(name)?;
    if HARNESS.contains(&name) {
        return Err("must not be a name that the harness gives to every script");
    }
    if MODULES.contains(&name) {
        return Err("must not be a module that every script finds by that name");
    }
    if ANNOTATIONS.contains(&name) {
        return Err("must not be a type that the signatures of tools are written with");
    }
    Ok(())
}

/// Whether every script has something of that name when it starts.
pub(super) fn is_given_to_scripts(name: &str) -> bool {
    HARNESS.contains(&name) || MODULES.contains(&name)
}

/// Returns the rule that a parameter's name breaks, if any.
pub(super) fn check_identifier(name: &str) -> Result<(), &'static str> {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !begins || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err("must be a Python identifier of ASCII letters, digits and `_`");
    }
    if name.len() > LONGEST_TOOL_NAME {
        return Err("must be at most 64 bytes long, because models' APIs take no longer names");
    }
    if KEYWORDS.contains(&name) {
        return Err("must not be a keyword of Python");
    }
    if name.starts_with("__") && name.ends_with("__") {
        return Err("must not begin and end with `__`, because Python keeps such names for itself");
    }
    Ok(())
}

/// A name for a stranger's tool, such as `github_list_issues` for `list-issues` of `github`.
///
/// The name is valid for a [`Tool`](super::Tool), and `is_taken` says no to it. The same question
/// always has the same answer. A name that is taken gets a number: `github_search_2`.
pub fn safe_tool_name(server: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let (mut server, tool) = (words(server), words(tool));
    server.truncate(LONGEST_SERVER);
    let joined = match (server.is_empty(), tool.is_empty()) {
        (false, false) => format!("{server}_{tool}"),
        (false, true) => format!("{server}_tool"),
        (true, false) => tool,
        (true, true) => "tool".to_owned(),
    };
    free(&joined, check_tool_name, is_taken)
}

/// A name for a stranger's parameter: `X_Api_Key` for `X-Api-Key`.
pub(super) fn safe_parameter_name(original: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let name = words(original);
    let name = if name.is_empty() { "parameter" } else { &name };
    free(name, check_identifier, is_taken)
}

/// The ASCII letters and digits of a text, with one `_` for whatever is between them. Names are
/// short: what is behind the first few characters is not looked at.
fn words(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().take(4 * LONGEST_TOOL_NAME) {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c),
            _ if !name.is_empty() && !name.ends_with('_') => name.push('_'),
            _ => {}
        }
    }
    name.truncate(LONGEST_TOOL_NAME);
    name.truncate(name.trim_end_matches('_').len());
    name
}

/// The first of `name`, `name_2`, `name_3`, … that breaks no rule and is not taken. A name that
/// breaks a rule becomes `name_`, which is how Python programs avoid keywords.
fn free(name: &str, check: fn(&str) -> Result<(), &'static str>, is_taken: impl Fn(&str) -> bool) -> String {
    let digit = if name.starts_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
    let with = |end: &str| {
        let room = LONGEST_TOOL_NAME - digit.len() - end.len();
        format!("{digit}{}{end}", &name[..name.len().min(room)])
    };
    let first = if check(&with("")).is_ok() { with("") } else { with("_") };
    std::iter::once(first)
        .chain((2u64..).map(|number| with(&format!("_{number}"))))
        .find(|name| check(name).is_ok() && !is_taken(name))
        .expect("there are more numbers than names taken")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_bad_name_is_refused_by_its_rule() {
        let long = "x".repeat(65);
        for (name, rule) in [
            ("", "identifier"),
            ("2d", "identifier"),
            ("a-b", "identifier"),
            ("naïve", "identifier"),
            ("a\n", "identifier"),
            (long.as_str(), "at most 64 bytes"),
            ("lambda", "keyword"),
            ("None", "keyword"),
            ("__import__", "begin and end with `__`"),
            ("____", "begin and end with `__`"),
            ("emit_result", "harness"),
            ("ToolResponse", "harness"),
            ("json", "module"),
            ("list", "type"),
        ] {
            let said = check_tool_name(name).unwrap_err();
            assert!(said.contains(rule), "{name:?}: {said}");
        }
        for name in ["search", "_private", "match", "type", "x2", "print", "__half"] {
            assert_eq!(check_tool_name(name), Ok(()), "{name}");
        }
        assert_eq!(check_identifier("json"), Ok(()), "a parameter hides nothing from a script");
    }

    #[test]
    fn names_of_strangers_become_identifiers() {
        for (server, tool, name) in [
            ("github", "list-issues", "github_list_issues"),
            ("my server", "tool-name.v2", "my_server_tool_name_v2"),
            ("", "search", "search"),
            ("", "class", "class_"),
            ("", "__init__", "init"),
            ("emit", "result", "emit_result_"),
            ("", "2d", "_2d"),
            ("日本", "検索", "tool"),
            ("s", "", "s_tool"),
            ("a/../b", "; rm -rf", "a_b_rm_rf"),
        ] {
            assert_eq!(safe_tool_name(server, tool, |_| false), name);
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let taken = BTreeSet::from(["s_a", "s_a_2"]);
        assert_eq!(safe_tool_name("s", "a", |name| taken.contains(name)), "s_a_3");
        assert_eq!(safe_tool_name(&"s".repeat(99), "a", |_| false), format!("{}_a", "s".repeat(24)));
        let long = "x".repeat(100);
        let first = safe_tool_name("s", &long, |_| false);
        let second = safe_tool_name("s", &long, |name| name == first);
        assert_eq!((first.len(), second.len()), (64, 64));
        assert!(second.ends_with("x_2"), "{second}");
    }

    proptest! {
        #[test]
        fn any_two_names_become_valid_ones_that_differ(
            servers in prop::collection::vec(".{0,9}", 1..9),
            tools in prop::collection::vec(prop_oneof![".{0,90}", "(emit_result|__a__|if|json)"], 1..9),
        ) {
            let names = servers.into_iter().zip(tools);
            let mut taken = BTreeSet::new();
            for (server, tool) in names {
                let name = safe_tool_name(&server, &tool, |name| taken.contains(name));
                prop_assert_eq!(check_tool_name(&name), Ok(()));
                prop_assert!(taken.insert(name));
            }
        }

        #[test]
        fn a_good_name_stays_as_it_is(name in "[a-z][a-z0-9]{0,9}(_[a-z0-9]{1,5}){0,3}") {
            prop_assume!(check_tool_name(&name).is_ok());
            prop_assert_eq!(safe_tool_name("", &name, |_| false), name.clone());
            prop_assert_eq!(safe_parameter_name(&name, |_| false), name);
        }
    }
}
