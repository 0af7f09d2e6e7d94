//! Which modules of a layer can be preloaded without trying them first.
//!
//! A guest tries every module in a process that it throws away, before it imports the module
//! itself. That takes as long as the import. When nothing was wrong, it vouches for the modules,
//! and the next template made of the same things imports them at once. So this is a cache that is
//! built with a layer, by code that runs in a jail and nowhere else.
//!
//! ```text
//!  <cache>/preloads/<layer>-<everything else>.json    ["numpy", "pandas"]
//! ```
//!
//! The list comes from a guest, and goes to guests only. If it is wrong, a guest says so in a
//! warning, and the list is forgotten.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::EngineError;
use crate::blocking::on_a_thread;
use crate::engine::Blueprint;
use crate::guest::{self, PYTHON};
use crate::trust::TrustedDirectory;

/// The longest list that is read or kept.
const LONGEST: u64 = 64 * 1024;

/// The place of one list.
#[derive(Debug, Clone)]
pub(crate) struct Preloads {
    directory: PathBuf,
    name: String,
}

impl Preloads {
    /// The list for a blueprint on a layer. Whatever may change how an import ends is in its name.
    pub(crate) fn new(cache: &Path, layer: &str, interpreter: &Path, blueprint: &Blueprint) -> Self {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        add(interpreter.as_os_str().as_encoded_bytes());
        add(guest::template_settings(blueprint).to_string().as_bytes());
        for file in PYTHON.files {
            add(file.text.as_bytes());
        }
        for tool in &blueprint.tools {
            add(tool.file_name.as_bytes());
            add(tool.source.as_bytes());
        }
        for (name, value) in guest::environment(blueprint) {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        let rest = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
        Self { directory: cache.join("preloads"), name: format!("{layer}-{rest}.json") }
    }

    /// The list, if there is one.
    fn known(&self) -> Option<Vec<String>> {
        // What another user could have written is not believed, and is no reason to fail.
        let file = TrustedDirectory::make(&self.directory).ok()?.file(&self.name).ok()?;
        let mut text = Vec::new();
        file.take(LONGEST).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Keeps what a guest vouches for. Without a list, forgets the one there was.
    fn keep(&self, vouched: Option<&[String]>) {
        if let Err(error) = self.write(vouched) {
            tracing::debug!(name = self.name, %error, "a list of preloads is not kept");
        }
    }

    fn write(&self, vouched: Option<&[String]>) -> io::Result<()> {
        let store = TrustedDirectory::make(&self.directory).map_err(io::Error::other)?;
        let place = store.path().join(&self.name);
        let text = vouched.map(serde_json::to_vec).transpose()?;
        match text.filter(|text| (text.len() as u64) < LONGEST) {
            None => fs::remove_file(place),
            Some(text) => {
                // Complete before it has its name: another process may read it now.
                let beside = store.path().join(format!(".{}-{}", self.name, std::process::id()));
                belljar_jail::without_file_size_signal(|| fs::write(&beside, text))?;
                fs::rename(beside, place)
            }
        }
    }
}

/// The modules that a guest need not try, because an earlier one vouches for them.
pub(crate) async fn known(preloads: Option<Preloads>) -> Result<Option<Vec<String>>, EngineError> {
    let Some(preloads) = preloads else { return Ok(None) };
    on_a_thread("belljar-preloads", move || preloads.known()).await.map_err(EngineError::io("start a thread"))
}

/// Keeps what a guest vouches for, if that is news. A guest that could not import what it was told
/// to vouches for nothing, and the next one tries again.
pub(crate) async fn keep(
    preloads: Option<Preloads>,
    told: Option<Vec<String>>,
    vouched: Option<Vec<String>>,
) -> Result<(), EngineError> {
    let Some(preloads) = preloads.filter(|_| told != vouched) else { return Ok(()) };
    let kept = on_a_thread("belljar-preloads", move || preloads.keep(vouched.as_deref()));
    kept.await.map_err(EngineError::io("start a thread"))
}

#[cfg(test)]
mod tests {
    use belljar_core::config::SandboxConfig;

    use super::*;
    use crate::engine::ToolSource;

    fn list(cache: &Path, blueprint: &Blueprint) -> Preloads {
        Preloads::new(cache, "layer", Path::new("/usr/bin/python3"), blueprint)
    }

    #[test]
    fn a_list_is_kept_until_a_guest_no_longer_vouches_for_it() {
        let cache = tempfile::tempdir().unwrap();
        let lists = list(cache.path(), &Blueprint::new(SandboxConfig::default()));
        assert_eq!(lists.known(), None);
        let modules = ["numpy".to_owned(), "a.b".to_owned()];
        lists.keep(Some(&modules));
        assert_eq!(lists.known().unwrap(), modules);
        lists.keep(None);
        assert_eq!(lists.known(), None);
        assert_eq!(fs::read_dir(cache.path().join("preloads")).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn whatever_may_change_an_import_is_in_the_name() {
        let cache = Path::new("/nowhere");
        let usual = list(cache, &Blueprint::new(SandboxConfig::default())).name;
        let tool = ToolSource { file_name: "t.py".into(), source: "x = 1".into() };
        let changes: [fn(&mut SandboxConfig); 4] = [
            |config| config.dependencies.push("numpy".into()),
            |config| config.preload = Some(vec!["numpy".into()]),
            |config| drop(config.env.insert("A".into(), "b".into())),
            |config| config.resource_limits.cpu_quota = 4.0,
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut config = SandboxConfig::default();
            change(&mut config);
            assert_ne!(usual, list(cache, &Blueprint::new(config)).name, "change {index}");
        }
        let with_tool = Blueprint { tools: vec![tool], ..Blueprint::new(SandboxConfig::default()) };
        assert_ne!(usual, list(cache, &with_tool).name);
    }

    #[test]
    fn what_is_no_list_of_names_is_ignored() {
        let cache = tempfile::tempdir().unwrap();
        let lists = list(cache.path(), &Blueprint::new(SandboxConfig::default()));
        lists.keep(Some(&["numpy".to_owned()]));
        for text in ["", "{}", "[1]", "[\"numpy\""] {
            fs::write(lists.directory.join(&lists.name), text).unwrap();
            assert_eq!(lists.known(), None, "{text}");
        }
    }
}
