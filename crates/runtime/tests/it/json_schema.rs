//! As much of JSON Schema as our own schemas use. A keyword it does not know is an error, never a
//! pass.

use std::collections::BTreeSet;

use serde_json::Value;

/// The first rule that `value` breaks.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    evaluate(schema, value).map(drop)
}

/// The names of the fields that some rule was about.
fn evaluate(schema: &Value, value: &Value) -> Result<BTreeSet<String>, String> {
    let rules = schema.as_object().unwrap_or_else(|| panic!("not a schema: {schema}"));
    let fields = || value.as_object().into_iter().flatten();
    let mut named = BTreeSet::new();
    for (keyword, rule) in rules {
        match keyword.as_str() {
            "description" | "title" | "default" | "format" | "unevaluatedProperties" => {}
            "const" => demand(value == rule, || format!("{value} is not {rule}"))?,
            "type" => {
                let kinds = rule.as_array().map_or(std::slice::from_ref(rule), Vec::as_slice);
                demand(kinds.iter().any(|kind| is(value, kind)), || format!("{value} is not {rule}"))?;
            }
            "minimum" => {
                let is_less = value.as_f64().is_some_and(|number| Some(number) < rule.as_f64());
                demand(!is_less, || format!("{value} is less than {rule}"))?;
            }
            "required" => {
                for name in rule.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    demand(value.get(name).is_some(), || format!("{name} is missing in {value}"))?;
                }
            }
            "properties" => {
                for (name, field) in fields().filter(|(name, _)| rule.get(name.as_str()).is_some()) {
                    evaluate(&rule[name.as_str()], field)?;
                    named.insert(name.clone());
                }
            }
            // Any field, with any value.
            "additionalProperties" if *rule == Value::Bool(true) => {
                named.extend(fields().map(|(name, _)| name.clone()));
            }
            "additionalProperties" => {
                let known =
                    |name: &str| rules.get("properties").is_some_and(|known| known.get(name).is_some());
                fields().filter(|(name, _)| !known(name)).try_for_each(|(_, field)| check(rule, field))?;
            }
            "items" => value.as_array().into_iter().flatten().try_for_each(|item| check(rule, item))?,
            "oneOf" => {
                let branches = rule.as_array().into_iter().flatten();
                let mut fit: Vec<_> = branches.filter_map(|branch| evaluate(branch, value).ok()).collect();
                demand(fit.len() == 1, || format!("{} alternatives fit {value}", fit.len()))?;
                named.append(&mut fit[0]);
            }
            other => panic!("a keyword that this reader does not know: {other}"),
        }
    }
    if let Some(rule) = rules.get("unevaluatedProperties") {
        assert_eq!(*rule, Value::Bool(false), "the one value this reader knows");
        let stray = fields().find(|(name, _)| !named.contains(*name));
        demand(stray.is_none(), || format!("{stray:?} is in no rule"))?;
    }
    Ok(named)
}

fn demand(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => panic!("a type that this reader does not know: {kind}"),
    }
}
