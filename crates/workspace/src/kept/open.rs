//! Workspaces, the short way.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use belljar_core::GuestPath;
use belljar_engine::kept::{InUse, KeptWorkspace};
use belljar_engine::{EntryKind, Files};
use belljar_runtime::WorkspaceName;
use tokio::sync::mpsc;

use super::manager::blocking;
use super::naming::name_for;
use super::put::asked;
use super::runner::Runner;
use super::{Difference, Inner, Workspaces, diff, of_file, policy};
use crate::{
    Context, DirectorySpec, File, InputSpec, InteractiveProgramRunner, InteractiveProgramSpec,
    OutputManifest, OutputSpec, ProgramRunner, ProgramSession, PutFile, RunProgramSpec, RunResult,
    StageOptions, Workspace, WorkspaceError, WorkspaceFs, WorkspacePolicy,
};

/// A workspace that stays until it is removed.
///
/// ```no_run
/// # use belljar_workspace::{RunProgramSpec, Workspaces, WorkspacesOptions};
/// # use belljar_runtime::Runtime;
/// # async fn example(runtime: Runtime) -> Result<(), Box<dyn std::error::Error>> {
/// let workspaces = Workspaces::open(&runtime, WorkspacesOptions::new("/var/lib/jobs")).await?;
/// let job = workspaces.workspace("job-17").await?;
/// job.put("in/data.csv", "a,b\n1,2\n").await?;
/// let counted = job.run(RunProgramSpec::new("wc", ["-l", "in/data.csv"])).await?;
/// let twin = job.fork("job-17b").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenWorkspace {
    pub(super) inner: Arc<Inner>,
    pub(super) workspace: Workspace,
}

impl std::fmt::Debug for OpenWorkspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OpenWorkspace").field(&self.workspace).finish()
    }
}

impl Workspaces {
    /// The workspace of that id. It is made if it is not there, and stays until it is removed.
    pub async fn workspace(&self, id: &str) -> Result<OpenWorkspace, WorkspaceError> {
        let policy = WorkspacePolicy { persist: true, ..WorkspacePolicy::default() };
        self.workspace_with(id, policy).await
    }

    /// The same, with a policy for one that is made.
    pub async fn workspace_with(
        &self,
        id: &str,
        policy: WorkspacePolicy,
    ) -> Result<OpenWorkspace, WorkspaceError> {
        let policy = WorkspacePolicy { persist: true, ..policy };
        let workspace = self.0.make(id.to_owned(), name_for(id), policy).await?;
        Ok(OpenWorkspace { inner: Arc::clone(&self.0), workspace })
    }

    /// One that is there.
    pub fn find(&self, id: &str) -> Result<OpenWorkspace, WorkspaceError> {
        let name = name_for(id);
        let workspace = self.0.workspace(id, &name);
        self.0.kept(&workspace)?;
        Ok(OpenWorkspace { inner: Arc::clone(&self.0), workspace })
    }

    /// The ids of all workspaces, with what they were made with.
    pub fn list(&self) -> Result<Vec<(String, WorkspacePolicy)>, WorkspaceError> {
        let store = &self.0.store;
        let names: Vec<WorkspaceName> = store.names().map_err(WorkspaceError::io("list", store.path()))?;
        let mut found: Vec<_> = names
            .iter()
            .map(|name| {
                let kept = policy::load(store, name);
                (kept.id, kept.policy)
            })
            .collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(found)
    }

    /// Removes one. One that is gone is no error.
    pub async fn remove(&self, id: &str) -> Result<(), WorkspaceError> {
        self.0.remove(name_for(id)).await
    }
}

