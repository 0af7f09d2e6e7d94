//! What an image is made of, and the name derived from it.

use std::fmt::Write as _;
use std::io;

use belljar_core::config::SandboxConfig;
use belljar_core::layout;
use belljar_jail::{CellFilter, MemoryAccounting, Supervision, Terminals, cell_filter, zygote_filter};
use sha2::{Digest, Sha256};

use super::OUR_IMAGES;
use crate::engine::Blueprint;
use crate::guest::{self, Guest, PYTHON};
use crate::supervised::SUPERVISOR;

/// Makes an image ready to be a container of ours, while it is built.
const PREPARE: &str = include_str!("prepare.py");

/// One image, before it is built.
#[derive(Debug)]
pub(super) struct ImagePlan {
    /// Name and checksum.
    pub(super) tag: String,
    pub(super) checksum: String,
    dockerfile: String,
    files: Vec<(String, Vec<u8>)>,
}

/// The image to build on.
pub(super) fn base_image(config: &SandboxConfig) -> String {
    match (&config.base_image, config.python_version) {
        (Some(image), _) => image.clone(),
        (None, Some(version)) => (PYTHON.provision.image)(&version.to_string()),
        (None, None) => (PYTHON.provision.image)(PYTHON.provision.version),
    }
}

impl ImagePlan {
    /// The image of a blueprint, on a base that the daemon knows as `base_id`, whatever its current
    /// name is. `installer` holds files for the installer alone. They are in no layer of the image,
    /// and do not affect its name.
    pub(super) fn new(blueprint: &Blueprint, base_id: &str, installer: &InstallerFiles) -> Self {
        let config = &blueprint.config;
        let mut settings = guest::template_settings(blueprint);
        settings["python"] = config.python_version.map(|version| version.to_string()).into();
        let mut files = vec![
            (context("prepare.py"), PREPARE.into()),
            (context("fonts.conf"), guest::FONTS.into()),
            (context(layout::TEMPLATE_SETTINGS), settings.to_string().into_bytes()),
        ];
        files.extend(PYTHON.files.iter().map(|part| (context(part.path), part.text.into())));
        files.extend(filters(blueprint.has_terminals));
        files.extend(SUPERVISOR.map(|(name, source)| (context(name), source.into())));
        for tool in &blueprint.tools {
            files.push((format!("tools/{}", tool.file_name), tool.source.clone().into_bytes()));
        }
        if !config.dependencies.is_empty() {
            files.push(("requirements.txt".to_owned(), (config.dependencies.join("\n") + "\n").into_bytes()));
        }
        let base = base_image(config);
        let dockerfile = dockerfile(config, &base, !blueprint.tools.is_empty());
        let checksum = checksum(&dockerfile, base_id, &files);
        files.extend(installer.files.iter().cloned());
        Self {
            tag: format!("{OUR_IMAGES}{}:{}", config.name.to_ascii_lowercase(), &checksum[..32]),
            checksum,
            dockerfile,
            files,
        }
    }

    /// The build context, as a tar archive.
    pub(super) fn archive(&self) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        append(&mut archive, "Dockerfile", self.dockerfile.as_bytes(), 0o644)?;
        // A directory that an instruction copies must exist even if it is empty.
        append(&mut archive, "installer/.keep", b"", 0o644)?;
        for (path, contents) in &self.files {
            append(&mut archive, path, contents, 0o644)?;
        }
        archive.into_inner()
    }
}

/// Adds one file. The result is the same on every machine and every day.
pub(super) fn append(
    archive: &mut tar::Builder<Vec<u8>>,
    path: &str,
    contents: &[u8],
    mode: u32,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(contents.len() as u64);
    header.set_mode(mode);
    header.set_mtime(0);
    archive.append_data(&mut header, path, contents)
}

/// Where packages come from, according to this host's settings.
#[derive(Debug, Clone, Default)]
pub(super) struct InstallerFiles {
    files: Vec<(String, Vec<u8>)>,
}

