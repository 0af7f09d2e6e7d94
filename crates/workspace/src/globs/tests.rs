use proptest::prelude::*;

use super::*;

fn set(pattern: &str) -> GlobSet {
    GlobSet::new([pattern]).unwrap()
}

#[track_caller]
fn check(pattern: &str, matching: &[&str], others: &[&str]) {
    for path in matching {
        assert!(set(pattern).matches(path.as_bytes()), "{pattern} must match {path}");
    }
    for path in others {
        assert!(!set(pattern).matches(path.as_bytes()), "{pattern} must not match {path}");
    }
}

#[test]
fn stars_stay_in_their_segment() {
    check("out/*", &["out/a", "out/.hidden", "out/a.b"], &["out", "out/a/b", "x/out/a", "outa"]);
    check("*.t?t", &["a.txt", ".txt", "é.tét"], &["a.tt", "a/b.txt"]);
    check("a*b*c", &["abc", "aXbbXc", "abcbc"], &["ab", "abcd"]);
}

#[test]
fn two_stars_mean_any_depth_only_as_a_segment() {
    check("out/**", &["out", "out/a", "out/a/b"], &["", "outer", "work/out"]);
    check("**/*.txt", &["a.txt", "a/b/c.txt"], &["a.txt/b"]);
    check("a/**/**/b", &["a/b", "a/x/y/b"], &["a", "b"]);
    check("a**/b", &["a/b", "axx/b"], &["a/x/b"]);
    check("dst/**/*.txt", &["dst/sub/a.txt", "dst/a.txt"], &["dst/img.bin"]);
}

#[test]
fn classes_braces_and_escapes_are_understood() {
    check("[a-c]x", &["ax", "cx"], &["dx", "x", "/x"]);
    check("[^a-c]", &["d", "é"], &["a", "", "dd"]);
    check("[!a]", &["b"], &["a"]);
    check("[a-]", &["a", "-"], &["b"]);
    check("[\\]]", &["]"], &["\\"]);
    check("{a,b{c,d}}/x", &["a/x", "bc/x", "bd/x"], &["b/x", "c/x"]);
    check("out/{*.txt,sub/**}", &["out/a.txt", "out/sub/x/y"], &["out/a.bin"]);
    check("a{,b}", &["a", "ab"], &["a,"]);
    check("\\*\\{", &["*{"], &["a{"]);
    check("[{]", &["{"], &["a"]);
}

#[test]
fn a_bad_pattern_is_named() {
    for pattern in ["[a", "[]", "[^]", "{a", "a}", "a\\", "[b-a]", "{a,[}"] {
        let error = GlobSet::new(["fine", pattern]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("bad pattern `{pattern}`")), "{error}");
    }
    let many = "{a,b}".repeat(30);
    assert!(GlobSet::new([many]).unwrap_err().to_string().contains("alternatives"));
}

#[test]
fn no_pattern_leads_out_of_the_workspace() {
    check("../*.txt", &[], &["a.txt", "../a.txt"]);
    check("**/../a", &[], &["a", "../a"]);
    check("./out//*", &["out/a"], &[]);
    check("out/../work/*", &["work/a"], &["out/a"]);
    check("/out/*", &["out/a"], &[]);
    check(".", &["", "."], &["a"]);
}

#[test]
fn a_name_need_not_be_text() {
    for pattern in ["out/*", "out/?", "out/[^a]", "**"] {
        assert!(set(pattern).matches(b"out/\xff"), "{pattern}");
    }
    for pattern in ["out/[a-z]", "out/\u{fffd}", "out/??"] {
        assert!(!set(pattern).matches(b"out/\xff"), "{pattern}");
    }
    assert!(set("?a?").matches(b"\xe2a\xf0"));
}

#[test]
fn a_walk_enters_only_where_something_may_match() {
    let set = GlobSet::new(["out/*/x", "work/**"]).unwrap();
    for directory in ["", ".", "out", "out/a", "work", "work/deep/down"] {
        assert!(set.may_be_below(directory.as_bytes()), "{directory}");
    }
    for directory in ["out/a/x", "skills", "out/a/b"] {
        assert!(!set.may_be_below(directory.as_bytes()), "{directory}");
    }
    assert!(!GlobSet::default().may_be_below(b""));
}

#[test]
fn a_pattern_made_to_be_slow_is_not() {
    let pattern = format!("{}b", "*a".repeat(200));
    assert!(!set(&pattern).matches(&vec![b'a'; 20_000][..]));
    let deep = format!("{}b", "**/a/".repeat(100));
    assert!(!set(&deep).matches("a/".repeat(2000).as_bytes()));
}

/// The same, as plainly as it can be said, for patterns of letters, `*`, `?`, `**` and groups.
fn plainly(pattern: &str, path: &str) -> bool {
    if let Some(begin) = pattern.find('{') {
        let end = begin + pattern[begin..].find('}').unwrap();
        let one = |part: &str| plainly(&format!("{}{part}{}", &pattern[..begin], &pattern[end + 1..]), path);
        return pattern[begin + 1..end].split(',').any(one);
    }
    let pattern: Vec<_> = pattern.split('/').filter(|segment| !segment.is_empty()).collect();
    let path: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    plainly_segments(&pattern, &path)
}

fn plainly_segments(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=path.len()).any(|taken| plainly_segments(rest, &path[taken..])),
        ([first, rest @ ..], [name, below @ ..]) => {
            let (first, name): (Vec<_>, Vec<_>) = (first.chars().collect(), name.chars().collect());
            plainly_name(&first, &name) && plainly_segments(rest, below)
        }
        _ => false,
    }
}

fn plainly_name(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => (0..=name.len()).any(|taken| plainly_name(rest, &name[taken..])),
        (['?', rest @ ..], [_, after @ ..]) => plainly_name(rest, after),
        ([one, rest @ ..], [other, after @ ..]) => one == other && plainly_name(rest, after),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn it_matches_what_the_plain_rules_match(
        pattern in "([abé*?/]|\\*\\*/|/\\*\\*|\\{[ab*]{0,2},[ab/]{0,2}\\}){0,8}",
        path in "[abé]{1,3}(/[abé]{1,2}){0,3}",
    ) {
        let set = set(&pattern);
        prop_assert_eq!(set.matches(path.as_bytes()), plainly(&pattern, &path), "{} {}", pattern, path);
        // Whatever matches is found by a walk that asks first.
        if set.matches(path.as_bytes()) {
            for (at, _) in path.match_indices('/') {
                prop_assert!(set.may_be_below(&path.as_bytes()[..at]), "{} {}", pattern, path);
            }
        }
    }

    #[test]
    fn no_pattern_is_too_odd(pattern in "[\\[\\]{}\\\\,*?!^ab/.-]{0,20}", path in ".{0,10}") {
        if let Ok(set) = GlobSet::new([pattern]) {
            set.matches(path.as_bytes());
            set.may_be_below(path.as_bytes());
        }
    }
}
