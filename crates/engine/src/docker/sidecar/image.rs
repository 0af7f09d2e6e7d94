//! The proxy's image: our own executable and the libraries it is linked with, and nothing else.
//!
//! There is no second program to build, ship or find, because whoever links this crate carries the
//! proxy. A static executable brings no libraries. A dynamic one brings those it runs with right
//! now.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bollard::query_parameters::BuildImageOptionsBuilder;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use super::entry::{self, PROXY_NAME};
use crate::EngineError;
use crate::Progress;
use crate::blocking::on_a_thread;
use crate::docker::DockerError;
use crate::docker::build::{build_from, is_there};
use crate::docker::context::{append, hex};
use crate::docker::daemon::Daemon;
use crate::docker::labels;
use belljar_core::layout::EGRESS;

/// The user of the proxy in its container.
const NOBODY: u64 = 65534;

struct Contents {
    tag: String,
    checksum: String,
    /// The files, by their path in the image.
    files: BTreeMap<PathBuf, Vec<u8>>,
    library_path: String,
}

/// The image's name. Builds the image if the daemon does not have it.
pub(super) async fn ensure(
    daemon: &Daemon,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<String, EngineError> {
    static CONTENTS: OnceCell<Arc<Contents>> = OnceCell::const_new();
    check_architecture(daemon)?;
    let contents = CONTENTS
        .get_or_try_init(|| async {
            // On a thread, because it reads and hashes many megabytes.
            let read = on_a_thread("belljar-image", contents).await??;
            Ok::<_, io::Error>(Arc::new(read))
        })
        .await
        .map_err(EngineError::io("read this program for the proxy's image"))?;
    if is_there(daemon, &contents.tag).await? {
        return Ok(contents.tag.clone());
    }
    progress(Progress::Line(format!("building {}", contents.tag)));
    let labels = HashMap::from([
        (labels::ROLE, "image".to_owned()),
        (labels::CONFIG, "egress-proxy".to_owned()),
        (labels::CHECKSUM, contents.checksum.clone()),
    ]);
    let options = BuildImageOptionsBuilder::default().t(&contents.tag).rm(true).forcerm(true).labels(&labels);
    let archive = contents.archive().map_err(EngineError::io("pack the proxy's image"))?;
    build_from(daemon, &contents.tag, options, archive, progress).await?;
    Ok(contents.tag.clone())
}

fn check_architecture(daemon: &Daemon) -> Result<(), DockerError> {
    let ours = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let theirs = daemon.facts.architecture.as_str();
    if theirs.is_empty() || theirs == ours {
        return Ok(());
    }
    Err(DockerError::Sidecar {
        name: "egress".to_owned(),
        reason: format!(
            "the proxy is this program itself, which is for {ours}, and the daemon's host is {theirs}; run this program there"
        ),
        log: Vec::new(),
    })
}

fn contents() -> io::Result<Contents> {
    assert!(entry::entry_address() != 0, "the proxy is in every program that gets here");
    let mut files = BTreeMap::from([(PathBuf::from(PROXY_NAME), std::fs::read("/proc/self/exe")?)]);
    let mut directories = Vec::new();
    for library in libraries(&std::fs::read_to_string("/proc/self/maps")?) {
        let bytes = std::fs::read(&library)?;
        let (directory, name) = (library.parent(), library.file_name());
        let (Some(directory), Some(name)) = (directory, name) else { continue };
        if name.to_string_lossy().starts_with("ld-") {
            // Executables name their loader by one of these paths, wherever the file itself is.
            for place in ["/lib", "/lib64"] {
                files.insert(Path::new(place).join(name), bytes.clone());
            }
        }
        if !directories.iter().any(|known| known == directory) {
            directories.push(directory.to_owned());
        }
        files.insert(library, bytes);
    }
    let library_path = directories.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(":");
    let mut hash = Sha256::new();
    for (path, bytes) in &files {
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    let checksum = hex(&hash.finalize());
    Ok(Contents { tag: format!("belljar/egress-proxy:{}", &checksum[..32]), checksum, files, library_path })
}

/// The shared libraries in a process's map.
fn libraries(maps: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = maps
        .lines()
        .filter_map(|line| line.split_once(" /").map(|(_, path)| PathBuf::from(format!("/{path}"))))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains(".so") && !name.ends_with("(deleted)")
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

impl Contents {
    fn archive(&self) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        let path = if self.library_path.is_empty() { "/" } else { &self.library_path };
        let dockerfile = format!(
            "FROM scratch\nCOPY root /\nCOPY --chown={NOBODY}:{NOBODY} egress {EGRESS}\n\
             ENV LD_LIBRARY_PATH={path}\nUSER {NOBODY}:{NOBODY}\nENTRYPOINT [\"{PROXY_NAME}\"]\n"
        );
        append(&mut archive, "Dockerfile", dockerfile.as_bytes(), 0o644)?;
        append(&mut archive, "egress/.keep", b"", 0o644)?;
        for (path, bytes) in &self.files {
            append(&mut archive, &format!("root{}", path.display()), bytes, 0o755)?;
        }
        archive.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_in_the_map_and_each_once() {
        let maps = "7f0-7f1 r-xp 0 fe:0 1  /usr/lib/libc.so.6\n7f1-7f2 rw-p 0 fe:0 1  /usr/lib/libc.so.6\n\
                    7f2-7f3 r--p 0 fe:0 2  /usr/bin/program\n7f4-7f5 rw-p 0 0:0 0  [heap]\n7f4-7f5 rw-p 0 0:0 0\n\
                    7f6-7f7 r-xp 0 fe:0 3  /lib64/ld-linux-x86-64.so.2\n";
        assert_eq!(
            libraries(maps),
            [PathBuf::from("/lib64/ld-linux-x86-64.so.2"), PathBuf::from("/usr/lib/libc.so.6")]
        );
    }
}
