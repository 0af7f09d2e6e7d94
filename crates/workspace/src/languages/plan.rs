//! What to write and run for one block.

use super::{Language, Toolchain, java};
use crate::{CodeBlock, PutFile, WorkspaceError, layout};

/// A block as a file and a program that takes the file's name as its only argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSpec {
    /// The file's name, in the directory of sources.
    pub file: String,
    /// Its mode.
    pub mode: u32,
    /// The program.
    pub cmd: String,
    /// Arguments before the file's name. There are none yet.
    pub args: Vec<String>,
}

/// The simplest way to run a block: in Python or Bash, and nothing else. [`plan_block`] knows more
/// languages.
pub fn build_block_spec(index: usize, block: &CodeBlock) -> Result<BlockSpec, WorkspaceError> {
    let name = block.language.trim().to_lowercase();
    let mut basics = Language::all().iter().filter_map(|language| Some((language, language.basic.as_ref()?)));
    let (language, basic) =
        basics.find(|(_, basic)| basic.names.contains(&name)).ok_or_else(|| unsupported(block))?;
    let file = format!("code_{index}.{}", language.extension);
    Ok(BlockSpec { file, mode: mode(language), cmd: basic.program.clone(), args: Vec::new() })
}

/// What to do for a block. All of it happens in the directory of sources
/// ([`INLINE_SOURCES`](layout::INLINE_SOURCES)), and all paths are relative to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPlan {
    /// The language's own name.
    pub language: &'static str,
    /// Files to write.
    pub files: Vec<PutFile>,
    /// The compiler and its arguments. If it fails, the block has failed.
    pub compile: Option<Vec<String>>,
    /// The program and its arguments.
    pub run: Vec<String>,
    /// The variable with the places where modules or headers are looked for. A block finds those
    /// that other blocks have written only if the directory that it runs in is one of them.
    pub search: Option<&'static str>,
}

/// What to do for a block, with the first toolchain of its language that is found.
///
/// `is_found` says whether a program can be run by that name where the block will run.
pub fn plan_block(
    index: usize,
    block: &CodeBlock,
    is_found: impl Fn(&str) -> bool,
) -> Result<BlockPlan, WorkspaceError> {
    plan_block_in("", index, block, is_found)
}

/// The same for a block whose files are in a directory below that of sources. It still runs in the
/// directory of sources.
pub fn plan_block_in(
    directory: &str,
    index: usize,
    block: &CodeBlock,
    is_found: impl Fn(&str) -> bool,
) -> Result<BlockPlan, WorkspaceError> {
    let language = Language::named(&block.language).ok_or_else(|| unsupported(block))?;
    let is_whole = |toolchain: &&Toolchain| toolchain.needs.iter().all(|program| is_found(program));
    let toolchain = language.toolchains.iter().find(is_whole).ok_or_else(|| missing(language))?;

    let class = java::classes(&block.code);
    let separator = if directory.is_empty() { "" } else { "/" };
    let mut names = vec![
        ("{stem}", format!("{directory}{separator}code_{index}")),
        ("{extension}", language.extension.clone()),
        ("{class}", class.source),
        ("{main}", class.main),
    ];
    let source = language.source.as_deref().unwrap_or("{stem}.{extension}");
    let path = filled(source, &names);
    names.push(("{file}", path.clone()));
    let argv = |template: &Vec<String>| template.iter().map(|part| filled(part, &names)).collect();
    Ok(BlockPlan {
        language: language.name(),
        files: vec![PutFile { path, content: content(language, &block.code), mode: mode(language) }],
        compile: toolchain.compile.as_ref().map(argv),
        run: argv(&toolchain.run),
        search: language.search.as_deref(),
    })
}

fn mode(language: &Language) -> u32 {
    if language.executable { layout::EXECUTABLE_MODE } else { layout::SCRIPT_MODE }
}

fn content(language: &Language, code: &str) -> Vec<u8> {
    match &language.prologue {
        Some(prologue) if !code.contains(&prologue.unless) => format!("{}{code}", prologue.text).into_bytes(),
        _ => code.as_bytes().to_vec(),
    }
}

fn filled(template: &str, names: &[(&str, String)]) -> String {
    names.iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value))
}

fn unsupported(block: &CodeBlock) -> WorkspaceError {
    WorkspaceError::UnsupportedLanguage { language: block.language.clone() }
}

