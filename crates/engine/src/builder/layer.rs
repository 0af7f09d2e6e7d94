//! A finished layer, and the manifest that marks it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::LayerError;
use super::installer::Installer;
use super::spec::{LayerSpec, RECIPE};
use super::usage::InUse;
use crate::trust::{Distrust, TrustedDirectory};

/// The file that says what a layer is. A directory without it is not a layer.
pub const MANIFEST: &str = "belljar-layer.json";

/// An installed, immutable set of packages.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The directory to put on `sys.path`. Only this user and root can change it, or the path to
    /// it.
    pub path: PathBuf,
    /// That directory, open since it was checked. What is mounted must be the same directory.
    #[cfg_attr(
        not(feature = "native"),
        expect(dead_code, reason = "held open; the native engine compares it too")
    )]
    pub(crate) directory: Arc<TrustedDirectory>,
    /// Whoever has cells with the layer keeps this as long as they live.
    #[cfg_attr(not(feature = "native"), expect(dead_code, reason = "kept for its drop"))]
    pub(crate) in_use: Arc<InUse>,
    /// Its name, from [`LayerSpec::key`].
    pub key: String,
    /// Whether it existed before it was asked for.
    pub cached: bool,
}

/// One installed package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Distribution {
    /// The name in its metadata.
    pub name: String,
    /// The version that was chosen.
    pub version: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    recipe: u32,
    pub(super) requirements: Vec<String>,
    pub(super) python: String,
    abi: String,
    installer: String,
    pub(super) distributions: Vec<Distribution>,
}

impl Manifest {
    fn is_of(&self, spec: &LayerSpec) -> bool {
        let Self { recipe, requirements, python, abi, installer: _, distributions: _ } = self;
        (*recipe, requirements) == (RECIPE, &spec.canonical())
            && (python, abi) == (&spec.interpreter.dotted(), &spec.interpreter.abi)
    }
}

impl Layer {
    pub(super) fn of(tree: TrustedDirectory, key: String, in_use: InUse, cached: bool) -> Self {
        let path = tree.path().to_owned();
        Self { path, directory: Arc::new(tree), in_use: Arc::new(in_use), key, cached }
    }

    /// What the installer installed, dependencies of dependencies included, by name.
    pub fn distributions(&self) -> Result<Vec<Distribution>, LayerError> {
        let manifest = read_manifest(&self.path);
        let manifest = manifest.map_err(LayerError::store("read", &self.path.join(MANIFEST)))?;
        Ok(manifest.distributions)
    }
}

/// Finds the layer of that name. It must be whole and made for the same inputs, and only this user
/// or root may have made it.
pub(super) fn find(
    store: &TrustedDirectory,
    key: &str,
    spec: &LayerSpec,
) -> Result<Option<TrustedDirectory>, Distrust> {
    let tree = match store.tree(key) {
        Ok(tree) => tree,
        // It does not exist, or is not a directory. A link is not one.
        Err(Distrust::Io { .. }) => return Ok(None),
        Err(distrust) => return Err(distrust),
    };
    let manifest =
        tree.file(MANIFEST).ok().and_then(|file| serde_json::from_reader::<_, Manifest>(file).ok());
    Ok(manifest.is_some_and(|manifest| manifest.is_of(spec)).then_some(tree))
}

/// Writes down what was installed in `path`. Returns how many packages that are.
pub(super) fn write_manifest(path: &Path, spec: &LayerSpec, installer: &Installer) -> io::Result<usize> {
    let manifest = Manifest {
        recipe: RECIPE,
        requirements: spec.canonical(),
        python: spec.interpreter.dotted(),
        abi: spec.interpreter.abi.clone(),
        installer: installer.to_string(),
        distributions: installed(path)?,
    };
    let text = serde_json::to_vec_pretty(&manifest)?;
    belljar_jail::without_file_size_signal(|| fs::write(path.join(MANIFEST), text))?;
    Ok(manifest.distributions.len())
}

pub(super) fn read_manifest(path: &Path) -> io::Result<Manifest> {
    Ok(serde_json::from_slice(&fs::read(path.join(MANIFEST))?)?)
}

fn installed(path: &Path) -> io::Result<Vec<Distribution>> {
    let mut distributions = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(stem) = file_name.to_str().and_then(|name| name.strip_suffix(".dist-info")) else {
            continue;
        };
        let metadata = fs::read(entry.path().join("METADATA")).unwrap_or_default();
        let (name, version) = stem.split_once('-').unwrap_or((stem, ""));
        let header =
            |header, otherwise: &str| header_of(&metadata, header).unwrap_or_else(|| otherwise.to_owned());
        distributions.push(Distribution { name: header("Name", name), version: header("Version", version) });
    }
    distributions.sort();
    Ok(distributions)
}

/// A header of a METADATA file, which looks like an e-mail. The description after the first empty
/// line has no headers.
fn header_of(metadata: &[u8], wanted: &str) -> Option<String> {
    let text = String::from_utf8_lossy(metadata);
    let headers = text.lines().take_while(|line| !line.trim().is_empty());
    let mut pairs = headers.filter_map(|line| line.split_once(':'));
    pairs.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_come_from_metadata_and_else_from_the_directory_name() {
        let dir = tempfile::tempdir().unwrap();
        for (name, metadata) in [
            (
                "zope_x-2.0.dist-info",
                Some("Metadata-Version: 2.1\nName: Zope.X\nVersion: 2.0\n\nName: not this\n"),
            ),
            ("bare-1.5.dist-info", None),
            ("code", None),
        ] {
            fs::create_dir(dir.path().join(name)).unwrap();
            if let Some(metadata) = metadata {
                fs::write(dir.path().join(name).join("METADATA"), metadata).unwrap();
            }
        }
        let found = installed(dir.path()).unwrap();
        let pairs: Vec<_> = found.iter().map(|d| (d.name.as_str(), d.version.as_str())).collect();
        assert_eq!(pairs, [("Zope.X", "2.0"), ("bare", "1.5")]);
    }
}