impl InstallerFiles {
    /// Reads `PIP_*` variables and the certificates they name. Pip gets these settings in a file
    /// that only the installing stage sees. Addresses of indexes hold passwords, and the arguments
    /// of a build stay in the image's history.
    pub(super) fn new(variables: &[(String, String)]) -> Self {
        const PASSED: [&str; 7] = [
            "PIP_INDEX_URL",
            "PIP_EXTRA_INDEX_URL",
            "PIP_TRUSTED_HOST",
            "PIP_NO_INDEX",
            "PIP_DEFAULT_TIMEOUT",
            "PIP_RETRIES",
            "PIP_PROXY",
        ];
        let mut settings = String::from("[global]\n");
        for name in PASSED {
            if let Some((_, value)) = variables.iter().rev().find(|(own, _)| own == name) {
                let option = name.trim_start_matches("PIP_").to_ascii_lowercase().replace('_', "-");
                let _ = writeln!(settings, "{option} = {}", value.replace('\n', " "));
            }
        }
        let certificates = ["PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"].iter().find_map(|name| {
            let (_, path) = variables.iter().rev().find(|(own, _)| own == name)?;
            std::fs::read(path).ok()
        });
        let mut files = Vec::new();
        if let Some(certificates) = certificates {
            let _ = writeln!(settings, "cert = /installer/authorities.pem");
            files.push(("installer/authorities.pem".to_owned(), certificates));
        }
        files.push(("installer/pip.conf".to_owned(), settings.into_bytes()));
        Self { files }
    }
}

/// Where a file of [`layout::SUPERVISOR`] is in the build context.
fn context(path: &str) -> String {
    format!("belljar/{path}")
}

fn dockerfile(config: &SandboxConfig, base: &str, has_tools: bool) -> String {
    let home = layout::SUPERVISOR;
    let python = &PYTHON.provision;
    let (program, layer) = (python.program, python.layer);
    let prepare = Guest::place(home, "prepare.py");
    let mut text = String::new();
    if !config.dependencies.is_empty() {
        let install = (python.install)(layer, "/requirements.txt", config.allow_source_builds);
        let _ = writeln!(
            text,
            "FROM {base} AS packages\n\
             USER root\n\
             COPY belljar/prepare.py {prepare}\n\
             RUN [\"{program}\", \"{prepare}\", \"stage\", \"{layer}\"]\n\
             COPY installer /installer\n\
             COPY requirements.txt /requirements.txt\n\
             USER 1000:1000\n\
             ENV HOME=/tmp PIP_CONFIG_FILE=/installer/pip.conf PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1\n\
             RUN {install}\n"
        );
    }
    let _ = writeln!(text, "FROM {base}\nUSER root");
    if !config.dependencies.is_empty() {
        let _ = writeln!(text, "COPY --from=packages --chown=0:0 {layer} {layer}");
    }
    let _ = writeln!(text, "COPY belljar {home}");
    if has_tools {
        let _ = writeln!(text, "COPY tools {}", layout::TOOLS);
    }
    // The supervisor imports the harness and forks it, as a zygote does.
    let supervisor = PYTHON.run(program, Guest::place(home, "supervisor.py"));
    let _ = write!(
        text,
        "RUN [\"{program}\", \"{prepare}\", \"image\"]\n\
         WORKDIR {}\n\
         USER 1000:1000\n\
         ENTRYPOINT {}\n\
         CMD []\n",
        layout::WORKSPACE,
        serde_json::json!(supervisor),
    );
    text
}

/// The seccomp filters in an image: one for the supervisor, and two for guests, of which the
/// supervisor picks one.
fn filters(has_terminals: bool) -> [(String, Vec<u8>); 3] {
    let terminals = if has_terminals { Terminals::OfItsOwn } else { Terminals::None };
    let cell = |supervision| cell_filter(CellFilter { supervision, memory: MemoryAccounting::PerCell });
    [
        (context("filter"), zygote_filter(terminals)),
        (context("filter-watched"), cell(Supervision::Watched)),
        (context("filter-unwatched"), cell(Supervision::Unwatched)),
    ]
}