impl OpenWorkspace {
    /// What the traits of an engine call it.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.workspace.id
    }

    fn kept(&self) -> Result<KeptWorkspace, WorkspaceError> {
        self.inner.kept(&self.workspace)
    }

    /// Writes a file.
    pub async fn put(&self, path: &str, content: impl Into<Vec<u8>>) -> Result<(), WorkspaceError> {
        self.inner.put_files(&Context::new(), &self.workspace, vec![PutFile::new(path, content)]).await
    }

    /// Copies a file or a directory of this machine to a path in it. Large files are streamed.
    pub async fn put_from(&self, source: &Path, to: &str) -> Result<(), WorkspaceError> {
        let found = std::fs::metadata(source).map_err(WorkspaceError::io("read", source))?;
        if found.is_dir() {
            let spec = DirectorySpec {
                source: source.to_owned(),
                to: to.to_owned(),
                options: StageOptions::default(),
            };
            return self.stage(spec).await;
        }
        use std::os::unix::fs::MetadataExt;
        let to = asked(to)?;
        let kept = self.kept()?;
        self.inner.check_room(&self.workspace, &kept, found.len()).await?;
        let file = belljar_engine::open_file(source).map_err(WorkspaceError::io("read", source))?;
        let mode = found.mode() & 0o777 | 0o600;
        let copied = kept.with(move |tree| tree.copy_file_from(&file, &to, mode));
        copied.await.map_err(WorkspaceError::io("copy", source))
    }

    /// Copies what is in a directory of this machine.
    pub async fn stage(&self, spec: DirectorySpec) -> Result<(), WorkspaceError> {
        self.inner.stage_directory(&Context::new(), &self.workspace, spec).await
    }

    /// Stages inputs.
    pub async fn stage_inputs(&self, ctx: &Context, specs: Vec<InputSpec>) -> Result<(), WorkspaceError> {
        self.inner.stage_inputs(ctx, &self.workspace, specs).await
    }

    /// The whole content of a file.
    pub async fn read(&self, path: &str) -> Result<Vec<u8>, WorkspaceError> {
        let mut content = Vec::new();
        self.read_into(path, &mut content).await?;
        Ok(content)
    }

    /// Writes what is in a file to a writer, piece by piece.
    pub async fn read_into(
        &self,
        path: &str,
        into: &mut (dyn io::Write + Send),
    ) -> Result<u64, WorkspaceError> {
        let asked = asked(path)?;
        let absent = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => WorkspaceError::NotFound { what: "file", name: path.to_owned() },
            _ => of_file("read", path)(error),
        };
        let opened = self.kept()?.with(move |tree| tree.open(&asked)).await;
        let (file, _) = opened.map_err(absent)?;
        // Read ahead by another thread, while this one writes.
        let mut pieces = pieces_of(file).map_err(of_file("read", path))?;
        let mut total = 0;
        while let Some(piece) = pieces.recv().await {
            let piece = piece.map_err(of_file("read", path))?;
            into.write_all(&piece).map_err(of_file("copy", path))?;
            total += piece.len() as u64;
        }
        Ok(total)
    }

    /// Whether something is at a path: a directory, a regular file that is executable or not, or
    /// something else. Links are not followed.
    pub async fn look(&self, path: &GuestPath) -> Result<Option<(EntryKind, bool)>, WorkspaceError> {
        let (asked, named) = (path.clone(), path.as_str().to_owned());
        match self.kept()?.with(move |tree| tree.look(&asked)).await {
            Ok((kind, mode)) => Ok(Some((kind, mode & 0o100 != 0))),
            // Through a link, or through a file, there is nothing.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
                    || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) =>
            {
                Ok(None)
            }
            Err(error) => Err(of_file("look at", &named)(error)),
        }
    }

    /// Copies a file to a directory of this machine, over what has its name there when it is whole.
    /// Holes stay holes.
    pub async fn save_file(
        &self,
        from: &GuestPath,
        directory: &Path,
        to: &GuestPath,
        mode: u32,
    ) -> Result<(), WorkspaceError> {
        let (asked, named) = (from.clone(), from.as_str().to_owned());
        let opened = self.kept()?.with(move |tree| tree.open(&asked)).await;
        let (file, _) = opened.map_err(of_file("read", &named))?;
        let into = belljar_engine::open_tree(directory).map_err(WorkspaceError::io("open", directory))?;
        let place = to.clone();
        let copied = blocking(move || into.copy_file_from(&file, &place, mode)).await;
        copied.map_err(WorkspaceError::io("write", directory.join(to.as_str())))
    }

    /// Its files, one operation at a time.
    pub fn files(&self) -> Result<Box<dyn Files>, WorkspaceError> {
        self.kept()?.files().map_err(WorkspaceError::io("open", &self.workspace.path))
    }

    /// Runs a program to its end.
    pub async fn run(&self, spec: RunProgramSpec) -> Result<RunResult, WorkspaceError> {
        self.runner().run_program(&Context::new(), &self.workspace, spec).await
    }

    /// Starts a program that is talked to.
    pub async fn start(
        &self,
        spec: InteractiveProgramSpec,
    ) -> Result<Box<dyn ProgramSession>, WorkspaceError> {
        self.runner().start_program(&Context::new(), &self.workspace, spec).await
    }

    /// Reads the files that match.
    pub async fn collect(&self, patterns: &[String]) -> Result<Vec<File>, WorkspaceError> {
        self.inner.collect(&Context::new(), &self.workspace, patterns).await
    }

    /// Collects outputs within limits.
    pub async fn collect_outputs(
        &self,
        ctx: &Context,
        spec: OutputSpec,
    ) -> Result<OutputManifest, WorkspaceError> {
        self.inner.collect_outputs(ctx, &self.workspace, spec).await
    }

    /// Makes a second workspace of the same content, independent of this one from then on. Blocks
    /// on disk are shared where the file system can do that.
    pub async fn fork(&self, id: &str) -> Result<Self, WorkspaceError> {
        let (from, to) = (self.inner.name_of(&self.workspace)?, name_for(id));
        let (store, twin) = (self.inner.store.clone(), to.clone());
        let path = store.path().join(to.as_str());
        let its_id = id.to_owned();
        let forked = blocking(move || {
            let kept = policy::Kept { id: its_id, ..policy::load(&store, &from) };
            store.fork(&from, &twin)?;
            policy::save(&store, &twin, &kept)
        });
        forked.await.map_err(WorkspaceError::io("fork to", path))?;
        let workspace = self.inner.workspace(id, &to);
        Ok(Self { inner: Arc::clone(&self.inner), workspace })
    }

    /// What is different in another one.
    pub async fn diff(&self, other: &Self) -> Result<Vec<Difference>, WorkspaceError> {
        let (one, other) = (self.kept()?, other.kept()?);
        let compared = blocking(move || diff::between(&one, &other));
        compared.await.map_err(WorkspaceError::io("compare", &self.workspace.path))
    }

    /// Keeps others from removing it, until what this returns is dropped. A program that runs in it
    /// does so, too.
    pub fn hold(&self) -> Result<InUse, WorkspaceError> {
        let name = self.inner.name_of(&self.workspace)?;
        let held = self.inner.store.begin_use(&name);
        held.map_err(WorkspaceError::io("hold", &self.workspace.path))
    }

    /// Removes it.
    pub async fn remove(self) -> Result<(), WorkspaceError> {
        let name = self.inner.name_of(&self.workspace)?;
        self.inner.remove(name).await
    }

    fn runner(&self) -> Runner {
        Runner(Arc::clone(&self.inner))
    }
}

/// What is in a file, read by a thread of its own. The thread ends with the file, or when nobody
/// listens any more.
fn pieces_of(mut file: std::fs::File) -> io::Result<mpsc::Receiver<io::Result<Vec<u8>>>> {
    const PIECE: usize = 1 << 20;
    const AHEAD: usize = 4;
    let (sender, pieces) = mpsc::channel(AHEAD);
    std::thread::Builder::new().name("belljar-read".to_owned()).spawn(move || {
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            let read = io::Read::by_ref(&mut file).take(PIECE as u64).read_to_end(&mut piece);
            let piece = match read {
                Ok(0) => return,
                Ok(_) => Ok(piece),
                Err(error) => Err(error),
            };
            let is_last = piece.is_err();
            if sender.blocking_send(piece).is_err() || is_last {
                return;
            }
        }
    })?;
    Ok(pieces)
}