fn missing(language: &Language) -> WorkspaceError {
    let toolchains = language.toolchains.iter().map(|toolchain| toolchain.needs.join(" and "));
    WorkspaceError::Toolchain {
        language: language.name().to_owned(),
        program: toolchains.collect::<Vec<_>>().join(" or "),
        advice: language.advice.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(language: &str, code: &str) -> CodeBlock {
        CodeBlock { code: code.to_owned(), language: language.to_owned() }
    }

    fn plan(language: &str, code: &str, found: &[&str]) -> Result<BlockPlan, WorkspaceError> {
        plan_block(3, &block(language, code), |program| found.contains(&program))
    }

    #[test]
    fn case_12_python_and_bash_have_their_file_and_program() {
        let spec = |index, language| build_block_spec(index, &block(language, "")).unwrap();
        let expected = |file: &str, mode, cmd: &str| BlockSpec {
            file: file.to_owned(),
            mode,
            cmd: cmd.to_owned(),
            args: Vec::new(),
        };
        assert_eq!(spec(1, "python"), expected("code_1.py", 0o644, "python3"));
        assert_eq!(spec(2, "bash"), expected("code_2.sh", 0o755, "bash"));
    }

    #[test]
    fn case_13_other_languages_are_refused_as_they_were_written() {
        for language in [" PY ", "sh", "Python3"] {
            assert!(build_block_spec(0, &block(language, "")).is_ok(), "{language}");
        }
        for language in ["Go", "", "cobol", "shell"] {
            let error = build_block_spec(0, &block(language, "")).unwrap_err();
            assert_eq!(error.to_string(), format!("unsupported language: {language}"));
        }
    }

    #[test]
    fn a_plan_uses_the_first_toolchain_that_is_there() {
        assert_eq!(plan("ts", "", &["node", "tsx"]).unwrap().run, ["tsx", "code_3.ts"]);
        let node = ["node", "--experimental-strip-types", "code_3.ts"];
        assert_eq!(plan("TypeScript", "", &["node"]).unwrap().run, node);
        let python = plan("py", "print()\n", &["python3"]).unwrap();
        assert_eq!((python.compile, python.run), (None, vec!["python3".to_owned(), "code_3.py".to_owned()]));
        assert_eq!(python.files, [PutFile { mode: 0o644, ..PutFile::new("code_3.py", "print()\n") }]);
    }

    #[test]
    fn a_compiled_language_is_compiled_first() {
        let plan = plan("C", "int main(){}", &["cc"]).unwrap();
        assert_eq!(plan.compile.unwrap(), ["cc", "-O1", "-o", "code_3", "code_3.c", "-lm"]);
        assert_eq!(plan.run, ["./code_3"]);
    }

    #[test]
    fn a_missing_toolchain_says_how_to_get_one() {
        let error = plan("java", "class A {}", &["java"]).unwrap_err().to_string();
        assert!(error.starts_with("cannot run java: it needs javac and java; install"), "{error}");
        assert!(matches!(plan("klingon", "", &[]), Err(WorkspaceError::UnsupportedLanguage { .. })));
    }

    #[test]
    fn java_is_named_after_its_class() {
        let code = "package a.b;\npublic class Hello { public static void main(String[] a) {} }";
        let plan = plan("java", code, &["java", "javac"]).unwrap();
        assert_eq!(plan.files[0].path, "code_3/Hello.java");
        assert_eq!(plan.compile.unwrap(), ["javac", "-d", "code_3", "code_3/Hello.java"]);
        assert_eq!(plan.run, ["java", "-cp", "code_3", "a.b.Hello"]);
    }

    #[test]
    fn everything_of_a_block_is_in_its_directory() {
        let plan = |language, code, found| {
            plan_block_in(".exec/2", 3, &block(language, code), |program| program == found || found == "*")
                .unwrap()
        };
        assert_eq!(plan("py", "", "python3").run, ["python3", ".exec/2/code_3.py"]);
        let c = plan("c", "", "cc");
        assert_eq!(c.compile.unwrap(), ["cc", "-O1", "-o", ".exec/2/code_3", ".exec/2/code_3.c", "-lm"]);
        assert_eq!((c.run, c.search), (vec!["./.exec/2/code_3".to_owned()], Some("CPATH")));
        let java = plan("java", "class A {}", "*");
        assert_eq!(java.files[0].path, ".exec/2/code_3/A.java");
        assert_eq!(java.run, ["java", "-cp", ".exec/2/code_3", "A"]);
    }

    #[test]
    fn php_without_a_tag_gets_one() {
        assert_eq!(plan("php", "echo 1;", &["php"]).unwrap().files[0].content, b"<?php\necho 1;");
        assert_eq!(plan("php", "<?php echo 1;", &["php"]).unwrap().files[0].content, b"<?php echo 1;");
    }
}
