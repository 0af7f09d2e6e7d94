//! Short ways to an engine, a workspace of it, and what comes out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use belljar_artifacts::{ArtifactContext, ArtifactService, ArtifactStore, SessionInfo};
use belljar_runtime::{Runtime, SandboxConfig};
use belljar_testing::in_time;
use belljar_workspace::{
    Context, DirectorySpec, File, InputSpec, InteractiveProgramSpec, OutputManifest, OutputSpec,
    ProgramSession, PutFile, RunProgramSpec, RunResult, StageOptions, Workspace, WorkspaceEngine,
    WorkspaceError, WorkspacePolicy, Workspaces, WorkspacesOptions,
};

/// Workspaces in a directory that goes with it.
pub(crate) struct Place {
    pub(crate) workspaces: Workspaces,
    pub(crate) home: tempfile::TempDir,
}

/// One workspace.
pub(crate) struct Job<'a> {
    pub(crate) place: &'a Place,
    pub(crate) ws: Workspace,
}

pub(crate) async fn place(runtime: &Runtime) -> Place {
    place_with(runtime, |_| {}).await
}

pub(crate) async fn place_with(runtime: &Runtime, change: impl FnOnce(&mut WorkspacesOptions)) -> Place {
    let home = tempfile::tempdir().unwrap();
    let mut options = WorkspacesOptions::new(home.path().join("store"));
    options.config = SandboxConfig { pool_size: 0, ..SandboxConfig::default() };
    change(&mut options);
    let workspaces = in_time(Workspaces::open(runtime, options)).await.unwrap();
    Place { workspaces, home }
}

/// A context with a service of artifacts in memory.
pub(crate) fn with_artifacts() -> (Context, ArtifactContext) {
    let service: Arc<dyn ArtifactService> = Arc::new(ArtifactStore::in_memory());
    let session = SessionInfo::new("app", "user", "session");
    let artifacts = ArtifactContext { service: Some(service), session };
    (Context::new().with(artifacts.clone()), artifacts)
}

