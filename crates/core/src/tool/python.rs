//! Writes values, types and signatures as Python.
//!
//! Strangers choose many of the texts. Whatever they are, what is written here is one Python
//! expression, and holds no character that a terminal acts on or that a reader cannot see.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Failure, Kind, Parameter, Tool};
use crate::is_printable;

/// A JSON value as a Python literal. JSON has no infinite numbers, so none is ever written.
pub(super) fn literal(value: &Value) -> String {
    let mut text = String::new();
    write_literal(value, &mut text);
    text
}

fn write_literal(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        // With a point or an exponent: Python would take `1` for an int.
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => {
                let _ = write!(out, "{number:?}");
            }
            None => {
                let _ = write!(out, "{number}");
            }
        },
        Value::String(text) => write_string(text, out),
        Value::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_literal(value, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_string(key, out);
                out.push_str(": ");
                write_literal(value, out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c => write_char(c, out),
        }
    }
    out.push('"');
}

/// A character as itself, or as an escape if it would not be seen.
fn write_char(c: char, out: &mut String) {
    let _ = match c {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        c if is_printable(c) => out.write_char(c),
        c if c <= '\u{ff}' => write!(out, "\\x{:02x}", c as u32),
        c if c <= '\u{ffff}' => write!(out, "\\u{:04x}", c as u32),
        c => write!(out, "\\U{:08x}", c as u32),
    };
}

/// The lines of a text, each of them readable. White space at their ends is gone, and so are empty
/// lines at both ends.
pub(super) fn lines(text: &str) -> Vec<String> {
    let readable = |line: &str| {
        let mut out = String::with_capacity(line.len());
        for c in line.trim_end().chars() {
            match c {
                '\t' => out.push_str("    "),
                c => write_char(c, &mut out),
            }
        }
        out
    };
    text.trim_matches(['\n', '\r', ' ', '\t']).lines().map(readable).collect()
}

/// A line as part of a docstring: it cannot end it, and its backslashes are only backslashes.
pub(super) fn in_docstring(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    let mut last = ' ';
    while let Some(c) = chars.next() {
        // One quote among other characters ends nothing, and reads better without a backslash.
        let is_alone = last != '"' && chars.peek().is_some_and(|next| *next != '"');
        if c == '\\' || (c == '"' && !is_alone) {
            out.push('\\');
        }
        out.push(c);
        last = c;
    }
    out
}

/// The type of a parameter.
pub(super) fn annotation(parameter: &Parameter) -> String {
    let kind = match parameter.options.as_slice() {
        [] => kind(&parameter.kind),
        options if has_literal_type(options) => {
            let options: Vec<_> = options.iter().map(literal).collect();
            format!("Literal[{}]", options.join(", "))
        }
        _ => kind(&parameter.kind),
    };
    let is_any = parameter.kind == Kind::Any && parameter.options.is_empty();
    if parameter.nullable && !is_any { format!("{kind} | None") } else { kind }
}

/// Whether Python's `Literal` can say these options. It knows no floats, lists and objects.
pub(super) fn has_literal_type(options: &[Value]) -> bool {
    let is_literal = |value: &Value| !value.is_f64() && !value.is_array() && !value.is_object();
    options.iter().all(is_literal)
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Any => "Any".to_owned(),
        Kind::List(Some(item)) => format!("list[{}]", self::kind(item)),
        Kind::Dict(Some(item)) => format!("dict[str, {}]", self::kind(item)),
        plain => plain.to_string(),
    }
}

/// `search(query: str, limit: int = 10) -> ToolResponse`. A parameter that can be left out and has
/// no default is written as stub files do it: `tag: str = ...`.
pub(super) fn signature(tool: &Tool) -> String {
    let positional = tool.positional();
    let mut parts = Vec::with_capacity(tool.parameters.len() + 1);
    for (index, parameter) in tool.parameters.iter().enumerate() {
        if index == positional {
            parts.push("*".to_owned());
        }
        let mut part = format!("{}: {}", parameter.name, annotation(parameter));
        match &parameter.default {
            Some(default) => part += &format!(" = {}", literal(default)),
            None if !parameter.is_required() => part += " = ...",
            None => {}
        }
        parts.push(part);
    }
    format!("{}({}) -> {}", tool.name, parts.join(", "), returned(tool))
}