fn checksum(dockerfile: &str, base_id: &str, files: &[(String, Vec<u8>)]) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(b"belljar-image-1");
    add(dockerfile.as_bytes());
    add(base_id.as_bytes());
    for (path, contents) in files {
        add(path.as_bytes());
        add(contents);
    }
    hex(&hash.finalize())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ToolSource;

    fn blueprint() -> Blueprint {
        let tools = vec![ToolSource { file_name: "a.py".into(), source: "def a(): pass\n".into() }];
        let config = SandboxConfig { dependencies: vec!["six".into()], ..SandboxConfig::default() };
        Blueprint { tools, ..Blueprint::new(config) }
    }

    fn tag(blueprint: &Blueprint, base: &str) -> String {
        ImagePlan::new(blueprint, base, &InstallerFiles::default()).tag
    }

    /// Changes a blueprint into a different one.
    type Change = fn(&mut Blueprint);

    #[test]
    fn everything_that_goes_in_is_in_the_tag() {
        let usual = tag(&blueprint(), "sha256:1");
        assert_eq!(usual, tag(&blueprint(), "sha256:1"));
        assert_ne!(usual, tag(&blueprint(), "sha256:2"), "the base behind the same name");
        let changes: [Change; 7] = [
            |b| b.config.python_version = Some("3.12".parse().unwrap()),
            |b| b.config.base_image = Some("other:1".into()),
            |b| b.config.dependencies.push("attrs".into()),
            |b| b.config.allow_source_builds = true,
            |b| b.config.preload = Some(vec!["json".into()]),
            |b| b.tools[0].source.push('\n'),
            |b| b.tools[0].file_name = "b.py".into(),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut other = blueprint();
            change(&mut other);
            assert_ne!(usual, tag(&other, "sha256:1"), "change {index}");
        }
    }

    #[test]
    fn what_containers_are_given_at_start_is_not_in_the_tag() {
        let usual = tag(&blueprint(), "sha256:1");
        let mut other = blueprint();
        other.config.env.insert("A".into(), "b".into());
        other.config.resource_limits.memory_mb = 512;
        assert_eq!(usual, tag(&other, "sha256:1"));
    }

    #[test]
    fn settings_of_the_installer_are_in_no_layer_of_the_image() {
        let variables = [("PIP_INDEX_URL".to_owned(), "https://me:password@index/simple".to_owned())];
        let plan = ImagePlan::new(&blueprint(), "x", &InstallerFiles::new(&variables));
        assert!(!plan.dockerfile.contains("password"));
        let last_stage = plan.dockerfile.rsplit("FROM").next().unwrap();
        assert!(!last_stage.contains("installer"), "{last_stage}");
        let (_, settings) = plan.files.iter().find(|(path, _)| path == "installer/pip.conf").unwrap();
        assert!(String::from_utf8_lossy(settings).contains("index-url = https://me:password@index/simple"));
    }

    #[test]
    fn everything_the_guest_is_made_of_is_in_the_image() {
        let plan = ImagePlan::new(&blueprint(), "x", &InstallerFiles::default());
        for file in PYTHON.files {
            let placed = (context(file.path), file.text.as_bytes().to_vec());
            assert!(plan.files.contains(&placed), "{}", file.path);
        }
        let entrypoint = r#"ENTRYPOINT ["python3","-I","-S","-B","/opt/belljar/supervisor.py"]"#;
        assert!(plan.dockerfile.contains(entrypoint), "{}", plan.dockerfile);
    }

    #[test]
    fn the_same_plan_is_the_same_archive() {
        let plan = || ImagePlan::new(&blueprint(), "x", &InstallerFiles::default()).archive().unwrap();
        assert_eq!(plan(), plan());
    }
}
