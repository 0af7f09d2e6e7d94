//! What is repaired and how, and that everything else stays as it is.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// The repaired text, and the repairs as text.
fn repaired(text: &str) -> (String, String) {
    let (changed, repairs) = repair(text);
    (changed.unwrap_or_else(|| text.to_owned()), repairs.to_string())
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn what_everybody_can_read_stays_as_it_is() {
    let deepest = nested(DEEPEST);
    let digits = "9".repeat(LONGEST_INTEGER);
    let name = format!("{{\"{}\":1}}", "n".repeat(LONGEST_NAME));
    for text in [
        "null",
        r#"{"a":[1,-2.5e-7,{"a":null,"b":"x"}],"b":{"a":{}},"c":[{},[],""]}"#,
        r#"["\u0000","\ud83d\ude00","\"\\","a\\ud800","é"]"#,
        r#"{"a\u0062":1,"ab ":2, "A\u0062" : 3}"#,
        "1.7976931348623157e+308",
        "1e-999",
        &digits,
        &deepest,
        &name,
    ] {
        assert_eq!(repair(text), (None, Repairs::default()), "{text}");
    }
}

#[test]
fn what_is_too_deep_becomes_null_and_the_rest_stays() {
    let text = format!("{}[],[1,\"]\"],2,{{\"a\":[]}}{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
    let expected = format!("{}null,null,2,null{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
    let told = "3 times nested deeper than 60 levels (now null)";
    assert_eq!(repaired(&text), (expected, told.to_owned()));
    let (text, told) = repaired(&nested(400_000));
    assert_eq!(text, format!("{}null{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST)));
    assert_eq!(told, "nested deeper than 60 levels (now null)");
}

#[test]
fn a_number_that_some_cannot_hold_becomes_null() {
    let long = "9".repeat(LONGEST_INTEGER + 1);
    let precise = format!("0.{}", "1".repeat(LONGEST_NUMBER));
    for number in ["1e309", "-1E+999999999", "1.8e308", &long, &format!("-{long}.5"), &precise] {
        let told = "a number that a double cannot hold (now null)".to_owned();
        assert_eq!(repaired(&format!("[1, {number} ,2]")), ("[1, null ,2]".to_owned(), told), "{number}");
        assert_eq!(repaired(number).0, "null", "{number}");
    }
}

#[test]
fn half_a_surrogate_pair_becomes_the_replacement_character() {
    for (half, whole) in [
        (r"\ud800", r"\ufffd"),
        (r"\uDFFF!", r"\ufffd!"),
        (r"\udc00\ud800", r"\ufffd\ufffd"),
        (r"\ud800\n", r"\ufffd\n"),
        (r"\ud800\ud800\udc00", r"\ufffd\ud800\udc00"),
        (r"\\\ud83d", r"\\\ufffd"),
    ] {
        let (text, told) = repaired(&format!("{{\"{half}\":\"{half}\"}}"));
        assert_eq!(text, format!("{{\"{whole}\":\"{whole}\"}}"));
        assert!(told.contains("half of a surrogate pair (now U+FFFD)"), "{told}");
    }
}

#[test]
fn of_a_name_given_twice_the_first_stands() {
    for (text, expected) in [
        (r#"{"a":1,"a":2}"#, r#"{"a":1}"#),
        ("{\"a\":1\n,\n\"a\" : [1,{\"a\":2}] , \"b\":3}", "{\"a\":1  , \"b\":3}"),
        (r#"{"a":{"a":1,"\u0061":"}"},"b":2,"a":0}"#, r#"{"a":{"a":1},"b":2}"#),
        (r#"{"\ud800":1,"\ufffd":2,"\udc00":3,"x":4}"#, r#"{"\ufffd":1,"x":4}"#),
    ] {
        assert_eq!(repaired(text).0, expected);
    }
    let many: Vec<_> = (0..100).map(|n| format!("\"n{}\":{n}", n % 50)).collect();
    let (text, told) = repaired(&format!("{{{}}}", many.join(",")));
    assert_eq!(text, format!("{{{}}}", many[..50].join(",")));
    assert_eq!(told, "50 times a field whose name was there already (left out)");
}

#[test]
fn a_field_with_a_name_that_is_too_long_is_left_out() {
    let long = format!("\"{}\"", "n".repeat(LONGEST_NAME + 1));
    for (text, expected) in [
        (format!("{{{long}:1}}"), "{}"),
        (format!("{{{long} : [1] , {long}:2,\"a\":3}}"), "{\"a\":3}"),
        (format!("{{\"a\":1,\n{long}:\"x\"}}"), "{\"a\":1}"),
        (format!("{{\"a\":1,{long}:true,\"b\":2}}"), "{\"a\":1,\"b\":2}"),
    ] {
        let (text, told) = repaired(&text);
        assert_eq!(text.replace(' ', ""), expected);
        assert!(told.contains("a field with a name of over 50000 bytes (left out)"), "{told}");
    }
}

/// JSON as a guest might write it. It follows only the rules of the grammar.
fn hostile() -> impl Strategy<Value = String> {
    let blank = prop::sample::select(vec!["", "", " ", "\n", "\r\t"]);
    let piece = prop_oneof![
        prop::sample::select(vec!["a", "b", "\\\"", "\\\\", "\\n", "\\/", "é", "}", "]", ",", "{", "\u{9b}"]),
        prop::sample::select(vec!["\\ud800", "\\udc00", "\\uD83D\\uDE00", "\\u0061", "\\u0000", "\\ufffd"]),
    ];
    let string = prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()));
    let digits = "9".repeat(400);
    let number = prop::sample::select(vec!["0", "-1.5", "1e400", "-9E-99", "12e+3", "179e306", "180e306"])
        .prop_map(str::to_owned);
    let long = (0..400_usize).prop_map(move |length| digits[..=length.min(399)].to_owned());
    let word = prop::sample::select(vec!["true", "false", "null"]).prop_map(str::to_owned);
    let leaf = prop_oneof![string.clone(), number, long, word];
    let value = leaf.prop_recursive(6, 60, 5, move |inner| {
        let field = (string.clone(), blank.clone(), inner.clone())
            .prop_map(|(name, blank, value)| format!("{name}{blank}:{blank}{value}"));
        let list = (prop::collection::vec(inner.clone(), 0..5), blank.clone())
            .prop_map(|(items, blank)| format!("[{blank}{}]", items.join(&format!("{blank},"))));
        let object = (prop::collection::vec(field, 0..6), blank.clone())
            .prop_map(|(fields, blank)| format!("{{{blank}{}{blank}}}", fields.join(&format!(",{blank}"))));
        let deep = (inner, 1..80_usize)
            .prop_map(|(inner, levels)| format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels)));
        prop_oneof![3 => list, 4 => object, 1 => deep]
    });
    (value, any::<bool>()).prop_map(|(value, list)| if list { format!("[{value}]") } else { value })
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn whatever_the_grammar_allows_comes_out_readable(text in hostile()) {
        let (changed, repairs) = repair(&text);
        let result = changed.clone().unwrap_or_else(|| text.clone());
        let value: Value = serde_json::from_str(&result)
            .map_err(|error| TestCaseError::fail(format!("{error}: {text:?} became {result:?}")))?;
        prop_assert!(depth(&value) <= DEEPEST);
        prop_assert!(!result.contains(['\r', '\n']));
        prop_assert_eq!(repair(&result), (None, Repairs::default()), "a second look finds more in {}", result);
        if repairs.is_empty() {
            prop_assert_eq!(changed, text.contains(['\r', '\n']).then(|| text.replace(['\r', '\n'], " ")));
        }
    }
}