fn returned(tool: &Tool) -> &'static str {
    match tool.failure {
        Failure::Response => "ToolResponse",
        Failure::Exception => "Any",
    }
}

/// What there is to say about a tool, line by line: what it does, its parameters, its examples.
pub(super) fn documentation(tool: &Tool) -> Vec<String> {
    let mut all = lines(&tool.description);
    let parameters: Vec<_> = tool.parameters.iter().flat_map(parameter_lines).collect();
    let examples: Vec<_> = tool.examples.iter().flat_map(|example| example_lines(example)).collect();
    for part in [parameters, examples] {
        if !all.is_empty() && !part.is_empty() {
            all.push(String::new());
        }
        all.extend(part);
    }
    all
}

fn parameter_lines(parameter: &Parameter) -> Vec<String> {
    let mut said = lines(&parameter.description);
    let values = |values: &[Value]| values.iter().map(literal).collect::<Vec<_>>().join(", ");
    if !has_literal_type(&parameter.options) {
        said.push(format!("One of {}.", values(&parameter.options)));
    }
    if !parameter.examples.is_empty() {
        said.push(format!("For example {}.", values(&parameter.examples)));
    }
    let indented = |(index, line): (usize, String)| match index {
        0 => format!("{}: {line}", parameter.name),
        _ if line.is_empty() => line,
        _ => format!("    {line}"),
    };
    said.into_iter().enumerate().map(indented).collect()
}

fn example_lines(example: &str) -> Vec<String> {
    let prompted =
        |(index, line): (usize, String)| format!("{} {line}", if index == 0 { ">>>" } else { "..." });
    lines(example).into_iter().enumerate().map(prompted).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_python_writes_them() {
        for (value, expected) in [
            (json!(null), "None"),
            (json!(true), "True"),
            (json!(-1), "-1"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!(1.0), "1.0"),
            (json!(1e300), "1e300"),
            (json!(-0.5), "-0.5"),
            (json!("it's \"so\"\n\\"), r#""it's \"so\"\n\\""#),
            (json!("\0\u{1b}\u{202e}\u{e0041}é日"), r#""\x00\x1b\u202e\U000e0041é日""#),
            (json!([]), "[]"),
            (json!([1, [null], {"a\"": {}}]), r#"[1, [None], {"a\"": {}}]"#),
        ] {
            assert_eq!(literal(&value), expected);
        }
    }

    #[test]
    fn json_has_no_number_that_python_could_not_write() {
        assert_eq!(literal(&Value::from(f64::INFINITY)), "None");
        assert!(serde_json::from_str::<Value>("1e999").is_err());
    }

    #[test]
    fn no_line_ends_its_docstring() {
        for (line, expected) in [
            (r#"a "b" c"#, r#"a "b" c"#),
            (r#"a "b""#, r#"a "b\""#),
            (r#""""x"#, r#"\"\"\"x"#),
            (r#"\"#, r#"\\"#),
            (r#"\""#, r#"\\\""#),
            ("\"", "\\\""),
        ] {
            assert_eq!(in_docstring(line), expected);
        }
    }

    #[test]
    fn types_say_what_a_parameter_may_be() {
        let parameter = |kind: &str| Parameter::new("x", kind.parse().unwrap());
        for (parameter, expected) in [
            (parameter("any"), "Any"),
            (parameter("any").nullable(), "Any"),
            (parameter("dict[str, list[any]]"), "dict[str, list[Any]]"),
            (parameter("str").nullable(), "str | None"),
            (parameter("int").with_options([1, 2]).nullable(), "Literal[1, 2] | None"),
            (parameter("float").with_options([0.5]), "float"),
            (parameter("bool").with_options([true]), "Literal[True]"),
            (parameter("str").with_options(["\"]"]), r#"Literal["\"]"]"#),
        ] {
            assert_eq!(annotation(&parameter), expected);
        }
    }
}
