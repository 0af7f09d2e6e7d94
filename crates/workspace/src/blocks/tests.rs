use proptest::prelude::*;

use super::*;

/// Language and code of each block.
fn found(text: &str) -> Vec<(String, String)> {
    let blocks = extract_code_blocks(text, &CodeBlockDelimiter::default());
    blocks.into_iter().map(|block| (block.language, block.code)).collect()
}

fn block(language: &str, code: &str) -> (String, String) {
    (language.to_owned(), code.to_owned())
}

fn angled() -> CodeBlockDelimiter {
    CodeBlockDelimiter { start: "<code>".to_owned(), end: "</code>".to_owned() }
}

#[test]
fn case_1_a_block_has_its_language_and_ends_with_a_newline() {
    let text = "```python\nprint('Hello, World!')\n```";
    assert_eq!(found(text), [block("python", "print('Hello, World!')\n")]);
    assert_eq!(found("```\nx\n```"), [block("", "x\n")]);
    assert_eq!(found("```   python\nx\n```\n"), [block("python", "x\n")]);
}

#[test]
fn case_2_blocks_come_in_order() {
    let text = "```go\na()\n```\nand then\n```js\nb()\n```\n";
    assert_eq!(found(text), [block("go", "a()\n"), block("js", "b()\n")]);
}

#[test]
fn case_3_other_delimiters_are_taken_literally() {
    let blocks = extract_code_blocks("<code>ruby\nputs 'hi'\n</code>", &angled());
    assert_eq!(blocks, [CodeBlock { code: "puts 'hi'\n".to_owned(), language: "ruby".to_owned() }]);
}

#[test]
fn case_4_an_empty_line_is_code() {
    assert_eq!(found("```go\n\n```"), [block("go", "\n")]);
    assert_eq!(found("```go\n```"), [block("go", "")]);
}

#[test]
fn case_5_half_a_block_and_a_block_on_one_line_are_none() {
    for text in ["", "text", "```python\nprint()\n", "```print()```", "```python print()```\nx\n"] {
        assert_eq!(found(text), [], "{text}");
    }
    for text in ["<code>ruby\nputs", "<code>ruby puts</code>", "<code>", "<code>x</code>\ny</code>"] {
        assert_eq!(extract_code_blocks(text, &angled()), [], "{text}");
    }
}

#[test]
fn case_6_a_language_has_no_carriage_return() {
    assert_eq!(found("```python\r\nx\r\n```\r\n"), [block("python", "x\r\n")]);
    assert_eq!(extract_code_blocks("<code>py\r\nx</code>", &angled())[0].language, "py");
}

#[test]
fn case_7_what_follows_the_language_is_not_part_of_it() {
    assert_eq!(found("```python title=\"a\"\nx\n```"), [block("python", "x\n")]);
}

#[test]
fn case_8_only_a_line_of_its_own_ends_a_block() {
    let code = "text = '''\n```` and ```\n        ```\n'''\n";
    assert_eq!(found(&format!("```python\n{code}```\n")), [block("python", code)]);
}

#[test]
fn code_in_a_sentence_opens_nothing() {
    let text = "```x``` is code, and so is ```y```\n```sh\nls\n```\n";
    assert_eq!(found(text), [block("sh", "ls\n")]);
    assert_eq!(found("use ```\nx\n```"), []);
}

#[test]
fn longer_fences_and_tildes_hold_shorter_ones() {
    assert_eq!(found("````md\n```\nx\n```\n`````\n"), [block("md", "```\nx\n```\n")]);
    assert_eq!(found("~~~ruby\n```\n~~~~  \n"), [block("ruby", "```\n")]);
    assert_eq!(found("~~~a`b\nx\n~~~"), [block("a`b", "x\n")]);
}

/// Indented code would be no Python.
#[test]
fn code_in_a_list_loses_the_indentation_of_the_list() {
    let text = "1. first:\n\n      ```python\n      if x:\n          y()\n\n    z()\n      ```\n";
    assert_eq!(found(text), [block("python", "if x:\n    y()\n\nz()\n")]);
}

#[test]
fn empty_delimiters_find_nothing() {
    for (start, end) in [("", ""), ("<a>", ""), ("", "</a>")] {
        let delimiter = CodeBlockDelimiter { start: start.to_owned(), end: end.to_owned() };
        assert_eq!(extract_code_blocks("<a>x\ny</a>\n", &delimiter), []);
    }
}

proptest! {
    #[test]
    fn code_is_always_a_part_of_the_text(text in "([`~]{1,4}|[ \t]{1,5}|\r?\n|py|x|é|</?a>){0,40}") {
        for block in extract_code_blocks(&text, &CodeBlockDelimiter::default()) {
            for line in block.code.split_inclusive('\n') {
                prop_assert!(text.split_inclusive('\n').any(|whole| whole.ends_with(line)));
            }
            // Only what a fence is indented by is taken out.
            let is_indented = text.lines().any(|line| Fence::opening(line).is_some_and(|f| f.indentation > 0));
            prop_assert!(is_indented || text.contains(&block.code));
            prop_assert!(text.contains(&block.language));
        }
        let delimiter = CodeBlockDelimiter { start: "<a>".to_owned(), end: "</a>".to_owned() };
        for block in extract_code_blocks(&text, &delimiter) {
            prop_assert!(text.contains(&block.code) && text.contains(&block.language));
        }
    }

    #[test]
    fn a_block_that_is_written_is_found(code in "([a-z`~ ]{0,6}\n){0,6}", language in "[a-z]{0,6}") {
        let longest = code.chars().filter(|sign| *sign == '`').count().max(2);
        let fence = "`".repeat(longest + 1);
        let text = format!("before\n{fence}{language}\n{code}{fence}\nafter");
        prop_assert_eq!(found(&text), [(language, code)]);
    }
}
