//! What a layer is made from, and its name.

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::error::LayerError;
use super::requirement;
use crate::python::Interpreter;

/// Raise this when the same inputs would give another layer: installer flags, permissions,
/// manifest.
pub(super) const RECIPE: u32 = 1;

/// Everything that decides what is in a layer.
#[derive(Debug, Clone)]
pub struct LayerSpec {
    /// PEP 508 requirements, in any order.
    pub requirements: Vec<String>,
    /// The Python they are for.
    pub interpreter: Interpreter,
    /// Whether packages without a wheel may be built, which runs their code on the host.
    pub allow_source_builds: bool,
}

impl LayerSpec {
    /// The layer's name: a SHA-256 in hex over every input. The order of the requirements does not
    /// matter.
    pub fn key(&self) -> String {
        let mut hash = Sha256::new();
        // The length goes in with each value, so that no two inputs have the same bytes.
        let mut field = |value: &[u8]| {
            hash.update((value.len() as u64).to_le_bytes());
            hash.update(value);
        };
        field(b"belljar layer");
        field(&RECIPE.to_le_bytes());
        python_fields(self, &mut field);
        field(&[u8::from(self.allow_source_builds)]);
        for requirement in self.canonical() {
            field(requirement.as_bytes());
        }
        hex(&hash.finalize())
    }

    /// The requirements, trimmed and sorted, each once.
    pub(super) fn canonical(&self) -> Vec<String> {
        let each = self.requirements.iter().map(|requirement| requirement.trim().to_owned());
        each.collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn check(&self) -> Result<(), LayerError> {
        if self.requirements.is_empty() {
            return Err(LayerError::NoRequirements);
        }
        for text in &self.requirements {
            requirement::check(text, self.allow_source_builds)
                .map_err(|reason| LayerError::Requirement { requirement: text.clone(), reason })?;
        }
        Ok(())
    }
}

/// The part of a key that says which Python the files are for.
pub(super) fn python_fields(spec: &LayerSpec, field: &mut dyn FnMut(&[u8])) {
    let python = &spec.interpreter;
    field(python.dotted().as_bytes());
    field(python.abi.as_bytes());
    field(python.libc.as_bytes());
    field(ARCH.as_bytes());
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn spec() -> LayerSpec {
        LayerSpec {
            requirements: vec!["numpy==1.26.4".into(), "pandas".into()],
            interpreter: Interpreter {
                executable: "/opt/p/bin/python3.11".into(),
                version: (3, 11, 7),
                prefix: "/opt/p".into(),
                exec_prefix: "/opt/p".into(),
                stdlib: "/opt/p/lib".into(),
                platstdlib: "/opt/p/lib".into(),
                shared_library: None,
                abi: "cpython-311-x86_64-linux-gnu".into(),
                libc: "glibc 2.36".into(),
            },
            allow_source_builds: false,
        }
    }

    #[test]
    fn every_input_changes_the_key() {
        let mut keys = HashMap::from([(spec().key(), "the original")]);
        let mut differs = |what: &'static str, change: &dyn Fn(&mut LayerSpec)| {
            let mut changed = spec();
            change(&mut changed);
            let same_as = keys.insert(changed.key(), what);
            assert_eq!(same_as, None, "{what}");
        };
        differs("another version of a requirement", &|s| s.requirements[0] = "numpy==1.26.3".into());
        differs("one requirement less", &|s| s.requirements.truncate(1));
        differs("one requirement more", &|s| s.requirements.push("six".into()));
        differs("requirements run together", &|s| s.requirements = vec!["numpy==1.26.4pandas".into()]);
        differs("requirements split elsewhere", &|s| {
            s.requirements = vec!["numpy==1.26.4p".into(), "andas".into()];
        });
        differs("major", &|s| s.interpreter.version.0 = 4);
        differs("minor", &|s| s.interpreter.version.1 = 12);
        differs("micro", &|s| s.interpreter.version.2 = 8);
        differs("architecture", &|s| s.interpreter.abi = "cpython-311-aarch64-linux-gnu".into());
        differs("libc family", &|s| s.interpreter.abi = "cpython-311-x86_64-linux-musl".into());
        differs("libc version", &|s| s.interpreter.libc = "glibc 2.31".into());
        differs("source builds", &|s| s.allow_source_builds = true);
    }

    #[test]
    fn order_repetition_and_blanks_do_not_change_the_key() {
        for requirements in [
            vec!["pandas", "numpy==1.26.4"],
            vec!["numpy==1.26.4", "pandas", "pandas"],
            vec![" numpy==1.26.4", "pandas "],
        ] {
            let same = LayerSpec { requirements: requirements.iter().map(|&r| r.into()).collect(), ..spec() };
            assert_eq!(same.key(), spec().key(), "{requirements:?}");
        }
    }

    #[test]
    fn where_the_same_python_lives_does_not_change_the_key() {
        let mut moved = spec();
        moved.interpreter.executable = "/usr/bin/python3.11".into();
        moved.interpreter.prefix = "/usr".into();
        assert_eq!(moved.key(), spec().key());
        assert_eq!(moved.key().len(), 64);
    }

    #[test]
    fn no_requirements_are_no_layer() {
        let empty = LayerSpec { requirements: Vec::new(), ..spec() };
        assert!(matches!(empty.check(), Err(LayerError::NoRequirements)));
    }
}
