//! The proxy's image: a program that links this crate, and the libraries it runs with.
//!
//! There is no second program to build, ship or find where the running program is one of those
//! (`program`). A static executable brings no libraries.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bollard::query_parameters::BuildImageOptionsBuilder;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use super::super::OUR_IMAGES;
use super::entry::PROXY_NAME;
use super::program::Program;
use crate::EngineError;
use crate::Progress;
use crate::background::PerProcess;
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

/// What has been read so far, by the program that the caller named.
static KNOWN: PerProcess<Known> = PerProcess::new();

type Known = Mutex<BTreeMap<Option<PathBuf>, Arc<Contents>>>;

/// The image's name. Builds the image if the daemon does not have it. `program` is what the caller
/// set.
pub(super) async fn ensure(
    daemon: &Daemon,
    program: Option<&Path>,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<String, EngineError> {
    check_architecture(daemon)?;
    let contents = known_contents(Program::named(program)).await?;
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

/// The contents with this program. They are read once.
async fn known_contents(named: Option<PathBuf>) -> Result<Arc<Contents>, EngineError> {
    let Ok(known) = KNOWN.get_or_try_make(|| Ok::<_, Infallible>(Known::default()));
    let mut known = known.lock().await;
    if let Some(contents) = known.get(&named) {
        return Ok(Arc::clone(contents));
    }
    let program = named.clone();
    let failed = || EngineError::io("read the program for the proxy's image");
    // On a thread, because it reads and hashes many megabytes.
    let read = on_a_thread("belljar-image", move || {
        let program = Program::find(program.as_deref())?;
        contents(&program).map_err(failed())
    });
    let contents = Arc::new(read.await.map_err(failed())??);
    known.insert(named, Arc::clone(&contents));
    Ok(contents)
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
            "the proxy is a program of this machine, which is for {ours}, and the daemon's host is {theirs}; run this program there"
        ),
        log: Vec::new(),
    })
}

fn contents(program: &Program) -> io::Result<Contents> {
    let mut files = BTreeMap::from([(PathBuf::from(PROXY_NAME), std::fs::read(&program.path)?)]);
    let mut directories = Vec::new();
    for library in &program.libraries {
        let bytes = std::fs::read(library)?;
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
        files.insert(library.clone(), bytes);
    }
    let library_path = directories.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(":");
    let mut hash = Sha256::new();
    for (path, bytes) in &files {
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    let checksum = hex(&hash.finalize());
    Ok(Contents {
        tag: format!("{OUR_IMAGES}egress-proxy:{}", &checksum[..32]),
        checksum,
        files,
        library_path,
    })
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
