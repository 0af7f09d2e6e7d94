//! What a resolver chose: one wheel for each package.
//!
//! pip answers with a report in JSON, uv with a requirements file. An answer that is not understood
//! is no error: the layer is then installed in one go, as it is when source may be built. Names and
//! versions in it come from an index, so none is believed to be harmless.

use std::fs;
use std::path::Path;

use belljar_core::config::Requirement;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::installer::Installer;
use super::spec::{LayerSpec, hex, python_fields};

/// Raise this when the same wheel would give other files: installer flags, permissions.
const RECIPE: u32 = 1;

/// One wheel: a package, its version, and the hashes that the file may have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pin {
    /// The package's name as [`normal`] has it.
    pub(super) name: String,
    /// The line for a requirements file.
    pub(super) line: String,
}

impl Pin {
    fn new(requirement: &str, mut hashes: Vec<&str>) -> Option<Self> {
        let (name, _) = requirement.split_once("==")?;
        let is_package = Requirement::parse(requirement) == Ok(Requirement::Package);
        let is_hash = |hash: &&str| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_package
            || requirement.contains([' ', ';', ','])
            || hashes.is_empty()
            || !hashes.iter().all(is_hash)
        {
            return None;
        }
        hashes.sort_unstable();
        let words = hashes.iter().map(|hash| format!(" --hash=sha256:{hash}")).collect::<String>();
        Some(Self { name: normal(name), line: format!("{requirement}{words}") })
    }

    /// The name under which the unpacked wheel is kept. The compiled files in it are for one
    /// Python.
    pub(super) fn key(&self, spec: &LayerSpec) -> String {
        let mut hash = Sha256::new();
        python_fields(spec, &mut |value| {
            hash.update((value.len() as u64).to_le_bytes());
            hash.update(value);
        });
        hash.update(b"belljar wheel");
        hash.update(RECIPE.to_le_bytes());
        hash.update(self.line.as_bytes());
        hex(&hash.finalize())
    }
}

/// A package's name in the one spelling that all its spellings share (PEP 503).
pub(super) fn normal(name: &str) -> String {
    let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// The name of the package that a requirement asks for.
pub(super) fn name_of(requirement: &str) -> String {
    let end = requirement.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
    normal(&requirement[..end.unwrap_or(requirement.len())])
}

/// Reads an installer's answer. `None` if it is not understood, or has something that is not a
/// wheel of an index.
pub(super) fn read(installer: &Installer, answer: &Path) -> Option<Vec<Pin>> {
    let text = fs::read_to_string(answer).ok()?;
    let mut pins = match installer {
        Installer::Uv { .. } => of_lines(&text),
        Installer::Pip => of_report(&text),
    }?;
    pins.sort();
    let is_each_once = pins.windows(2).all(|pair| pair[0].name != pair[1].name);
    (is_each_once && !pins.is_empty()).then_some(pins)
}

#[derive(Deserialize)]
struct Report {
    version: String,
    install: Vec<Installed>,
}

#[derive(Deserialize)]
struct Installed {
    is_direct: bool,
    metadata: Metadata,
    download_info: Download,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Download {
    url: String,
    archive_info: Option<Archive>,
}

#[derive(Deserialize)]
struct Archive {
    /// `sha256=…`
    hash: Option<String>,
}

fn of_report(text: &str) -> Option<Vec<Pin>> {
    let report: Report = serde_json::from_str(text).ok()?;
    let pin = |installed: &Installed| {
        let Metadata { name, version } = &installed.metadata;
        let hash = installed.download_info.archive_info.as_ref()?.hash.as_deref()?.strip_prefix("sha256=")?;
        let is_wheel = installed.download_info.url.ends_with(".whl") && !installed.is_direct;
        is_wheel.then(|| Pin::new(&format!("{name}=={version}"), vec![hash]))?
    };
    let is_known = report.version == "1";
    is_known.then(|| report.install.iter().map(pin).collect())?
}

fn of_lines(text: &str) -> Option<Vec<Pin>> {
    let whole = text.replace("\\\n", " ");
    let lines = whole.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pin = |line: &str| {
        let mut words = line.split_whitespace();
        let requirement = words.next()?;
        let hashes = words.map(|word| word.strip_prefix("--hash=sha256:")).collect::<Option<_>>()?;
        Pin::new(requirement, hashes)
    };
    lines.map(pin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93";

    #[test]
    fn a_report_of_pip_is_understood() {
        let item = |name: &str, url: &str, is_direct: bool| {
            format!(
                r#"{{"metadata": {{"name": "{name}", "version": "2.4.6"}}, "is_direct": {is_direct},
                "download_info": {{"url": "{url}", "archive_info": {{"hash": "sha256={HASH}"}}}}}}"#
            )
        };
        let report = |items: &[String]| format!(r#"{{"version": "1", "install": [{}]}}"#, items.join(","));
        let good = item("Zope.Interface", "https://x.org/zope.whl", false);
        let pins = of_report(&report(&[good])).unwrap();
        assert_eq!(pins[0].name, "zope-interface");
        assert_eq!(pins[0].line, format!("Zope.Interface==2.4.6 --hash=sha256:{HASH}"));
        for bad in [
            item("source", "https://x.org/source.tar.gz", false),
            item("direct", "https://x.org/direct.whl", true),
            item("-r /etc/passwd", "https://x.org/evil.whl", false),
            item("evil --pre", "https://x.org/evil.whl", false),
        ] {
            assert_eq!(of_report(&report(std::slice::from_ref(&bad))), None, "{bad}");
        }
        assert_eq!(of_report(r#"{"version": "2", "install": []}"#), None);
        assert_eq!(of_report("pip: no such option"), None);
    }

    #[test]
    fn an_answer_of_uv_is_understood() {
        let other = HASH.replace('8', "7");
        let text =
            format!("# a comment\nnumpy==2.4.6 \\\n    --hash=sha256:{HASH} \\\n    --hash=sha256:{other}\n");
        let pins = of_lines(&text).unwrap();
        assert_eq!(pins[0].line, format!("numpy==2.4.6 --hash=sha256:{other} --hash=sha256:{HASH}"));
        for bad in [
            "numpy==2.4.6".to_owned(),
            format!("numpy @ https://x.org/numpy.whl --hash=sha256:{HASH}"),
            format!("--index-url https://x.org numpy==1 --hash=sha256:{HASH}"),
            format!("numpy>=2 --hash=sha256:{HASH}"),
            "numpy==2.4.6 --hash=sha256:short".to_owned(),
            format!("numpy==2.4.6 --hash=sha256:{HASH} --pre"),
        ] {
            assert_eq!(of_lines(&bad), None, "{bad}");
        }
    }

    #[test]
    fn a_name_has_one_spelling() {
        for name in ["Zope.Interface", "zope_interface", "ZOPE-interface", "zope-_.interface"] {
            assert_eq!(normal(name), "zope-interface");
        }
        for requirement in ["Zope.Interface", "zope_interface[x]>=5", "zope-interface ; python_version > '3'"]
        {
            assert_eq!(name_of(requirement), "zope-interface");
        }
    }
}