impl Place {
    pub(crate) async fn job(&self) -> Job<'_> {
        self.job_with(WorkspacePolicy::default()).await
    }

    pub(crate) async fn job_with(&self, policy: WorkspacePolicy) -> Job<'_> {
        let manager = self.workspaces.manager();
        let ws = in_time(manager.create_workspace(&Context::new(), "job", policy)).await.unwrap();
        Job { place: self, ws }
    }

    /// A directory of the host outside of the store.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Job<'_> {
    /// The directory on the host.
    pub(crate) fn dir(&self) -> &Path {
        Path::new(&self.ws.path)
    }

    pub(crate) async fn try_put(&self, files: Vec<PutFile>) -> Result<(), WorkspaceError> {
        in_time(self.place.workspaces.fs().put_files(&Context::new(), &self.ws, files)).await
    }

    pub(crate) async fn put(&self, path: &str, content: impl Into<Vec<u8>>) {
        self.try_put(vec![PutFile::new(path, content)]).await.unwrap();
    }

    pub(crate) async fn put_program(&self, path: &str, content: &str) {
        self.try_put(vec![PutFile { mode: 0o755, ..PutFile::new(path, content) }]).await.unwrap();
    }

    pub(crate) async fn try_run(&self, spec: RunProgramSpec) -> Result<RunResult, WorkspaceError> {
        self.try_run_in(&Context::new(), spec).await
    }

    pub(crate) async fn try_run_in(
        &self,
        ctx: &Context,
        spec: RunProgramSpec,
    ) -> Result<RunResult, WorkspaceError> {
        in_time(self.place.workspaces.runner().run_program(ctx, &self.ws, spec)).await
    }

    pub(crate) async fn run(&self, spec: RunProgramSpec) -> RunResult {
        self.try_run(spec).await.unwrap()
    }

    /// Runs a script of the shell.
    pub(crate) async fn sh(&self, script: &str) -> RunResult {
        self.run(sh(script)).await
    }

    /// The same, which must succeed. What it printed.
    pub(crate) async fn does(&self, script: &str) -> String {
        let result = self.sh(script).await;
        assert!(result.is_success(), "{result:?}");
        result.stdout_text().into_owned()
    }

    /// Runs a script of Python, which must succeed. What it printed.
    pub(crate) async fn py(&self, script: &str) -> String {
        let result = self.run(RunProgramSpec::new("python3", ["-c", script])).await;
        assert!(result.is_success(), "{result:?} {}", result.stderr_text());
        result.stdout_text().into_owned()
    }

    pub(crate) async fn start(&self, program: RunProgramSpec) -> Box<dyn ProgramSession> {
        self.start_with(InteractiveProgramSpec { program, ..Default::default() }).await
    }

    pub(crate) async fn start_with(&self, spec: InteractiveProgramSpec) -> Box<dyn ProgramSession> {
        let runner = self.place.workspaces.runner().interactive().expect("it is interactive");
        in_time(runner.start_program(&Context::new(), &self.ws, spec)).await.unwrap()
    }

    pub(crate) async fn collect(&self, patterns: &[&str]) -> Vec<File> {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        in_time(self.place.workspaces.fs().collect(&Context::new(), &self.ws, &patterns)).await.unwrap()
    }

    /// The names of what patterns match.
    pub(crate) async fn names(&self, patterns: &[&str]) -> Vec<String> {
        self.collect(patterns).await.into_iter().map(|file| file.name).collect()
    }

    /// The text of one file, if there is such a file.
    pub(crate) async fn text(&self, path: &str) -> Option<String> {
        self.collect(&[path]).await.first().map(|file| file.text().into_owned())
    }

    pub(crate) async fn stage(&self, source: &Path, to: &str) -> Result<(), WorkspaceError> {
        self.stage_with(source, to, StageOptions::default()).await
    }

    pub(crate) async fn stage_with(
        &self,
        source: &Path,
        to: &str,
        options: StageOptions,
    ) -> Result<(), WorkspaceError> {
        let spec = DirectorySpec { source: source.to_owned(), to: to.to_owned(), options };
        in_time(self.place.workspaces.fs().stage_directory(&Context::new(), &self.ws, spec)).await
    }

    pub(crate) async fn inputs(&self, ctx: &Context, specs: Vec<InputSpec>) -> Result<(), WorkspaceError> {
        in_time(self.place.workspaces.fs().stage_inputs(ctx, &self.ws, specs)).await
    }

    /// Stages one input without artifacts.
    pub(crate) async fn input(&self, from: &str, to: &str) -> Result<(), WorkspaceError> {
        self.inputs(&Context::new(), vec![input(from, to)]).await
    }

    pub(crate) async fn outputs(
        &self,
        ctx: &Context,
        spec: OutputSpec,
    ) -> Result<OutputManifest, WorkspaceError> {
        in_time(self.place.workspaces.fs().collect_outputs(ctx, &self.ws, spec)).await
    }

    pub(crate) async fn cleanup(&self) -> Result<(), WorkspaceError> {
        in_time(self.place.workspaces.manager().cleanup(&Context::new(), &self.ws)).await
    }
}

/// A script of the shell.
pub(crate) fn sh(script: &str) -> RunProgramSpec {
    RunProgramSpec::new("sh", ["-c", script])
}

pub(crate) fn input(from: &str, to: &str) -> InputSpec {
    InputSpec { to: to.to_owned(), ..InputSpec::new(from) }
}

/// Outputs that match one pattern, with their content.
pub(crate) fn inline(pattern: &str) -> OutputSpec {
    OutputSpec { globs: vec![pattern.to_owned()], inline: true, ..OutputSpec::default() }
}

/// Everything in a directory of the host, by name.
pub(crate) fn listing(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub(crate) fn mode_of(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}
