//! Files of attacks: blocks of Python, each with a name and what must come of it.
//!
//! ```text
//!  # attack: etc_shadow
//!  # Password hashes of the host's users.
//!  # expect: "ENOENT"
//!  emit_result(attempt(open, "/etc/shadow"))
//! ```
//!
//! The comments below the name are the head. A suite asks for the fields it knows, such as
//! `expect`. A field may stand several times. `# expect docker: …` stands instead of the plain
//! lines on that engine, and a comment between the two says why the difference is harmless.

use std::collections::BTreeSet;

/// One attack.
#[derive(Debug)]
pub struct Block<'a> {
    /// Its name, which no other block of the file has.
    pub name: &'a str,
    /// The script, below the head.
    pub script: &'a str,
    /// The lines of the head.
    head: Vec<&'a str>,
}

/// The blocks of a file, in order.
///
/// # Panics
///
/// When there are none, when one is nothing but a name, and when two have the same name.
pub fn blocks(source: &str) -> Vec<Block<'_>> {
    let blocks: Vec<_> = source.split("# attack: ").skip(1).map(Block::read).collect();
    assert!(!blocks.is_empty(), "a file of attacks without attacks");
    let names: BTreeSet<_> = blocks.iter().map(|block| block.name).collect();
    assert_eq!(names.len(), blocks.len(), "a name is used twice");
    blocks
}

impl<'a> Block<'a> {
    fn read(text: &'a str) -> Self {
        let (name, mut script) = text.split_once('\n').expect("an attack is more than a name");
        let mut head = Vec::new();
        while let Some((line, rest)) = script.strip_prefix("# ").and_then(|line| line.split_once('\n')) {
            head.push(line);
            script = rest;
        }
        Self { name, script, head }
    }

    /// The value of a field, when the head has it.
    pub fn field(&self, key: &str) -> Option<&'a str> {
        self.head.iter().find_map(|line| value_of(line, key))
    }

    /// Whether the head begins by saying why the attack matters.
    pub fn has_reason(&self) -> bool {
        self.head.first().is_some_and(|line| !line.starts_with("expect"))
    }

    /// What must come of it on an engine. Several values are alternatives.
    ///
    /// # Panics
    ///
    /// When the head expects nothing, or does not say why that engine may differ.
    pub fn expected_on(&self, engine: &str) -> Vec<&'a str> {
        let usual: Vec<_> = self.head.iter().filter_map(|line| value_of(line, "expect")).collect();
        assert!(!usual.is_empty(), "{} does not say what to expect", self.name);
        let own_key = format!("expect {engine}");
        let Some(own_begin) = self.head.iter().position(|line| value_of(line, &own_key).is_some()) else {
            return usual;
        };
        let usual_begin = self.head.iter().position(|line| value_of(line, "expect").is_some());
        let mut between = self.head[..own_begin].iter().skip(usual_begin.unwrap_or(own_begin));
        assert!(
            between.any(|line| !line.starts_with("expect")),
            "{} does not say why {engine} may differ",
            self.name
        );
        self.head.iter().filter_map(|line| value_of(line, &own_key)).collect()
    }
}

fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "# attack: a\n# Why.\n# expect: 1\n# Harmless.\n# expect docker: 2\n# expect docker: 3\n# seconds: 5\nrun()\n";

    #[test]
    fn a_block_has_a_name_a_head_and_a_script() {
        let two = format!("prelude\n{WHOLE}{}", WHOLE.replace("attack: a", "attack: b"));
        let blocks = blocks(&two);
        assert_eq!(blocks.iter().map(|block| block.name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((blocks[0].script, blocks[0].field("seconds")), ("run()\n", Some("5")));
        assert_eq!((blocks[0].field("warns"), blocks[0].has_reason()), (None, true));
        assert!(!super::blocks(&WHOLE.replace("# Why.\n", ""))[0].has_reason());
    }

    #[test]
    fn what_an_engine_may_answer_stands_instead_of_the_rest_and_has_a_reason() {
        let block = &blocks(WHOLE)[0];
        assert_eq!((block.expected_on("native"), block.expected_on("docker")), (vec!["1"], vec!["2", "3"]));
        let plain = "# attack: a\n# Why.\n# expect: 1\nrun()\n";
        assert_eq!(blocks(plain)[0].expected_on("docker"), ["1"]);
        for line in ["# expect: 1\n", "# Harmless.\n"] {
            let partial = WHOLE.replace(line, "");
            let read = std::panic::catch_unwind(|| blocks(&partial)[0].expected_on("docker").len());
            assert!(read.is_err(), "{partial}");
        }
    }

    #[test]
    fn a_file_without_attacks_or_with_one_name_twice_is_refused() {
        for source in ["", "# attack: a", &WHOLE.repeat(2)] {
            assert!(std::panic::catch_unwind(|| blocks(source).len()).is_err(), "{source:?}");
        }
    }
}
