//! Languages that code blocks may be in, and how their code is run.
//!
//! What is known of each is data, in `languages.toml`. A language has toolchains; the first of
//! which all programs are found counts. Where programs are looked for is the engine's business,
//! because only it knows what is in a container or cell.

mod java;
mod plan;

use std::sync::LazyLock;

use serde::Deserialize;

pub use plan::{BlockPlan, BlockSpec, build_block_spec, plan_block, plan_block_in};

/// A language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Language {
    names: Vec<String>,
    extension: String,
    #[serde(default)]
    executable: bool,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    search: Option<String>,
    #[serde(default)]
    prologue: Option<Prologue>,
    #[serde(default)]
    basic: Option<Basic>,
    advice: String,
    #[serde(rename = "toolchain")]
    toolchains: Vec<Toolchain>,
}

/// Text that must stand before code.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prologue {
    text: String,
    unless: String,
}

/// The simplest way to run a language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Basic {
    program: String,
    names: Vec<String>,
}

/// A way to run code.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Toolchain {
    needs: Vec<String>,
    #[serde(default)]
    compile: Option<Vec<String>>,
    run: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    language: Vec<Language>,
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("languages.toml")).expect("a test reads the same table");
    table.language
});

impl Language {
    /// All languages.
    pub fn all() -> &'static [Self] {
        &LANGUAGES
    }

    /// The language that a block names. Case and blanks around it do not matter.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = name.trim().to_lowercase();
        Self::all().iter().find(|language| language.names.contains(&name))
    }

    /// Its own name.
    pub fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// All names that a block may use, its own first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The extension of a source, without the dot.
    pub fn extension(&self) -> &str {
        &self.extension
    }

    /// How to provide a toolchain.
    pub fn advice(&self) -> &str {
        &self.advice
    }

    /// All programs that some toolchain needs. Not all of them are needed.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.toolchains.iter().flat_map(|toolchain| &toolchain.needs).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_language_of_the_table_can_be_found_and_run() {
        let mut seen = BTreeSet::new();
        for language in Language::all() {
            for name in language.names() {
                assert!(seen.insert(name), "two languages are called {name}");
                assert_eq!(Language::named(&name.to_uppercase()).map(Language::name), Some(language.name()));
            }
            assert!(!language.toolchains.is_empty() && !language.advice().is_empty(), "{}", language.name());
            for toolchain in &language.toolchains {
                let begun = [toolchain.compile.as_ref(), Some(&toolchain.run)].into_iter().flatten();
                for argv in begun.filter(|argv| argv[0] != "./{stem}") {
                    assert!(
                        toolchain.needs.contains(&argv[0]),
                        "{} does not need {}",
                        language.name(),
                        argv[0]
                    );
                }
            }
        }
        for name in "python bash javascript typescript ruby perl php lua go rust c c++ java r".split(' ') {
            assert!(seen.contains(name), "{name}");
        }
    }

    #[test]
    fn what_no_block_can_run_is_no_language() {
        for name in ["", " ", "json", "text", "klingon", "python title"] {
            assert!(Language::named(name).is_none(), "{name}");
        }
    }
}
