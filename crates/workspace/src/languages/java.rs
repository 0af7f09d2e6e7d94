//! The names that a Java source must be compiled and run by.
//!
//! `javac` wants a source to be called like its public class, and `java` wants the class with
//! `main`. So the source is split into words, without comments and strings, and its outermost types
//! are found. Code that is no Java gets the usual name, and the compiler says what is wrong.

/// The names of one source.
pub(super) struct Classes {
    /// What the source is called, without its extension.
    pub(super) source: String,
    /// The class to run, with its package.
    pub(super) main: String,
}

/// The usual name.
const USUAL: &str = "Main";

struct Type {
    name: String,
    is_public: bool,
    has_main: bool,
}

/// The names of a source.
pub(super) fn classes(code: &str) -> Classes {
    let words = words(code);
    let mut types: Vec<Type> = Vec::new();
    let (mut package, mut is_public, mut depth) = (String::new(), false, 0_usize);
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        match *word {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "package" if depth == 0 && types.is_empty() => {
                package = words[at + 1..].iter().take_while(|part| **part != ";").copied().collect();
            }
            "public" if depth == 0 => is_public = true,
            "class" | "record" | "enum" | "interface" if depth == 0 && is_name(next) => {
                types.push(Type { name: next.to_owned(), is_public, has_main: false });
                is_public = false;
            }
            "main" if depth == 1 && next == "(" => {
                if let Some(last) = types.last_mut() {
                    last.has_main = true;
                }
            }
            _ => {}
        }
    }
    let first_of =
        |is: fn(&Type) -> bool| types.iter().find(|found| is(found)).map(|found| found.name.clone());
    let usual = || first_of(|_| true).unwrap_or_else(|| USUAL.to_owned());
    let with_main = first_of(|found| found.has_main).unwrap_or_else(usual);
    let source = first_of(|found| found.is_public).unwrap_or_else(|| with_main.clone());
    let is_path = package.split('.').all(is_name);
    let main = if is_path { format!("{package}.{with_main}") } else { with_main };
    Classes { source, main }
}

/// Names that need no quoting anywhere. Others are allowed in Java, but nobody uses them.
fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && word.len() <= 200
        && word.chars().all(|next| next.is_ascii_alphanumeric() || next == '_')
}

/// Words and single signs, without comments, strings and characters.
fn words(code: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |end| end + 4)
        } else if let Some(text) = rest.strip_prefix("\"\"\"") {
            text.find("\"\"\"").map_or(rest.len(), |end| end + 6)
        } else if first == '"' || first == '\'' {
            quoted(rest, first)
        } else {
            let word = rest.find(|next: char| !(next.is_alphanumeric() || next == '_')).unwrap_or(rest.len());
            let length = word.max(first.len_utf8());
            if !first.is_whitespace() {
                words.push(&rest[..length]);
            }
            length
        };
        rest = &rest[length..];
    }
    words
}

/// The length of a string or character, with its quotes. It ends with its line at the latest.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, next) in text.char_indices().skip(1) {
        match next {
            '\n' => return at,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if next == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(code: &str) -> (String, String) {
        let Classes { source, main } = classes(code);
        (source, main)
    }

    #[test]
    fn a_source_is_called_like_its_public_class() {
        for (code, source, main) in [
            ("public class A { static void main(String[] a) {} }", "A", "A"),
            ("class B {} public class A { void main() {} }", "A", "A"),
            ("class B {} class A { public static void main(String... a) {} }", "A", "A"),
            ("public class Tool {} class Run { static void main(String[] a) {} }", "Tool", "Run"),
            ("package x.y; final public class A {}", "A", "x.y.A"),
            ("public record P(int x) { static void main(String[] a) {} }", "P", "P"),
            ("class Only {}", "Only", "Only"),
            ("System.out.println(1);", "Main", "Main"),
            ("", "Main", "Main"),
        ] {
            assert_eq!(named(code), (source.to_owned(), main.to_owned()), "{code}");
        }
    }

    #[test]
    fn comments_strings_and_inner_classes_do_not_count() {
        let code = "// public class No\n/* public class No { */\nclass Yes { String s = \"} public class No {\\\"\";\n\
                    char c = '{'; String t = \"\"\"\n} class No \"\"\";\nstatic class Inner {}\n\
                    public static void main(String[] a) { class Local {} } }";
        assert_eq!(named(code), ("Yes".to_owned(), "Yes".to_owned()));
    }

    #[test]
    fn no_name_leads_elsewhere() {
        assert_eq!(named("package ../x; class ../../A {}").0, "Main");
        assert_eq!(named("package a.;class A {}").1, "A");
    }

    proptest::proptest! {
        #[test]
        fn no_source_is_too_odd(code in "(public |class |main\\(|[{}\"'/*;\\\\\né]|A){0,30}") {
            let (source, main) = named(&code);
            proptest::prop_assert!(is_name(&source));
            proptest::prop_assert!(main.split('.').all(is_name));
        }
    }
}
